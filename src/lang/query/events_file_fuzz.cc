// Any bytes are a file of events or get an error that names a line; what is read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "lang/query/events_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wf::query;
  const auto file = ReadEvents({reinterpret_cast<const char*>(data), size}, "f");
  if (!file.ok()) {
    WF_CHECK(file.error().message.rfind("f:", 0) == 0);
    return 0;
  }
  const std::string text = WriteEvents(file->execution);
  const auto again = ReadEvents(text, "f");
  WF_CHECK(again.ok() && again->execution.events.size() == file->execution.events.size());
  WF_CHECK(WriteEvents(again->execution) == text);
  return 0;
}
