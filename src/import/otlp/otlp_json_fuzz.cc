#include <cstddef>
#include <cstdint>

#include "import/decode/fuzz_check.h"
#include "import/otlp/otlp_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wf::EventBatch batch;
  wf::decode::DecodeReport report;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const wf::Status status = wf::otlp::DecodeOtlpJson(input, {}, batch, report);
  wf::decode::CheckDecoded(batch, report, status.ok());
  return 0;
}
