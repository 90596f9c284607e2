// Any bytes as the payloads of one thread: the first byte says where they are cut.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "recorder/control/thunk_reader.h"

namespace {

// Some code to walk: calls, jumps both ways, a return, a jump through a table.
constexpr unsigned char kCode[] = {
    0xe8, 0x0b, 0,    0,    0,    0x85, 0xc0, 0x74, 0x05, 0xe8, 0x02, 0, 0, 0,    0xeb, 0xf0, 0xc3,
    0xff, 0xe0, 0xe8, 0xf8, 0xff, 0xff, 0xff, 0xff, 0x25, 0,    0,    0, 0, 0x70, 0xe0, 0xc3};
constexpr uint64_t kAt = 0x1000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = data[0] + size_t{1};
  std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  uint64_t thunks = 0;
  wf::recorder::ThunkQuestion question;
  question.index = 1;
  question.code = [](uint64_t address) -> std::string_view {
    if (address < kAt || address >= kAt + sizeof kCode) return {};
    return {reinterpret_cast<const char*>(kCode) + (address - kAt), kAt + sizeof kCode - address};
  };
  wf::recorder::ThunkReader reader(question, [&](const wf::recorder::Thunk&) { ++thunks; });
  while (!rest.empty()) {
    reader.Read(rest.substr(0, piece));
    rest.remove_prefix(piece < rest.size() ? piece : rest.size());
  }
  reader.Finish();
  (void)reader.gaps();
  return 0;
}
