#include <cstddef>
#include <cstdint>

#include "import/decode/fuzz_check.h"
#include "import/otlp/otlp_decoder.h"
#include "import/otlp/otlp_encoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wf::EventBatch batch;
  wf::DecodeReport report;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const wf::Status status = wf::DecodeOtlpProtobuf(input, {}, batch, report);
  wf::CheckDecoded(batch, report, status.ok());
  (void)wf::CountOtlpLogs(input);
  (void)wf::CountOtlpMetrics(input);

  // What was accepted survives export and import, in number and content.
  std::string bytes;
  wf::EncodeOtlpProtobuf(batch, wf::AllRows(batch), bytes);
  wf::EventBatch again;
  wf::DecodeReport second;
  WF_CHECK(wf::DecodeOtlpProtobuf(bytes, {}, again, second).ok());
  WF_CHECK(again.size() == batch.size());
  wf::Hash128 before, after;  // the order of rows may change, so compare sums
  for (size_t row = 0; row < batch.size(); ++row) {
    before.lo += wf::ContentHash(batch, row).lo;
    after.lo += wf::ContentHash(again, row).lo;
  }
  WF_CHECK(before == after);
  return 0;
}
