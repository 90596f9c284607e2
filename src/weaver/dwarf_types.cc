#include "weaver/dwarf_types.h"

#include <fmt/format.h>

#include <algorithm>

namespace wf::weaver {
namespace {

constexpr int kMaxTypeDepth = 64;  // of types within types
constexpr size_t kMaxChildren = 100'000;
constexpr size_t kMaxNameDepth = 16;

std::optional<Dwarf_Attribute> Attribute(const Dwarf_Die& die, unsigned name) {
  Dwarf_Die copy = die;
  Dwarf_Attribute out;
  if (dwarf_attr_integrate(&copy, name, &out) == nullptr) return std::nullopt;
  return out;
}

enum class Typedefs : uint8_t { kNamed, kResolved };

std::string TypeNameAt(std::optional<Dwarf_Die> type, Typedefs typedefs, size_t depth) {
  if (!type) return "void";
  if (depth > kMaxNameDepth) return "…";
  const auto inner = [&] { return TypeNameAt(TypeOf(*type), typedefs, depth + 1); };
  switch (TagOf(*type)) {
    case DW_TAG_pointer_type:
      return inner() + " *";
    case DW_TAG_reference_type:
      return inner() + " &";
    case DW_TAG_rvalue_reference_type:
      return inner() + " &&";
    case DW_TAG_const_type:
      return "const " + inner();
    case DW_TAG_volatile_type:
      return "volatile " + inner();
    case DW_TAG_array_type:
      return inner() + " []";
    case DW_TAG_subroutine_type:
      return "function";
    default: {
      if (typedefs == Typedefs::kResolved && TagOf(*type) == DW_TAG_typedef) return inner();
      std::string name = DieName(*type);
      return name.empty() ? "unnamed type" : name;
    }
  }
}

}  // namespace

int TagOf(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  return dwarf_tag(&copy);
}

std::string DieName(const Dwarf_Die& die) {
  auto attribute = Attribute(die, DW_AT_name);
  if (!attribute) return {};
  const char* text = dwarf_formstring(&*attribute);
  return text == nullptr ? std::string() : std::string(text);
}

std::optional<uint64_t> UnsignedAttribute(const Dwarf_Die& die, unsigned attribute) {
  auto found = Attribute(die, attribute);
  Dwarf_Word out = 0;
  if (!found || dwarf_formudata(&*found, &out) != 0) return std::nullopt;
  return out;
}

bool HasFlag(const Dwarf_Die& die, unsigned attribute) {
  auto found = Attribute(die, attribute);
  bool out = false;
  return found && dwarf_formflag(&*found, &out) == 0 && out;
}

std::vector<Dwarf_Die> Children(const Dwarf_Die& die) {
  std::vector<Dwarf_Die> out;
  Dwarf_Die copy = die, child;
  if (dwarf_child(&copy, &child) != 0) return out;
  do {
    out.push_back(child);
  } while (out.size() < kMaxChildren && dwarf_siblingof(&child, &child) == 0);
  return out;
}

std::optional<Dwarf_Die> TypeOf(const Dwarf_Die& die) {
  auto attribute = Attribute(die, DW_AT_type);
  Dwarf_Die out;
  if (!attribute || dwarf_formref_die(&*attribute, &out) == nullptr) return std::nullopt;
  return out;
}

std::optional<Dwarf_Die> Peel(std::optional<Dwarf_Die> type) {
  for (int i = 0; i < kMaxTypeDepth && type; ++i) {
    switch (TagOf(*type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_restrict_type:
      case DW_TAG_atomic_type:
      case DW_TAG_immutable_type:
        type = TypeOf(*type);
        continue;
      default:
        return type;
    }
  }
  return std::nullopt;
}

namespace {
// "char * *" is "char **".
std::string Tight(std::string name) {
  for (const std::string_view mark : {" *", " &"}) {
    for (size_t at = 0; (at = name.find(mark, at)) != std::string::npos; ++at) {
      if (at > 0 && (name[at - 1] == '*' || name[at - 1] == '&')) name.erase(at, 1);
    }
  }
  return name;
}
}  // namespace

std::string TypeName(std::optional<Dwarf_Die> type) {
  return Tight(TypeNameAt(type, Typedefs::kNamed, 0));
}
std::string ResolvedTypeName(std::optional<Dwarf_Die> type) {
  return Tight(TypeNameAt(type, Typedefs::kResolved, 0));
}

std::optional<uint64_t> ByteSize(const Dwarf_Die& type) {
  auto peeled = Peel(type);
  if (!peeled) return std::nullopt;
  if (IsPointer(*peeled)) return 8;
  Dwarf_Word size = 0;
  if (dwarf_aggregate_size(&*peeled, &size) == 0) return size;
  return UnsignedAttribute(*peeled, DW_AT_byte_size);
}

bool IsReference(const Dwarf_Die& type) {
  const int tag = TagOf(type);
  return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}
bool IsPointer(const Dwarf_Die& type) {
  return TagOf(type) == DW_TAG_pointer_type || IsReference(type);
}
bool IsClass(const Dwarf_Die& type) {
  const int tag = TagOf(type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}
bool IsFloating(const Dwarf_Die& type) {
  if (TagOf(type) != DW_TAG_base_type) return false;
  const auto encoding = UnsignedAttribute(type, DW_AT_encoding);
  return encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
         encoding == DW_ATE_imaginary_float || encoding == DW_ATE_decimal_float;
}
bool IsCharacter(const Dwarf_Die& type) {
  if (TagOf(type) != DW_TAG_base_type || ByteSize(type) != 1) return false;
  const auto encoding = UnsignedAttribute(type, DW_AT_encoding);
  return encoding == DW_ATE_signed_char || encoding == DW_ATE_UTF ||
         (encoding == DW_ATE_unsigned_char && DieName(type) != "unsigned char");
}

namespace {

// The names of the namespaces and classes that contain a type, outermost first, and its own; empty: unknown.
std::vector<std::string> QualifiedName(const Dwarf_Die& type) {
  Dwarf_Die copy = type;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&copy, &scopes);
  std::vector<std::string> out;
  for (int i = count - 1; i >= 0; --i) {
    const int tag = TagOf(scopes[i]);
    if (tag == DW_TAG_namespace || IsClass(scopes[i])) out.push_back(DieName(scopes[i]));
    if (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block) {
      out.clear();  // a local class is complete where it is
      break;
    }
  }
  std::free(scopes);  // NOLINT: libdw's own
  return out;
}

std::optional<Dwarf_Die> FindDefinition(const Dwarf_Die& scope,
                                        const std::vector<std::string>& name, size_t depth) {
  Dwarf_Die copy = scope, child;
  if (dwarf_child(&copy, &child) != 0) return std::nullopt;
  size_t seen = 0;
  do {
    const bool last = depth + 1 == name.size();
    const bool may = last ? IsClass(child) : TagOf(child) == DW_TAG_namespace || IsClass(child);
    if (!may || DieName(child) != name[depth]) continue;
    if (last && !HasFlag(child, DW_AT_declaration)) return child;
    if (last) continue;
    if (auto found = FindDefinition(child, name, depth + 1)) return found;
  } while (++seen < kMaxChildren && dwarf_siblingof(&child, &child) == 0);
  return std::nullopt;
}

}  // namespace

Dwarf_Die CompleteType(const elf::ElfImage& image, const Dwarf_Die& type) {
  if (!IsClass(type) || !HasFlag(type, DW_AT_declaration)) return type;
  const std::vector<std::string> name = QualifiedName(type);
  if (name.empty() || name.size() > kMaxNameDepth || name.back().empty()) return type;
  for (const Dwarf_Die& unit : image.Units()) {
    if (auto found = FindDefinition(unit, name, 0)) return *found;
  }
  return type;
}

namespace {

// A member's or base class's place in its class; none: only known at run time (virtual bases) or said in an odd way.
std::optional<uint64_t> MemberOffset(const Dwarf_Die& member) {
  auto attribute = Attribute(member, DW_AT_data_member_location);
  if (!attribute) return 0;  // of a union
  Dwarf_Word offset = 0;
  if (dwarf_formudata(&*attribute, &offset) == 0) return offset;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_getlocation(&*attribute, &ops, &count) != 0 || count != 1) return std::nullopt;
  if (ops[0].atom == DW_OP_plus_uconst || ops[0].atom == DW_OP_constu) return ops[0].number;
  return std::nullopt;
}

Member MakeMember(const Dwarf_Die& die, uint64_t offset) {
  Member out;
  out.type = TypeOf(die);
  out.offset = offset;
  const auto bits = UnsignedAttribute(die, DW_AT_bit_size);
  if (!bits || *bits == 0 || *bits > 64) return out;
  out.bits = static_cast<uint32_t>(*bits);
  uint64_t first = 0;
  if (const auto data_bits = UnsignedAttribute(die, DW_AT_data_bit_offset)) {
    first = *data_bits;
  } else if (const auto big_end = UnsignedAttribute(die, DW_AT_bit_offset)) {
    const uint64_t storage = UnsignedAttribute(die, DW_AT_byte_size)
                                 .value_or(out.type ? ByteSize(*out.type).value_or(4) : 4);
    first = storage * 8 - *big_end - *bits;
  }
  out.offset += first / 8;
  out.first_bit = static_cast<uint32_t>(first % 8);
  return out;
}

std::optional<Member> FindMemberAt(const elf::ElfImage& image, const Dwarf_Die& type,
                                   std::string_view name, MemberKind kind, int depth) {
  if (depth > kMaxTypeDepth) return std::nullopt;
  const Dwarf_Die complete = CompleteType(image, type);
  const std::vector<Dwarf_Die> children = Children(complete);
  for (const Dwarf_Die& child : children) {
    if (TagOf(child) != DW_TAG_member || DieName(child) != name) continue;
    if (HasFlag(child, DW_AT_external) || HasFlag(child, DW_AT_declaration)) continue;  // static
    const auto offset = MemberOffset(child);
    if (!offset) continue;
    const Member member = MakeMember(child, *offset);
    const auto own = Peel(member.type);
    if (kind == MemberKind::kAny || (own && IsPointer(*own))) return member;
  }
  // Then what the class has without saying so: unnamed members, and base classes.
  for (const Dwarf_Die& child : children) {
    const int tag = TagOf(child);
    const bool unnamed = tag == DW_TAG_member && DieName(child).empty();
    if (!unnamed && tag != DW_TAG_inheritance) continue;
    if (tag == DW_TAG_inheritance && UnsignedAttribute(child, DW_AT_virtuality).value_or(0) != 0)
      continue;
    const auto offset = MemberOffset(child);
    const auto inner = Peel(TypeOf(child));
    if (!offset || !inner || !IsClass(*inner)) continue;
    auto found = FindMemberAt(image, *inner, name, kind, depth + 1);
    if (!found) continue;
    found->offset += *offset;
    return found;
  }
  return std::nullopt;
}

std::vector<std::string> MemberNames(const elf::ElfImage& image, const Dwarf_Die& type) {
  std::vector<std::string> out;
  for (const Dwarf_Die& child : Children(CompleteType(image, type))) {
    if (TagOf(child) == DW_TAG_member && !DieName(child).empty()) out.push_back(DieName(child));
    if (out.size() == 12) break;
  }
  return out;
}

}  // namespace

std::optional<Member> TryMember(const elf::ElfImage& image, const Dwarf_Die& type,
                                std::string_view name, MemberKind kind) {
  return FindMemberAt(image, type, name, kind, 0);
}

Result<Member> FindMember(const elf::ElfImage& image, const Dwarf_Die& type,
                          std::string_view name) {
  if (auto found = TryMember(image, type, name)) return *found;
  if (HasFlag(CompleteType(image, type), DW_AT_declaration)) {
    return BadInput(
        fmt::format("{} is only declared in this file, its members are not known", TypeName(type)));
  }
  const auto names = MemberNames(image, type);
  return BadInput(
      fmt::format("{} has no member '{}' at a fixed place", TypeName(type), name),
      names.empty() ? std::string() : fmt::format("it has: {}", fmt::join(names, ", ")));
}

bool IsText(const Dwarf_Die& type) {
  if (!IsClass(type)) return false;
  const std::string name = DieName(type);
  return name.starts_with("basic_string<char,") || name.starts_with("basic_string_view<char,");
}

std::optional<TextLayout> TextLayoutOf(const elf::ElfImage& image, const Dwarf_Die& type) {
  if (!IsText(type)) return std::nullopt;
  const Dwarf_Die complete = CompleteType(image, type);
  const bool view = DieName(type).starts_with("basic_string_view");
  const std::vector<std::string> scopes = QualifiedName(type);
  const auto within = [&](std::string_view name) {
    return std::find(scopes.begin(), scopes.end(), name) != scopes.end();
  };
  if (HasFlag(complete, DW_AT_declaration)) {
    if (within("__1")) return view ? std::optional(TextLayout{0, 8, 0}) : std::nullopt;
    if (!within("std")) return std::nullopt;
    if (view) return TextLayout{8, 0, 0};
    return within("__cxx11") ? TextLayout{0, 8, 0} : TextLayout{0, 0, 24};
  }
  const auto place = [&](std::initializer_list<std::string_view> path) -> std::optional<uint64_t> {
    uint64_t offset = 0;
    std::optional<Dwarf_Die> at = complete;
    for (const std::string_view name : path) {
      const auto own = Peel(at);
      const auto member = own && IsClass(*own) ? TryMember(image, *own, name) : std::nullopt;
      if (!member) return std::nullopt;
      offset += member->offset;
      at = member->type;
    }
    return offset;
  };
  const auto first =
      [](std::initializer_list<std::optional<uint64_t>> places) -> std::optional<uint64_t> {
    for (const auto& one : places) {
      if (one) return one;
    }
    return std::nullopt;
  };
  const auto pointer =
      view ? first({place({"_M_str"}), place({"__data_"}), place({"__data"})})
           // The holder of the pointer, which is its first member, may be only declared.
           : first({place({"_M_dataplus", "_M_p"}), place({"_M_dataplus"})});
  const auto length = view ? first({place({"_M_len"}), place({"__size_"}), place({"__size"})})
                           : place({"_M_string_length"});
  if (pointer && length) return TextLayout{*pointer, *length, 0};
  if (pointer && !view) return TextLayout{*pointer, 0, 24};
  return std::nullopt;
}

namespace {

// Whether the C++ ABI passes the class by the address of a temporary: it has a copy constructor or destructor that does
// something. Compilers say so in the class's calling convention; where one does not, the class's own members do.
bool IsPassedByReference(const elf::ElfImage& image, const Dwarf_Die& type, int depth) {
  if (depth > kMaxTypeDepth) return true;
  const auto convention = UnsignedAttribute(type, DW_AT_calling_convention);
  if (convention == DW_CC_pass_by_reference) return true;
  if (convention == DW_CC_pass_by_value) return false;
  for (const Dwarf_Die& child : Children(type)) {
    switch (TagOf(child)) {
      case DW_TAG_subprogram:
        if (UnsignedAttribute(child, DW_AT_virtuality).value_or(0) != 0) return true;
        if (DieName(child).starts_with('~') && !HasFlag(child, DW_AT_artificial) &&
            UnsignedAttribute(child, DW_AT_defaulted).value_or(0) != DW_DEFAULTED_in_class)
          return true;
        break;
      case DW_TAG_inheritance:
      case DW_TAG_member: {
        if (HasFlag(child, DW_AT_external)) break;
        if (UnsignedAttribute(child, DW_AT_virtuality).value_or(0) != 0) return true;
        auto inner = Peel(TypeOf(child));
        for (int i = 0; i < kMaxTypeDepth && inner && TagOf(*inner) == DW_TAG_array_type; ++i)
          inner = Peel(TypeOf(*inner));
        if (inner && IsClass(*inner) &&
            IsPassedByReference(image, CompleteType(image, *inner), depth + 1))
          return true;
        break;
      }
      default:
        break;
    }
  }
  return false;
}

// Marks the eightbytes that a part of a value lies in. False: such a value is passed in memory.
bool Mark(const elf::ElfImage& image, std::optional<Dwarf_Die> type, uint64_t offset,
          std::vector<EightByte>& eightbytes, int depth) {
  type = Peel(type);
  if (!type || depth > kMaxTypeDepth) return false;
  const Dwarf_Die complete = CompleteType(image, *type);
  const auto size = ByteSize(complete);
  if (!size || offset + *size > eightbytes.size() * 8) return false;
  if (IsClass(complete)) {
    for (const Dwarf_Die& child : Children(complete)) {
      const int tag = TagOf(child);
      if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || HasFlag(child, DW_AT_external))
        continue;
      const auto place = MemberOffset(child);
      if (!place) return false;
      const Member member = MakeMember(child, *place);
      if (member.bits != 0) {
        const uint64_t at = offset + member.offset;
        if (at / 8 >= eightbytes.size()) return false;
        eightbytes[at / 8] = EightByte::kInteger;
        continue;
      }
      if (!Mark(image, member.type, offset + member.offset, eightbytes, depth + 1)) return false;
    }
    return true;
  }
  if (TagOf(complete) == DW_TAG_array_type) {
    const auto element = TypeOf(complete);
    const auto step = element ? ByteSize(*element) : std::nullopt;
    if (!step || *step == 0) return false;
    for (uint64_t at = 0; at + *step <= *size; at += *step) {
      if (!Mark(image, element, offset + at, eightbytes, depth + 1)) return false;
    }
    return true;
  }
  if (*size == 0 || (*size <= 8 && offset % *size != 0)) return false;  // packed
  const bool floating = IsFloating(complete);
  if (floating && *size > 8) return false;  // long double
  for (uint64_t at = offset; at < offset + *size; at += 8) {
    EightByte& part = eightbytes[at / 8];
    if (!floating || part == EightByte::kNone)
      part = floating ? EightByte::kSse : EightByte::kInteger;
  }
  return true;
}

}  // namespace

Passing HowPassed(const elf::ElfImage& image, std::optional<Dwarf_Die> type) {
  Passing out;
  auto peeled = Peel(type);
  if (!peeled) return out;
  const Dwarf_Die complete = CompleteType(image, *peeled);
  if (TextLayoutOf(image, complete)) {
    // Known even where it is only declared.
    const bool view = DieName(complete).starts_with("basic_string_view");
    out.size = 16;
    out.in = view ? PassedIn::kRegisters : PassedIn::kReference;
    if (view) out.eightbytes = {EightByte::kInteger, EightByte::kInteger};
    return out;
  }
  const auto size = ByteSize(complete);
  if (!size) return out;
  out.size = *size;
  if (IsClass(complete)) {
    if (HasFlag(complete, DW_AT_declaration)) return out;
    if (IsPassedByReference(image, complete, 0)) {
      out.in = PassedIn::kReference;
      return out;
    }
  }
  out.in = PassedIn::kStack;
  if (*size > 16 || *size == 0) return out;
  std::vector<EightByte> eightbytes((*size + 7) / 8, EightByte::kNone);
  if (!Mark(image, complete, 0, eightbytes, 0)) return out;
  const bool empty = std::all_of(eightbytes.begin(), eightbytes.end(),
                                 [](EightByte e) { return e == EightByte::kNone; });
  out.in = empty ? PassedIn::kNothing : PassedIn::kRegisters;
  if (!empty) out.eightbytes = std::move(eightbytes);
  return out;
}

}  // namespace wf::weaver
