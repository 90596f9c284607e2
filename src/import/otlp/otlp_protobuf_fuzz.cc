#include <cstddef>
#include <cstdint>

#include "import/decode/fuzz_check.h"
#include "import/otlp/otlp_decoder.h"
#include "import/otlp/otlp_encoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wf::EventBatch batch;
  wf::decode::DecodeReport report;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const wf::Status status = wf::otlp::DecodeOtlpProtobuf(input, {}, batch, report);
  wf::decode::CheckDecoded(batch, report, status.ok());
  (void)wf::otlp::CountOtlpLogs(input);
  (void)wf::otlp::CountOtlpMetrics(input);

  // What was accepted survives export and import, in number and content.
  std::string bytes;
  wf::otlp::EncodeOtlpProtobuf(batch, wf::otlp::AllRows(batch), bytes);
  wf::EventBatch again;
  wf::decode::DecodeReport second;
  WF_CHECK(wf::otlp::DecodeOtlpProtobuf(bytes, {}, again, second).ok());
  WF_CHECK(again.size() == batch.size());
  wf::Hash128 before, after;  // the order of rows may change, so compare sums
  for (size_t row = 0; row < batch.size(); ++row) {
    before.lo += wf::ContentHash(batch, row).lo;
    after.lo += wf::ContentHash(again, row).lo;
  }
  WF_CHECK(before == after);
  return 0;
}
