#include "recorder/preload/control/emulator.h"

#include <link.h>

// QEMU 7.2 enters handlers of signals with a stack that is not aligned as the ABI has it, so that code that stores 16
// bytes at once faults, libc's included. The plugin has each handler called through this function instead, which finds
// the program's own in the array.
extern "C" __attribute__((visibility("hidden"))) void wf_call_aligned();
extern "C" __attribute__((visibility("hidden"))) uint64_t wf_signal_handlers[65];
uint64_t wf_signal_handlers[65];
__asm__(
    ".text\n"
    ".hidden wf_call_aligned\n"
    ".globl wf_call_aligned\n"
    ".type wf_call_aligned, @function\n"
    "wf_call_aligned:\n"
    ".cfi_startproc\n"
    "push %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbp, -16\n"
    "mov %rsp, %rbp\n"
    ".cfi_def_cfa_register %rbp\n"
    "and $-16, %rsp\n"
    "movslq %edi, %rax\n"
    "lea wf_signal_handlers(%rip), %r11\n"
    "call *(%r11,%rax,8)\n"
    "leave\n"
    ".cfi_def_cfa %rsp, 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size wf_call_aligned, .-wf_call_aligned\n");

namespace wf::recorder {
namespace {

bool g_emulated = false;

struct Segment {
  uint64_t begin = 0, end = 0;
};

int FindOwnCode(dl_phdr_info* info, size_t /*size*/, void* data) {
  const auto here = reinterpret_cast<uint64_t>(&FindOwnCode);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || here < begin || here >= begin + segment.p_memsz) continue;
    *static_cast<Segment*>(data) = {begin, begin + segment.p_memsz};
    return 1;
  }
  return 0;
}

}  // namespace

void OwnCode(uint64_t& begin, uint64_t& end) {
  Segment own;
  ::dl_iterate_phdr(FindOwnCode, &own);
  begin = own.begin;
  end = own.end;
}

bool AskEmulator() {
  uint64_t begin = 0, end = 0, answer = 0;
  OwnCode(begin, end);
  Mark(kMarkProcess, static_cast<long>(begin), static_cast<long>(end), Arg(&answer));
  g_emulated = answer == kMarkerAnswer;
  if (g_emulated) Mark(kMarkSignals, Arg(&wf_call_aligned), Arg(wf_signal_handlers));
  return g_emulated;
}

bool UnderEmulator() { return g_emulated; }

}  // namespace wf::recorder
