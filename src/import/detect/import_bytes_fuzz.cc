#include <cstddef>
#include <cstdint>

#include "import/decode/fuzz_check.h"
#include "import/detect/importer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  wf::detect::ImportOptions options;
  options.max_rows = 3;
  int64_t rows = 0;
  const auto result =
      wf::detect::ImportBytes(input, "f", options, [&](wf::EventBatch&& batch) -> wf::Status {
        WF_CHECK(!batch.empty() && batch.size() <= 3);
        wf::decode::DecodeReport report;
        report.accepted = static_cast<int64_t>(batch.size());
        wf::decode::CheckDecoded(batch, report, true);
        rows += report.accepted;
        return {};
      });
  if (result.ok()) WF_CHECK(rows == result->report.accepted);
  return 0;
}
