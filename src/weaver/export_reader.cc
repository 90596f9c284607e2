#include "weaver/export_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weaver/dwarf_types.h"
#include "weaver/value_place.h"

namespace wf::weaver {
namespace {

constexpr std::array<Register, 6> kArgumentRegisters{Register::kRdi, Register::kRsi, Register::kRdx,
                                                     Register::kRcx, Register::kR8,  Register::kR9};

Recipe OfRegister(Register reg) { return {{ReadOp::kRegister, reg, 0, 0}}; }

// A value and its type, on the way along a path.
struct Typed {
  ValuePlace place;
  std::optional<Dwarf_Die> type;
  uint32_t bits = 0, first_bit = 0;  // a bit-field
};

Error NoDebugInformation(const ReadPlace& place) {
  return BadInput(
      fmt::format("{} has no debug information here: only arg0 to arg5 and retval can be read",
                  place.image.file()),
      "build with -g, or install its debug symbols");
}

// --- Where arguments are when a function begins, by the calling convention -----------------------------------------

class ArgumentAssignment {
 public:
  explicit ArgumentAssignment(const ReadPlace& place) : place_(place) {
    const Passing result = HowPassed(place.image, TypeOf(place.function->die));
    if (result.in == PassedIn::kStack || result.in == PassedIn::kReference) integers_ = 1;
  }

  ValuePlace Next(std::optional<Dwarf_Die> type) {
    const Passing passing = HowPassed(place_.image, type);
    if (unknown_ || passing.in == PassedIn::kUnknown) {
      unknown_ = true;  // nor where those behind it are
      return ValuePlace::Missing("how its type is passed is not known");
    }
    switch (passing.in) {
      case PassedIn::kNothing:
        return ValuePlace::Missing("it is an empty class, which is not passed at all");
      case PassedIn::kReference: {
        auto address = Integer();
        return address ? ValuePlace::Memory(std::move(*address)) : Pointed();
      }
      case PassedIn::kRegisters:
        return InRegisters(passing);
      default:
        return OnStack(passing.size);
    }
  }

 private:
  std::optional<Recipe> Integer() {
    if (integers_ == kArgumentRegisters.size()) return std::nullopt;
    return OfRegister(kArgumentRegisters[integers_++]);
  }

  ValuePlace InRegisters(const Passing& passing) {
    size_t integers = 0, vectors = 0;
    for (const EightByte part : passing.eightbytes) {
      integers += part == EightByte::kInteger ? 1 : 0;
      vectors += part == EightByte::kSse ? 1 : 0;
    }
    if (integers_ + integers > kArgumentRegisters.size() || vectors_ + vectors > 8)
      return OnStack(passing.size);
    ValuePlace out;
    out.kind = ValuePlace::Kind::kPieces;
    for (const EightByte part : passing.eightbytes) {
      ValuePiece piece;
      piece.size = 8;
      if (part == EightByte::kInteger) {
        piece.kind = ValuePiece::Kind::kValue;
        piece.recipe = *Integer();
      } else if (part == EightByte::kSse) {
        piece.why =
            fmt::format("it is in the vector register xmm{}, which probes cannot read", vectors_++);
      } else {
        piece.why = "it is padding";
      }
      out.pieces.push_back(std::move(piece));
    }
    return out;
  }

  ValuePlace OnStack(uint64_t size) {
    const uint64_t at = stack_;
    stack_ += (size + 7) / 8 * 8;
    if (place_.frame.empty()) return ValuePlace::Missing("the frame's address is not known here");
    Recipe address = place_.frame;
    AppendAdd(address, static_cast<int64_t>(at));
    return ValuePlace::Memory(std::move(address));
  }

  ValuePlace Pointed() {
    ValuePlace pointer = OnStack(8);
    auto address = pointer.Read(8);
    return address.ok() ? ValuePlace::Memory(std::move(address).value())
                        : ValuePlace::Missing(address.error().message);
  }

  const ReadPlace& place_;
  size_t integers_ = 0, vectors_ = 0;
  uint64_t stack_ = 0;
  bool unknown_ = false;
};

Status StillIntact(const ValuePlace& value, uint32_t written) {
  const auto check = [&](const Recipe& recipe) -> Status {
    for (const Register reg : kArgumentRegisters) {
      if ((written & (uint32_t{1} << static_cast<int>(reg))) != 0 && UsesRegister(recipe, reg))
        return NotFound("its register was already used for something else");
    }
    return {};
  };
  WF_TRY(check(value.address));
  for (const ValuePiece& piece : value.pieces) WF_TRY(check(piece.recipe));
  return {};
}

// --- Sources -------------------------------------------------------------------------------------------------------

Result<Typed> Argument(const std::string& name, const ReadPlace& place) {
  if (place.function == nullptr) return NoDebugInformation(place);
  const DwarfFunction& function = *place.function;
  ArgumentAssignment assignment(place);
  std::vector<std::string> names;
  for (const Dwarf_Die& child : ParametersOf(function.die)) {
    const std::string own = DieName(child);
    if (!own.empty()) names.push_back(own);
    const auto type = TypeOf(child);
    const bool by_convention = place.at == ReadAt::kEntry && IsFrameSlot(function.die, child);
    ValuePlace assigned = assignment.Next(type);
    if (own != name) continue;
    Typed out;
    out.type = type;
    if (!by_convention) {
      out.place = EvaluateLocation(place.image, function.die, child, place.address);
      return out;
    }
    if (place.altered_copy)
      return NotFound("this copy of the function may have other parameters than the source");
    WF_TRY(StillIntact(assigned, place.written));
    out.place = std::move(assigned);
    return out;
  }
  return BadInput(
      fmt::format("the function has no argument '{}'", name),
      names.empty() ? "it has none at all" : fmt::format("it has: {}", fmt::join(names, ", ")));
}

bool Holds(const Dwarf_Die& scope, uint64_t address) {
  Dwarf_Die copy = scope;
  return dwarf_haspc(&copy, address) == 1;
}

// The innermost variable or argument of this name in scope.
std::optional<Dwarf_Die> FindLocal(const Dwarf_Die& scope, const std::string& name,
                                   uint64_t address, int depth, std::vector<std::string>& names) {
  if (depth > 32) return std::nullopt;
  const std::vector<Dwarf_Die> children = Children(scope);
  for (const Dwarf_Die& child : children) {
    const int tag = TagOf(child);
    if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
        Holds(child, address)) {
      if (auto inner = FindLocal(child, name, address, depth + 1, names)) return inner;
    }
  }
  for (const Dwarf_Die& child : children) {
    const int tag = TagOf(child);
    if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) continue;
    const std::string own = DieName(child);
    if (own == name) return child;
    if (!own.empty() && names.size() < 20) names.push_back(own);
  }
  return std::nullopt;
}

Result<Typed> Local(const std::string& name, const ReadPlace& place) {
  if (place.function == nullptr) return NoDebugInformation(place);
  std::vector<std::string> names;
  const auto die = FindLocal(place.function->die, name, place.address, 0, names);
  if (!die) {
    return BadInput(
        fmt::format("no variable '{}' is in scope here", name),
        names.empty() ? "none is" : fmt::format("in scope: {}", fmt::join(names, ", ")));
  }
  return Typed{EvaluateLocation(place.image, place.function->die, *die, place.address),
               TypeOf(*die), 0, 0};
}

Result<Typed> ReturnValue(const ReadPlace& place) {
  if (place.function == nullptr)
    return Typed{ValuePlace::Value(OfRegister(Register::kRax)), {}, 0, 0};
  const auto type = TypeOf(place.function->die);
  if (!type) return BadInput("the function returns nothing");
  Typed out;
  out.type = type;
  const Passing passing = HowPassed(place.image, type);
  switch (passing.in) {
    case PassedIn::kStack:
    case PassedIn::kReference:
      out.place = ValuePlace::Memory(OfRegister(Register::kRax));
      return out;
    case PassedIn::kRegisters: {
      out.place.kind = ValuePlace::Kind::kPieces;
      size_t integers = 0, vectors = 0;
      for (const EightByte part : passing.eightbytes) {
        ValuePiece piece;
        piece.size = 8;
        if (part == EightByte::kInteger) {
          piece.kind = ValuePiece::Kind::kValue;
          piece.recipe = OfRegister(integers++ == 0 ? Register::kRax : Register::kRdx);
        } else {
          piece.why = fmt::format("it is in the vector register xmm{}, which probes cannot read",
                                  vectors++);
        }
        out.place.pieces.push_back(std::move(piece));
      }
      return out;
    }
    default:
      return BadInput(fmt::format("how {} is returned is not known", TypeName(type)));
  }
}

// --- Paths ---------------------------------------------------------------------------------------------------------

bool NameStartsWith(const Dwarf_Die& type, std::string_view prefix) {
  return DieName(type).starts_with(prefix);
}

// What a pointer or reference leads to. Standard smart pointers are followed like pointers.
Result<Typed> Pointee(const Typed& from, const Dwarf_Die& pointer) {
  WF_ASSIGN(Recipe address, from.place.Read(8));
  return Typed{ValuePlace::Memory(std::move(address)), TypeOf(pointer), 0, 0};
}

std::optional<Typed> MemberOf(const elf::ElfImage& image, const Typed& from, const Dwarf_Die& type,
                              std::string_view name, MemberKind kind = MemberKind::kAny) {
  const auto member = TryMember(image, type, name, kind);
  if (!member) return std::nullopt;
  return Typed{from.place.At(member->offset), member->type, member->bits, member->first_bit};
}

// The raw pointer in a unique_ptr or shared_ptr of libstdc++ or libc++.
std::optional<Typed> RawPointer(const elf::ElfImage& image, const Typed& from,
                                const Dwarf_Die& type) {
  std::vector<std::string_view> path;
  if (NameStartsWith(type, "unique_ptr<")) path = {"_M_t", "_M_t", "_M_head_impl"};
  if (NameStartsWith(type, "shared_ptr<") || NameStartsWith(type, "__shared_ptr<"))
    path = {"_M_ptr"};
  Typed at = from;
  std::optional<Dwarf_Die> own = type;
  for (const std::string_view name : path) {
    own = Peel(own);
    if (!own || !IsClass(*own)) return std::nullopt;
    // The deleter is kept under the same name as the pointer.
    auto next = MemberOf(image, at, *own, name,
                         name == path.back() ? MemberKind::kPointer : MemberKind::kAny);
    if (!next) return std::nullopt;
    at = std::move(*next);
    own = at.type;
  }
  if (path.empty()) return std::nullopt;
  return at;
}

Result<Typed> StepMember(const elf::ElfImage& image, Typed from, const std::string& name) {
  for (int i = 0; i < 8; ++i) {
    const auto type = Peel(from.type);
    if (!type) return BadInput(fmt::format("'{}': what it points to has no type", name));
    if (IsPointer(*type)) {
      WF_ASSIGN(from, Pointee(from, *type));
      continue;
    }
    if (!IsClass(*type))
      return BadInput(fmt::format("'{}': {} has no members", name, TypeName(from.type)));
    const Dwarf_Die complete = CompleteType(image, *type);
    if (!TryMember(image, complete, name)) {
      if (auto raw = RawPointer(image, from, complete)) {
        from = std::move(*raw);
        continue;
      }
    }
    WF_ASSIGN(const Member member, FindMember(image, complete, name));
    return Typed{from.place.At(member.offset), member.type, member.bits, member.first_bit};
  }
  return BadInput(fmt::format("'{}': behind too many pointers", name));
}

Result<Typed> StepIndex(Typed from, int64_t index) {
  auto type = Peel(from.type);
  if (type && IsReference(*type)) {
    WF_ASSIGN(from, Pointee(from, *type));
    type = Peel(from.type);
  }
  const auto element = type ? TypeOf(*type) : std::nullopt;
  const auto size = element ? ByteSize(*element) : std::nullopt;
  if (!type || !size || (TagOf(*type) != DW_TAG_pointer_type && TagOf(*type) != DW_TAG_array_type))
    return BadInput(fmt::format("[{}]: {} is not an array or pointer", index, TypeName(from.type)));
  const int64_t offset = index * static_cast<int64_t>(*size);
  if (TagOf(*type) == DW_TAG_pointer_type) {
    WF_ASSIGN(Recipe address, from.place.Read(8));
    AppendAdd(address, offset);
    return Typed{ValuePlace::Memory(std::move(address)), element, 0, 0};
  }
  const auto whole = ByteSize(*type);
  if (index < 0 || (whole && *whole > 0 && static_cast<uint64_t>(offset) + *size > *whole))
    return BadInput(fmt::format("[{}]: outside of {}", index, TypeName(from.type)));
  return Typed{from.place.At(static_cast<uint64_t>(offset)), element, 0, 0};
}

// --- What a value is ------------------------------------------------------------------------------------------------

void Extend(Recipe& recipe, uint32_t bits, ReadOp op) {
  if (bits < 64) {
    if (!recipe.empty() && recipe.back().op == ReadOp::kZeroExtend && recipe.back().width == bits)
      recipe.pop_back();
    // A load has extended it with zeros already.
    if (op == ReadOp::kZeroExtend && !recipe.empty() && recipe.back().op == ReadOp::kLoad &&
        recipe.back().width * 8U == bits)
      return;
    recipe.push_back({op, Register::kRax, static_cast<uint8_t>(bits), 0});
  }
}

Result<ValueRead> Number(const Typed& from, uint64_t size, ReadOp extension, ValueForm form) {
  if (size != 1 && size != 2 && size != 4 && size != 8)
    return BadInput(
        fmt::format("{} has {} bytes; numbers have 1, 2, 4 or 8", TypeName(from.type), size));
  ValueRead out;
  out.form = form;
  if (from.bits == 0) {
    WF_ASSIGN(out.value, from.place.Read(size));
    Extend(out.value, static_cast<uint32_t>(size * 8), extension);
    return out;
  }
  // A bit-field: as few bytes as hold it.
  uint64_t bytes = 1;
  while (bytes * 8 < from.first_bit + from.bits) bytes *= 2;
  if (bytes > 8) return BadInput("the bit-field spans nine bytes");
  WF_ASSIGN(out.value, from.place.Read(bytes));
  if (from.first_bit != 0)
    out.value.push_back({ReadOp::kShiftRight, Register::kRax, 0, from.first_bit});
  Extend(out.value, from.bits, extension);
  return out;
}

Result<ValueRead> StandardText(const elf::ElfImage& image, const Typed& from,
                               const Dwarf_Die& type) {
  const auto layout = TextLayoutOf(image, type);
  if (!layout) {
    return BadInput(
        fmt::format("{} of this standard library has a layout that probes cannot follow",
                    DieName(type)),
        "export a char pointer and its length instead: as string(arg n)");
  }
  ValueRead out;
  out.form = ValueForm::kBytes;
  WF_ASSIGN(out.value, from.place.At(layout->pointer).Read(8));
  if (layout->length_before_text == 0) {
    WF_ASSIGN(out.length, from.place.At(layout->length).Read(8));
    return out;
  }
  out.length = out.value;
  AppendAdd(out.length, -static_cast<int64_t>(layout->length_before_text));
  out.length.push_back({ReadOp::kLoad, Register::kRax, 8, 0});
  return out;
}

Result<ValueRead> ByType(const elf::ElfImage& image, Typed from);

Result<ValueRead> ClassValue(const elf::ElfImage& image, const Typed& from, const Dwarf_Die& type) {
  const Dwarf_Die complete = CompleteType(image, type);
  if (IsText(complete)) return StandardText(image, from, complete);
  if (auto raw = RawPointer(image, from, complete)) return ByType(image, std::move(*raw));
  if (NameStartsWith(complete, "atomic<") || NameStartsWith(complete, "__atomic_base<")) {
    if (auto inner = MemberOf(image, from, complete, "_M_i"))
      return ByType(image, std::move(*inner));
  }
  const auto unknown = FindMember(image, complete, "");
  return BadInput(fmt::format("{} is a class: name one of its members", TypeName(from.type)),
                  unknown.ok() ? std::string() : unknown.error().hint);
}

Result<ValueRead> ByType(const elf::ElfImage& image, Typed from) {
  auto type = Peel(from.type);
  if (type && IsReference(*type)) {
    WF_ASSIGN(from, Pointee(from, *type));
    type = Peel(from.type);
  }
  if (!type) return BadInput("it has no type");
  const uint64_t size = ByteSize(*type).value_or(0);
  if (IsClass(*type)) return ClassValue(image, from, *type);
  switch (TagOf(*type)) {
    case DW_TAG_pointer_type: {
      const auto to = Peel(TypeOf(*type));
      return Number(from, 8, ReadOp::kZeroExtend,
                    to && IsCharacter(*to) ? ValueForm::kCString : ValueForm::kInteger);
    }
    case DW_TAG_array_type: {
      const auto element = Peel(TypeOf(*type));
      if (!element || !IsCharacter(*element) || size == 0)
        return BadInput(
            fmt::format("{} is an array: name one of its elements", TypeName(from.type)));
      ValueRead out;
      out.form = ValueForm::kBytes;
      WF_ASSIGN(out.value, from.place.Address());
      out.length = {{ReadOp::kConstant, Register::kRax, 0, static_cast<int64_t>(size)}};
      out.max_length = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
      out.until_zero = true;
      return out;
    }
    case DW_TAG_enumeration_type: {
      const auto underlying = Peel(TypeOf(*type));
      const auto encoding =
          underlying ? UnsignedAttribute(*underlying, DW_AT_encoding) : std::nullopt;
      const bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
      return Number(from, size, is_signed ? ReadOp::kSignExtend : ReadOp::kZeroExtend,
                    ValueForm::kInteger);
    }
    case DW_TAG_base_type:
      break;
    case DW_TAG_ptr_to_member_type:
    case DW_TAG_unspecified_type:
      return Number(from, 8, ReadOp::kZeroExtend, ValueForm::kInteger);
    default:
      return BadInput(fmt::format("{} is nothing that can be read", TypeName(from.type)));
  }
  const auto encoding = UnsignedAttribute(*type, DW_AT_encoding);
  if (IsFloating(*type)) {
    const auto address = from.place.Address();
    if (!address.ok() || (size != 4 && size != 8)) {
      return BadInput(fmt::format("{} in a register cannot be read: {}", TypeName(from.type),
                                  address.ok() ? "it is too long" : address.error().message),
                      "export an integer, or a double that lies in memory");
    }
    return Number(from, size, ReadOp::kZeroExtend,
                  size == 8 ? ValueForm::kDouble : ValueForm::kFloat);
  }
  const bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
  return Number(from, size, is_signed ? ReadOp::kSignExtend : ReadOp::kZeroExtend,
                encoding == DW_ATE_boolean ? ValueForm::kBool : ValueForm::kInteger);
}

// A parameter or return value in a vector register has no location as a number. It is rejected for this
// reason, before another error says that it is not available here.
bool IsFloatingSource(const Typed& value) {
  const auto type = Peel(value.type);
  return type && IsFloating(*type) && value.place.kind != ValuePlace::Kind::kMemory;
}

struct AsNumber {
  uint8_t bytes;
  ReadOp extension;
  ValueForm form;
};
std::optional<AsNumber> NumberFor(ExportAs as) {
  switch (as) {
    case ExportAs::kInt8:
      return AsNumber{1, ReadOp::kSignExtend, ValueForm::kInteger};
    case ExportAs::kInt16:
      return AsNumber{2, ReadOp::kSignExtend, ValueForm::kInteger};
    case ExportAs::kInt32:
      return AsNumber{4, ReadOp::kSignExtend, ValueForm::kInteger};
    case ExportAs::kInt64:
      return AsNumber{8, ReadOp::kSignExtend, ValueForm::kInteger};
    case ExportAs::kUint8:
      return AsNumber{1, ReadOp::kZeroExtend, ValueForm::kInteger};
    case ExportAs::kUint16:
      return AsNumber{2, ReadOp::kZeroExtend, ValueForm::kInteger};
    case ExportAs::kUint32:
      return AsNumber{4, ReadOp::kZeroExtend, ValueForm::kInteger};
    case ExportAs::kUint64:
      return AsNumber{8, ReadOp::kZeroExtend, ValueForm::kInteger};
    case ExportAs::kBool:
      return AsNumber{1, ReadOp::kZeroExtend, ValueForm::kBool};
    default:
      return std::nullopt;
  }
}

Result<ValueRead> AsString(const ExportExpression& expression, const Typed& from,
                           const ReadPlace& place) {
  ValueRead out;
  auto type = Peel(from.type);
  Typed at = from;
  if (type && IsReference(*type)) {
    WF_ASSIGN(at, Pointee(from, *type));
    type = Peel(at.type);
  }
  if (type && (IsClass(*type) || TagOf(*type) == DW_TAG_array_type)) {
    WF_ASSIGN(out.value, at.place.Address());
  } else {
    WF_ASSIGN(out.value, at.place.Read(8));
  }
  out.form = ValueForm::kCString;
  if (expression.length.empty()) return out;
  WF_ASSIGN(ValueRead length, ReadExport(expression.length[0], place));
  if (length.form != ValueForm::kInteger) return BadInput("its length is not a number");
  out.form = ValueForm::kBytes;
  out.length = std::move(length.value);
  return out;
}

Result<Typed> Source(const ExportExpression& expression, const ReadPlace& place) {
  switch (expression.source) {
    case ExportSource::kArgument:
      // At a line the innermost function counts, which may be one that was inlined there.
      if (place.at == ReadAt::kLine) return Local(expression.name, place);
      return Argument(expression.name, place);
    case ExportSource::kLocal:
      return Local(expression.name, place);
    case ExportSource::kReturnValue:
      return ReturnValue(place);
    default: {
      const Register reg = kArgumentRegisters[static_cast<size_t>(expression.number)];
      Typed out{ValuePlace::Value(OfRegister(reg)), {}, 0, 0};
      WF_TRY(StillIntact(out.place, place.written));
      return out;
    }
  }
}

}  // namespace

Result<ValueRead> ReadExport(const ExportExpression& expression, const ReadPlace& place) {
  ValueRead out;
  if (expression.source == ExportSource::kInteger) {
    out.form = ValueForm::kInteger;
    out.value = {{ReadOp::kConstant, Register::kRax, 0, expression.number}};
    return out;
  }
  if (expression.source == ExportSource::kText) {
    out.form = ValueForm::kText;
    out.text = expression.name;
    return out;
  }
  if (expression.source == ExportSource::kElapsed) {
    out.form = ValueForm::kElapsed;
    return out;
  }
  WF_ASSIGN(Typed value, Source(expression, place));
  if (!expression.path.empty() && !value.type) return NoDebugInformation(place);
  for (const PathStep& step : expression.path) {
    if (value.bits != 0) return BadInput("a bit-field has no members");
    if (step.kind == PathStep::Kind::kMember) {
      WF_ASSIGN(value, StepMember(place.image, std::move(value), step.member));
    } else {
      WF_ASSIGN(value, StepIndex(std::move(value), step.index));
    }
  }
  if (expression.path.empty() && IsFloatingSource(value) && expression.as == ExportAs::kByType) {
    return BadInput(fmt::format("{} in a register cannot be read", TypeName(value.type)),
                    "export an integer, or a double that lies in memory");
  }
  if (expression.as == ExportAs::kString) {
    WF_ASSIGN(out, AsString(expression, value, place));
  } else if (const auto number = NumberFor(expression.as)) {
    const auto type = Peel(value.type);
    if (type && IsReference(*type)) {
      WF_ASSIGN(value, Pointee(value, *type));
    }
    WF_ASSIGN(out, Number(value, number->bytes, number->extension, number->form));
  } else if (value.type) {
    WF_ASSIGN(out, ByType(place.image, value));
  } else {
    WF_ASSIGN(out, Number(value, 8, ReadOp::kZeroExtend, ValueForm::kInteger));
  }
  if (value.type) out.type = TypeName(value.type);
  if (out.value.size() > kMaxRecipeSteps || out.length.size() > kMaxRecipeSteps)
    return BadInput("too many steps lead to it");
  return out;
}

}  // namespace wf::weaver
