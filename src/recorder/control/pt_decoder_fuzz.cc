// Any bytes as what the processor wrote, over code that loops, calls and returns.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "recorder/control/pt_decoder.h"

namespace {

constexpr unsigned char kCode[] = {
    0xe8, 0x0b, 0,    0,    0,    0x85, 0xc0, 0x74, 0x05, 0xe8, 0x02, 0, 0, 0,    0xeb, 0xf0, 0xc3,
    0xff, 0xe0, 0xe8, 0xf8, 0xff, 0xff, 0xff, 0xff, 0x25, 0,    0,    0, 0, 0x70, 0xe0, 0xc3};
constexpr uint64_t kAt = 0x401000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wf::recorder::PtFacts facts{};
  if (size < sizeof facts) return 0;
  std::memcpy(&facts, data, sizeof facts);
  wf::recorder::DecodePt(
      facts, {reinterpret_cast<const char*>(data) + sizeof facts, size - sizeof facts},
      [](uint64_t address) -> std::string_view {
        if (address < kAt || address >= kAt + sizeof kCode) return {};
        return {reinterpret_cast<const char*>(kCode) + (address - kAt),
                kAt + sizeof kCode - address};
      },
      [](const wf::recorder::Thunk&) {});
  return 0;
}
