// What is read prints as a file that reads the same.
#include <cstddef>
#include <cstdint>

#include "weaver/tracepoint_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = wf::weaver::ParseTracepointFile(text);
  if (parsed.ok()) {
    for (const auto& definition : *parsed) {
      const auto again = wf::weaver::ParseTracepointFile(wf::weaver::ToJson(definition));
      if (!again.ok() || again->size() != 1 || !(again->front() == definition)) __builtin_trap();
    }
  }
  const auto expression = wf::weaver::ParseExport(text);
  if (expression.ok() && expression->path.size() > 8) __builtin_trap();
  return 0;
}
