#include "recorder/preload/control/emulator.h"

#include <link.h>

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
  return g_emulated;
}

bool UnderEmulator() { return g_emulated; }

}  // namespace wf::recorder
