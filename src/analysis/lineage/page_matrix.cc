#include "analysis/lineage/page_matrix.h"

#include <tuple>

namespace wf::lineage {

std::vector<PageRow> PageMatrix(const recorder::Recording& recording, const PageIndex& pages) {
  std::vector<PageRow> rows;
  for (const Span& span : pages.spans()) {
    if (span.accesses.empty()) continue;
    PageRow row{span.first, span.count, 0, {}};
    int64_t first_ns = INT64_MAX;
    for (uint32_t i = span.accesses.begin; i < span.accesses.end; ++i) {
      const Access access = pages.access(i);
      const recorder::SubComputation& sub = recording.subs[access.sub];
      if (row.uses.empty() || row.uses.back().thread != sub.thread)
        row.uses.push_back({sub.thread, 0, 0});
      ++row.uses.back().reading;
      row.uses.back().writing += access.written;
      if (sub.start_ns < first_ns) {
        first_ns = sub.start_ns;
        row.first_thread = sub.thread;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace wf::lineage
