// Where a variable is at one address of the code, in terms that a probe can evaluate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "elf/elf_image.h"
#include "weaver/probe_site.h"

namespace wf::weaver {

struct ValuePiece {
  uint64_t size = 0;  // bytes
  enum class Kind : uint8_t { kValue, kMemory, kMissing } kind = Kind::kMissing;
  Recipe recipe;    // the value itself, or its address
  std::string why;  // why it is missing
};

struct ValuePlace {
  enum class Kind : uint8_t { kMemory, kPieces, kMissing } kind = Kind::kMissing;
  Recipe address;                  // kMemory
  std::vector<ValuePiece> pieces;  // kPieces: registers and computed values, in order
  uint64_t offset = 0;             // kPieces: where the value begins in them
  std::string why;                 // kMissing

  static ValuePlace Memory(Recipe address);
  static ValuePlace Value(Recipe value, uint64_t size = 8);
  static ValuePlace Missing(std::string why);
  // A part of it.
  ValuePlace At(uint64_t more) const;
  // `size` (1, 2, 4 or 8) bytes of it, zero-extended. NotFound: not available here, with the reason.
  Result<Recipe> Read(uint64_t size) const;
  Result<Recipe> Address() const;
};

// Appends, and folds neighbouring additions.
void AppendAdd(Recipe& recipe, int64_t operand);
bool UsesRegister(const Recipe& recipe, Register reg);

// The canonical frame address at `address`, by the file's unwind table. Empty: the table does not have it, or
// in a form that a probe cannot evaluate.
std::optional<Recipe> FrameAddress(const elf::ElfImage& image, uint64_t address);

// Evaluates a location attribute at `address` of `function` (for its frame base). kMissing: optimised out
// here, or in a form that a probe cannot evaluate; `why` says which.
ValuePlace EvaluateLocation(const elf::ElfImage& image, const Dwarf_Die& function,
                            const Dwarf_Die& variable, uint64_t address);

// Whether the variable has one place throughout, in the function's own frame, so that it holds nothing before
// the function has stored it there: unoptimised code.
bool IsFrameSlot(const Dwarf_Die& function, const Dwarf_Die& variable);

}  // namespace wf::weaver
