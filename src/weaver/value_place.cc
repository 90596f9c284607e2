#include "weaver/value_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "weaver/dwarf_types.h"

namespace wf::weaver {
namespace {

constexpr char kOptimisedOut[] = "optimised out here";

Recipe OfRegisterNumber(uint64_t number) {
  return {{ReadOp::kRegister, static_cast<Register>(number), 0, 0}};
}
Recipe OfConstant(uint64_t value) {
  return {{ReadOp::kConstant, Register::kRax, 0, static_cast<int64_t>(value)}};
}
std::optional<int64_t> ConstantOfRecipe(const Recipe& recipe) {
  if (recipe.size() != 1 || recipe[0].op != ReadOp::kConstant) return std::nullopt;
  return recipe[0].operand;
}
int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

// One location expression: a stack machine, of which we follow what stays a straight line. `ops` are borrowed.
class Expression {
 public:
  Expression(const elf::ElfImage& image, const Dwarf_Die& function, uint64_t address,
             Dwarf_Attribute* attribute)
      : image_(image), function_(function), address_(address), attribute_(attribute) {}

  ValuePlace Evaluate(const Dwarf_Op* ops, size_t count) {
    if (count == 0) return ValuePlace::Missing(kOptimisedOut);
    if (count > 256) return ValuePlace::Missing("its location is too long an expression");
    for (size_t i = 0; i < count; ++i) {
      if (!Step(ops[i])) return ValuePlace::Missing(why_);
    }
    if (!pieces_.empty()) {
      ValuePlace out;
      out.kind = ValuePlace::Kind::kPieces;
      out.pieces = std::move(pieces_);
      return out;
    }
    if (current_.kind == ValuePiece::Kind::kMissing && !current_.why.empty())
      return ValuePlace::Missing(current_.why);
    if (current_.kind == ValuePiece::Kind::kValue) return ValuePlace::Value(current_.recipe);
    if (stack_.empty()) return ValuePlace::Missing(kOptimisedOut);
    return ValuePlace::Memory(stack_.back());
  }

 private:
  bool Fail(std::string why) {
    why_ = std::move(why);
    return false;
  }
  void Push(Recipe recipe) { stack_.push_back(std::move(recipe)); }
  bool PushRegister(uint64_t number, int64_t offset) {
    if (number > 15) return Fail(fmt::format("it depends on register {}", number));
    Recipe recipe = OfRegisterNumber(number);
    AppendAdd(recipe, offset);
    Push(std::move(recipe));
    return true;
  }
  bool IsRegister(uint64_t number) {
    current_ = {};
    if (number <= 15) {
      current_.kind = ValuePiece::Kind::kValue;
      current_.recipe = OfRegisterNumber(number);
      return true;
    }
    current_.why = number >= 17 && number <= 32
                       ? fmt::format("it is in the vector register xmm{}, which probes cannot read",
                                     number - 17)
                       : fmt::format("it is in register {}, which probes cannot read", number);
    return true;
  }

  bool Step(const Dwarf_Op& op) {
    const uint8_t atom = op.atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
      Push(OfConstant(atom - DW_OP_lit0));
      return true;
    }
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) return IsRegister(atom - DW_OP_reg0);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
      return PushRegister(atom - DW_OP_breg0, Wrap(op.number));
    switch (atom) {
      case DW_OP_nop:
        return true;
      case DW_OP_regx:
        return IsRegister(op.number);
      case DW_OP_bregx:
        return PushRegister(op.number, Wrap(op.number2));
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_const4u:
      case DW_OP_const4s:
      case DW_OP_const8u:
      case DW_OP_const8s:
      case DW_OP_constu:
      case DW_OP_consts:
        Push(OfConstant(op.number));
        return true;
      case DW_OP_fbreg:
        return PushFrameBase(Wrap(op.number));
      case DW_OP_call_frame_cfa: {
        auto frame = FrameAddress(image_, address_);
        if (!frame) return Fail("the frame's address is not known here");
        Push(std::move(*frame));
        return true;
      }
      case DW_OP_addr: {
        // Relative to the probe, because a library is loaded anywhere.
        Recipe recipe{{ReadOp::kRegister, Register::kIp, 0, 0}};
        AppendAdd(recipe, Wrap(op.number - address_));
        Push(std::move(recipe));
        return true;
      }
      case DW_OP_implicit_value:
        return PushImplicit(op);
      case DW_OP_stack_value:
        if (stack_.empty()) return Fail("its location is not well formed");
        current_ = {8, ValuePiece::Kind::kValue, stack_.back(), {}};
        return true;
      case DW_OP_piece:
        return AddPiece(op.number);
      case DW_OP_entry_value:
      case DW_OP_GNU_entry_value:
        return Fail("its value was only kept by the caller (DW_OP_entry_value)");
      case DW_OP_implicit_pointer:
      case DW_OP_GNU_implicit_pointer:
        return Fail("what it points to was optimised out");
      case DW_OP_form_tls_address:
      case DW_OP_GNU_push_tls_address:
        return Fail("it is thread-local");
      default:
        return Arithmetic(op);
    }
  }

  bool Arithmetic(const Dwarf_Op& op) {
    if (stack_.empty()) return Fail("its location is not well formed");
    Recipe& top = stack_.back();
    switch (op.atom) {
      case DW_OP_plus_uconst:
        AppendAdd(top, Wrap(op.number));
        return true;
      case DW_OP_deref:
        top.push_back({ReadOp::kLoad, Register::kRax, 8, 0});
        return Bounded(top);
      case DW_OP_deref_size:
        if (op.number != 1 && op.number != 2 && op.number != 4 && op.number != 8)
          return Fail("its location reads an odd number of bytes");
        top.push_back({ReadOp::kLoad, Register::kRax, static_cast<uint8_t>(op.number), 0});
        return Bounded(top);
      case DW_OP_dup: {
        Recipe copy = top;
        Push(std::move(copy));
        return true;
      }
      case DW_OP_drop:
        stack_.pop_back();
        return true;
      case DW_OP_swap:
        if (stack_.size() < 2) return Fail("its location is not well formed");
        std::swap(stack_[stack_.size() - 1], stack_[stack_.size() - 2]);
        return true;
      case DW_OP_convert:
      case DW_OP_GNU_convert:
        return Convert(op);
      case DW_OP_plus:
      case DW_OP_minus:
      case DW_OP_and:
      case DW_OP_shr:
        return Binary(op.atom);
      default:
        return Fail(
            fmt::format("its location is an expression that probes cannot follow (operation "
                        "{:#x})",
                        op.atom));
    }
  }

  bool Binary(uint8_t atom) {
    if (stack_.size() < 2) return Fail("its location is not well formed");
    Recipe right = std::move(stack_.back());
    stack_.pop_back();
    Recipe& left = stack_.back();
    if (atom == DW_OP_plus && ConstantOfRecipe(left) && !ConstantOfRecipe(right))
      std::swap(left, right);
    const auto constant = ConstantOfRecipe(right);
    if (!constant) return Fail("its location joins two values, which probes cannot follow");
    if (atom == DW_OP_plus) {
      AppendAdd(left, *constant);
    } else if (atom == DW_OP_minus) {
      AppendAdd(left, Wrap(uint64_t{0} - static_cast<uint64_t>(*constant)));
    } else if (atom == DW_OP_shr) {
      if (*constant < 0 || *constant > 63) return Fail("its location is not well formed");
      left.push_back({ReadOp::kShiftRight, Register::kRax, 0, *constant});
    } else {
      const auto mask = static_cast<uint64_t>(*constant);
      if (mask == 0 || (mask & (mask + 1)) != 0) return Fail("its location masks bits");
      left.push_back({ReadOp::kZeroExtend, Register::kRax,
                      static_cast<uint8_t>(64 - __builtin_clzll(mask)), 0});
    }
    return Bounded(left);
  }

  // To a narrower type: cut, then extended as that type is. To 64 bits: it is there already.
  bool Convert(const Dwarf_Op& op) {
    if (op.number == 0) return true;  // to the machine's own word
    Dwarf_Die type;
    if (attribute_ == nullptr || dwarf_getlocation_die(attribute_, &op, &type) != 0)
      return Fail("its location converts to a type that is not known");
    const auto size = ByteSize(type).value_or(0);
    const auto encoding = UnsignedAttribute(type, DW_AT_encoding);
    const bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    if (IsFloating(type) || size == 0 || size > 8)
      return Fail("its location converts to a type of floats");
    if (size == 8) return true;
    stack_.back().push_back({is_signed ? ReadOp::kSignExtend : ReadOp::kZeroExtend, Register::kRax,
                             static_cast<uint8_t>(size * 8), 0});
    return Bounded(stack_.back());
  }

  bool Bounded(const Recipe& recipe) {
    return recipe.size() < kMaxRecipeSteps || Fail("its location is too long an expression");
  }

  bool PushFrameBase(int64_t offset) {
    if (in_frame_base_) return Fail("its frame base refers to itself");
    Dwarf_Attribute attribute;
    Dwarf_Die function = function_;
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute) == nullptr ||
        dwarf_getlocation_addr(&attribute, address_, &ops, &count, 1) != 1 || count == 0)
      return Fail("the frame's address is not known here");
    Expression base(image_, function_, address_, &attribute);
    base.in_frame_base_ = true;
    const ValuePlace place = base.Evaluate(ops, count);
    // A register as frame base means its content, not a variable in it.
    Recipe recipe;
    if (place.kind == ValuePlace::Kind::kMemory) {
      recipe = place.address;
    } else if (place.kind == ValuePlace::Kind::kPieces && place.pieces.size() == 1) {
      recipe = place.pieces[0].recipe;
    } else {
      return Fail("the frame's address is not known here");
    }
    AppendAdd(recipe, offset);
    Push(std::move(recipe));
    return true;
  }

  bool PushImplicit(const Dwarf_Op& op) {
    Dwarf_Block block;
    if (attribute_ == nullptr || dwarf_getlocation_implicit_value(attribute_, &op, &block) != 0 ||
        block.length > 8)
      return Fail("it is a constant too long to read");
    uint64_t value = 0;
    for (uint64_t i = 0; i < block.length; ++i) value |= uint64_t{block.data[i]} << (8 * i);
    current_ = {8, ValuePiece::Kind::kValue, OfConstant(value), {}};
    return true;
  }

  bool AddPiece(uint64_t size) {
    if (size == 0 || size > 4096 || pieces_.size() >= 16) return Fail("it lies in too many pieces");
    if (current_.kind == ValuePiece::Kind::kMissing && current_.why.empty()) {
      if (stack_.empty()) {
        current_.why = kOptimisedOut;
      } else {
        current_ = {size, ValuePiece::Kind::kMemory, stack_.back(), {}};
      }
    }
    current_.size = size;
    pieces_.push_back(std::move(current_));
    current_ = {};
    stack_.clear();
    return true;
  }

  const elf::ElfImage& image_;
  const Dwarf_Die& function_;
  uint64_t address_;
  Dwarf_Attribute* attribute_;
  std::vector<Recipe> stack_;
  std::vector<ValuePiece> pieces_;
  ValuePiece current_;
  std::string why_;
  bool in_frame_base_ = false;
};

}  // namespace

void AppendAdd(Recipe& recipe, int64_t operand) {
  if (operand == 0) return;
  const auto sum = [&](int64_t a) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(operand));
  };
  if (!recipe.empty() &&
      (recipe.back().op == ReadOp::kAdd || recipe.back().op == ReadOp::kConstant)) {
    recipe.back().operand = sum(recipe.back().operand);
    if (recipe.back().op == ReadOp::kAdd && recipe.back().operand == 0) recipe.pop_back();
    return;
  }
  recipe.push_back({ReadOp::kAdd, Register::kRax, 0, operand});
}

bool UsesRegister(const Recipe& recipe, Register reg) {
  return std::any_of(recipe.begin(), recipe.end(), [&](const ReadStep& step) {
    return step.op == ReadOp::kRegister && step.reg == reg;
  });
}

ValuePlace ValuePlace::Memory(Recipe address) {
  ValuePlace out;
  out.kind = Kind::kMemory;
  out.address = std::move(address);
  return out;
}

ValuePlace ValuePlace::Value(Recipe value, uint64_t size) {
  ValuePlace out;
  out.kind = Kind::kPieces;
  out.pieces.push_back({size, ValuePiece::Kind::kValue, std::move(value), {}});
  return out;
}

ValuePlace ValuePlace::Missing(std::string why) {
  ValuePlace out;
  out.why = std::move(why);
  return out;
}

ValuePlace ValuePlace::At(uint64_t more) const {
  ValuePlace out = *this;
  if (out.kind == Kind::kMemory) AppendAdd(out.address, static_cast<int64_t>(more));
  if (out.kind == Kind::kPieces) out.offset += more;
  return out;
}

Result<Recipe> ValuePlace::Address() const {
  if (kind == Kind::kMemory) return address;
  if (kind == Kind::kMissing) return NotFound(why);
  uint64_t begin = 0;
  for (const ValuePiece& piece : pieces) {
    if (offset >= begin && offset < begin + piece.size && piece.kind == ValuePiece::Kind::kMemory) {
      Recipe out = piece.recipe;
      AppendAdd(out, static_cast<int64_t>(offset - begin));
      return out;
    }
    begin += piece.size;
  }
  return NotFound("it is in registers, not in memory");
}

Result<Recipe> ValuePlace::Read(uint64_t size) const {
  if (kind == Kind::kMissing) return NotFound(why);
  Recipe out;
  if (kind == Kind::kMemory) {
    out = address;
    out.push_back({ReadOp::kLoad, Register::kRax, static_cast<uint8_t>(size), 0});
  } else {
    uint64_t begin = 0;
    const ValuePiece* found = nullptr;
    for (const ValuePiece& piece : pieces) {
      if (offset >= begin && offset < begin + piece.size) {
        found = &piece;
        break;
      }
      begin += piece.size;
    }
    if (found == nullptr) return NotFound(kOptimisedOut);
    if (found->kind == ValuePiece::Kind::kMissing) return NotFound(found->why);
    const uint64_t inside = offset - begin;
    if (inside + size > std::max<uint64_t>(found->size, 8))
      return NotFound("it lies in several places");
    out = found->recipe;
    if (found->kind == ValuePiece::Kind::kMemory) {
      AppendAdd(out, static_cast<int64_t>(inside));
      out.push_back({ReadOp::kLoad, Register::kRax, static_cast<uint8_t>(size), 0});
    } else {
      if (inside != 0)
        out.push_back({ReadOp::kShiftRight, Register::kRax, 0, static_cast<int64_t>(inside * 8)});
      if (size < 8)
        out.push_back({ReadOp::kZeroExtend, Register::kRax, static_cast<uint8_t>(size * 8), 0});
    }
  }
  if (out.size() > kMaxRecipeSteps) return BadInput("too many steps lead to it");
  return out;
}

std::optional<Recipe> FrameAddress(const elf::ElfImage& image, uint64_t address) {
  Dwarf_Frame* frame = nullptr;
  if (image.unwind_table() == nullptr ||
      dwarf_cfi_addrframe(image.unwind_table(), address, &frame) != 0)
    return std::nullopt;
  std::optional<Recipe> out;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  // A table that names the frame by an expression with memory reads (PLT, stack realignment) is followed too.
  if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count > 0) {
    static const Dwarf_Die kNoFunction{};
    Expression expression(image, kNoFunction, address, nullptr);
    const bool frame_base = std::any_of(ops, ops + count, [](const Dwarf_Op& op) {
      return op.atom == DW_OP_call_frame_cfa || op.atom == DW_OP_fbreg;
    });
    const ValuePlace place = frame_base ? ValuePlace::Missing({}) : expression.Evaluate(ops, count);
    if (place.kind == ValuePlace::Kind::kMemory) out = place.address;
    if (place.kind == ValuePlace::Kind::kPieces && place.pieces.size() == 1)
      out = place.pieces[0].recipe;
  }
  std::free(frame);  // NOLINT: libdw's own
  return out;
}

ValuePlace EvaluateLocation(const elf::ElfImage& image, const Dwarf_Die& function,
                            const Dwarf_Die& variable, uint64_t address) {
  Dwarf_Die copy = variable;
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&copy, DW_AT_const_value, &attribute) != nullptr) {
    Dwarf_Sword value = 0;
    if (dwarf_formsdata(&attribute, &value) == 0)
      return ValuePlace::Value(OfConstant(static_cast<uint64_t>(value)));
    return ValuePlace::Missing("it is a constant too long to read");
  }
  if (dwarf_attr_integrate(&copy, DW_AT_location, &attribute) == nullptr)
    return ValuePlace::Missing("optimised out of the whole function");
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  const int found = dwarf_getlocation_addr(&attribute, address, &ops, &count, 1);
  if (found < 0) return ValuePlace::Missing("its location cannot be read");
  if (found == 0) return ValuePlace::Missing(kOptimisedOut);
  return Expression(image, function, address, &attribute).Evaluate(ops, count);
}

bool IsFrameSlot(const Dwarf_Die& function, const Dwarf_Die& variable) {
  Dwarf_Die copy = variable;
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&copy, DW_AT_location, &attribute) == nullptr) return false;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  // Fails for a location list, which holds at every address it covers.
  if (dwarf_getlocation(&attribute, &ops, &count) != 0 || count == 0) return false;
  if (ops[0].atom != DW_OP_fbreg) return false;
  Dwarf_Die own = function;
  Dwarf_Attribute base;
  Dwarf_Op* base_ops = nullptr;
  size_t base_count = 0;
  const bool by_frame = dwarf_attr_integrate(&own, DW_AT_frame_base, &base) != nullptr &&
                        dwarf_getlocation(&base, &base_ops, &base_count) == 0 && base_count == 1 &&
                        base_ops[0].atom == DW_OP_call_frame_cfa;
  // Above the frame's address the caller put it; that is there from the beginning.
  return !by_frame || static_cast<int64_t>(ops[0].number) < 0;
}

}  // namespace wf::weaver
