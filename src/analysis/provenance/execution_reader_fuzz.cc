// Any bytes as a file of events: reading ends, and what is accepted can be explained and written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"
#include "base/check.h"

namespace {

void CheckExplained(const wf::provenance::Execution& x, uint32_t from, uint32_t to) {
  for (const auto view :
       {wf::provenance::ExplanationView::kRaw, wf::provenance::ExplanationView::kPruned,
        wf::provenance::ExplanationView::kMerged}) {
    wf::provenance::ExplainOptions options;
    options.from = from;
    options.to = to;
    options.view = view;
    options.what_if.push_back({"", "*", 0.5});
    const auto explanation = wf::provenance::Explain(x, options);
    if (!explanation.ok()) return;
    wf::Nanos self = 0;
    for (const wf::provenance::ExplanationVertex& vertex : explanation->vertices)
      self += vertex.self_ns;
    WF_CHECK(self == explanation->delay_ns);  // lemma 12
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::optional<wf::Nanos> retain_from;
  if (!text.empty() && text[0] == 'R') {  // with retention, from a time that is likely to matter
    retain_from = 10;
    text.remove_prefix(1);
  }
  const auto x = wf::provenance::ReadExecution(text, "fuzz", retain_from);
  if (!x.ok()) {
    WF_CHECK(!x.error().message.empty());
    return 0;
  }
  if (x->size() == 0) return 0;
  const auto last = static_cast<uint32_t>(x->size() - 1);
  CheckExplained(*x, 0, last);
  CheckExplained(*x, last, last);
  // What is extracted is accepted again, but for pools, whose servers may be taken otherwise by fewer events.
  const std::string extract = wf::provenance::ExtractEvents(*x, last);
  const auto again = wf::provenance::ReadExecution(extract, "extract", retain_from);
  bool pools = false;
  for (const uint32_t servers : x->servers) pools = pools || servers > 1;
  WF_CHECK(again.ok() || pools);
  return 0;
}
