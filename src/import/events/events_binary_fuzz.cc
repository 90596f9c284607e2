#include <cstddef>
#include <cstdint>
#include <vector>

#include "import/decode/fuzz_check.h"
#include "import/events/events_binary_decoder.h"
#include "import/events/events_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  wf::EventBatch batch;
  wf::decode::DecodeReport report;
  const wf::Status status = wf::events::DecodeEventsBinary(input, {}, batch, report);
  wf::decode::CheckDecoded(batch, report, status.ok());

  // Lines never fail as a whole.
  wf::EventBatch lines;
  wf::decode::DecodeReport lines_report;
  std::vector<wf::events::LineFault> faults;
  wf::events::DecodeEventLines(input, {}, lines, lines_report, faults);
  wf::decode::CheckDecoded(lines, lines_report, true);
  return 0;
}
