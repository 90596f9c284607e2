// A piece of code that runs from its first instruction to its last, and how it ends, which shows the
// branches. Only the last instruction is decoded, so this needs no full decoder and can be used inside the
// recorded program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wf::recorder {

enum class BlockEnd : uint8_t {
  kOther,  // direct jump, call or return, system call, or simply the next block: nothing was decided
  kConditional,
  kIndirectJump,
  kIndirectCall,
};

// The recorder of branches makes one for each piece of code and never frees it, because translations refer to it.
struct Block {
  uint32_t id = 0;
  BlockEnd end = BlockEnd::kOther;
  // The recorder's own code, which is not recorded; set when its location is known.
  bool own = false;
  uint64_t start = 0;      // first instruction
  uint64_t last = 0;       // last instruction: the branch, if there is one
  uint64_t target = 0;     // conditional: where it leads if taken
  uint64_t following = 0;  // the address after the last instruction
};

inline bool IsPrefix(uint8_t byte) {
  switch (byte) {
    case 0x26:
    case 0x2E:
    case 0x36:
    case 0x3E:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xF2:
    case 0xF3:
      return true;
    default:
      return (byte & 0xF0) == 0x40;  // REX
  }
}

inline int64_t RelativeOperand(const uint8_t* end, size_t width) {
  if (width == 1) return static_cast<int8_t>(end[-1]);
  int32_t value = 0;
  std::memcpy(&value, end - 4, 4);
  return value;
}

// How an instruction of x86-64, `size` bytes at `address`, ends a block; fills `end`, `last`, `target`, `following`.
inline void Classify(const uint8_t* bytes, size_t size, uint64_t address, Block& out) {
  out.end = BlockEnd::kOther;
  out.last = address;
  out.following = address + size;
  size_t at = 0;
  while (at < size && IsPrefix(bytes[at])) ++at;
  const size_t left = size - at;
  if (left < 2) return;
  const uint8_t opcode = bytes[at];
  const uint8_t second = bytes[at + 1];
  size_t width = 0;
  if ((opcode & 0xF0) == 0x70 || (opcode >= 0xE0 && opcode <= 0xE3)) width = 1;  // jcc, loop, jrcxz
  if (opcode == 0x0F && (second & 0xF0) == 0x80 && left >= 6) width = 4;         // jcc, long form
  if (width != 0) {
    out.end = BlockEnd::kConditional;
    out.target = out.following + static_cast<uint64_t>(RelativeOperand(bytes + size, width));
    return;
  }
  if (opcode != 0xFF) return;
  switch ((second >> 3) & 7) {
    case 2:
    case 3:
      out.end = BlockEnd::kIndirectCall;
      return;
    case 4:
    case 5:
      out.end = BlockEnd::kIndirectJump;
      return;
    default:
      return;
  }
}

}  // namespace wf::recorder
