// Any text is a query or gets a complaint with a place; what is one can be run.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "lang/query/parser.h"
#include "lang/query/reference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wf::query;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Parsed parsed = Parse(text);
  WF_CHECK((parsed.query == nullptr) == !parsed.diagnostics.empty());
  for (const wf::lang::Diagnostic& one : parsed.diagnostics) {
    WF_CHECK(one.line >= 1 && one.column >= 1 && !one.message.empty());
    wf::lang::RenderDiagnostic(text, one);
  }
  if (parsed.query == nullptr) return 0;
  Execution execution;
  for (const char* name : {"A", "B", "C"}) {
    Event event;
    event.id = name;
    event.tracepoint = name;
    if (!execution.events.empty())
      event.after = {static_cast<uint32_t>(execution.events.size() - 1)};
    event.variables["v"] = int64_t{3};
    execution.events.push_back(event);
  }
  uint32_t on_cycle = 0;
  WF_CHECK(Arrange(execution, on_cycle));
  for (const auto& row : EvaluateReference(*parsed.query, execution))
    WF_CHECK(row.size() == ColumnNames(*parsed.query).size());
  return 0;
}
