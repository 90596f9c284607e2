#include "pipeline/built_trace.h"

#include <unordered_map>

namespace wf::pipeline {

std::vector<TraceRows> GatherRows(const std::vector<CachedTrace>& traces) {
  std::vector<TraceRows> out(traces.size());
  const auto joined = std::make_shared<EventBatch>();
  std::unordered_map<const EventBatch*, RowCopier> copiers;
  for (size_t t = 0; t < traces.size(); ++t) {
    const auto& rows = traces[t].rows;
    if (rows.empty()) continue;
    bool one_batch = true;
    for (const auto& [batch, row] : rows) one_batch = one_batch && batch == rows.front().first;
    if (one_batch) {
      out[t].events = rows.front().first;
      for (const auto& [batch, row] : rows) out[t].rows.push_back(row);
      continue;
    }
    joined->tenant = rows.front().first->tenant;
    for (const auto& [batch, row] : rows) {
      RowCopier& copier = copiers.try_emplace(batch.get(), *batch, *joined).first->second;
      out[t].rows.push_back(static_cast<uint32_t>(joined->size()));
      copier.Copy(row);
    }
    out[t].events = joined;
  }
  return out;
}

std::vector<TraceRows> SplitByTrace(const std::shared_ptr<const EventBatch>& events) {
  std::vector<TraceRows> out;
  for (size_t row = 0; row < events->size(); ++row) {
    if (row == 0 || events->trace_id(row) != events->trace_id(row - 1)) out.push_back({events, {}});
    out.back().rows.push_back(static_cast<uint32_t>(row));
  }
  return out;
}

}  // namespace wf::pipeline
