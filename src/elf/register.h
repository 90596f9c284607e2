// The registers of x86-64 that debug information and instructions name.
#pragma once

#include <cstdint>

namespace wf::elf {

// Numbered as DWARF does for x86-64; kIp is the address of the instruction.
enum class Register : uint8_t {
  kRax,
  kRdx,
  kRcx,
  kRbx,
  kRsi,
  kRdi,
  kRbp,
  kRsp,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kIp,
};

}  // namespace wf::elf
