// Any bytes as a program, its row and a trace: compiling and extracting must end, within bounds.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "lang/feature/dataset_plan.h"
#include "model/trace_builder.h"

namespace {

// A small trace that has something of everything the language can ask for.
const wf::Trace& SampleTrace() {
  static const auto* sample = [] {
    auto* batch = new wf::EventBatch;
    batch->scopes.push_back({});
    batch->processes.push_back({batch->strings.Intern("Client"), 0, 0, 0});
    const auto event = [&](wf::EventType type, uint64_t id1, uint64_t id2, int64_t time,
                           std::string_view key, std::string_view value) {
      batch->AddRow();
      batch->trace_lo.back() = 1;
      batch->type.back() = type;
      batch->id1.back() = id1;
      batch->id2.back() = id2;
      batch->start_ns.back() = time;
      batch->process.back() = 0;
      batch->marks.back() = wf::kHasStart;
      if (!key.empty()) {
        wf::PutVarint(batch->strings.Intern(key), batch->bytes);
        wf::PutString(value, batch->bytes);
      }
      batch->EndAttributes();
    };
    using T = wf::EventType;
    event(T::kUnitBegin, 1, 0, 0, "label:name", "Client");
    event(T::kBlockBegin, 2, 1, 0, "label:name", "navigate");
    event(T::kBlockBegin, 3, 1, 10, "label:piece", "Header");
    event(T::kEdgeBegin, 4, 2, 12, "label:type", "resource");
    event(T::kEdgeEnd, 4, 2, 40, "counter:bytes", "1024");
    event(T::kBlockEnd, 3, 1, 30, "counter:cpu", "12.5");
    event(T::kPoint, 5, 2, 45, "label:marker", "display_done");
    event(T::kPoint, 6, 2, 50, "stack:cpu", "main;run");
    event(T::kBlockEnd, 2, 1, 60, "", "");
    event(T::kUnitEnd, 1, 0, 60, "", "");
    return new wf::Trace(wf::BuildTrace(*batch));
  }();
  return *sample;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  wf::feature::DatasetText dataset;
  // A zero byte separates the row from the columns; without one everything is columns.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    dataset.row = text.substr(0, zero);
    text.remove_prefix(zero + 1);
  }
  dataset.columns = text;
  const wf::feature::FeatureLibrary library =
      [](std::string_view name) -> std::optional<std::string> {
    if (name != "lib") return std::nullopt;
    return "def Longest(b) = b | Duration | Max";
  };
  const auto compiled = wf::feature::DatasetPlan::Compile(dataset, library);
  WF_CHECK(compiled.plan.has_value() == compiled.diagnostics.empty());
  for (const wf::feature::DatasetDiagnostic& d : compiled.diagnostics) {
    WF_CHECK(d.diagnostic.line >= 1 && d.diagnostic.column >= 1 && d.diagnostic.length >= 1);
    wf::lang::RenderDiagnostic(dataset.columns, d.diagnostic);
  }
  if (!compiled.plan) return 0;
  wf::DatasetTable table = compiled.plan->NewTable();
  const wf::feature::ExtractOutcome outcome = compiled.plan->Extract(SampleTrace(), table);
  WF_CHECK(outcome.rows == table.rows());
  for (const wf::TableColumn& column : table.columns) WF_CHECK(column.size() == table.rows());
  return 0;
}
