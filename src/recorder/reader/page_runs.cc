#include "recorder/reader/page_runs.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace wf::recorder {

void NormalisePages(std::vector<PageRuns>& runs) {
  const auto before = [](const PageRuns& a, const PageRuns& b) {
    return std::tie(a.first, a.count) < std::tie(b.first, b.count);
  };
  if (runs.size() > 1) {
    bool simple = true;
    for (size_t i = 1; i < runs.size() && simple; ++i)
      simple = runs[i - 1].first + runs[i - 1].count <= runs[i].first;
    if (!simple) {
      // Each kind by itself first, then reads without what was written.
      std::vector<PageRuns> kinds[2];
      for (const PageRuns& run : runs) kinds[run.written ? 1 : 0].push_back(run);
      for (auto& kind : kinds) {
        std::sort(kind.begin(), kind.end(), before);
        std::vector<PageRuns> joined;
        for (const PageRuns& run : kind) {
          if (!joined.empty() && run.first <= joined.back().first + joined.back().count) {
            const uint64_t end =
                std::max(joined.back().first + joined.back().count, run.first + run.count);
            joined.back().count = end - joined.back().first;
          } else {
            joined.push_back(run);
          }
        }
        kind = std::move(joined);
      }
      runs = kinds[1];
      size_t w = 0;
      for (PageRuns read : kinds[0]) {
        const uint64_t end = read.first + read.count;
        uint64_t at = read.first;
        while (w < kinds[1].size() && kinds[1][w].first + kinds[1][w].count <= at) ++w;
        for (size_t i = w; i < kinds[1].size() && kinds[1][i].first < end && at < end; ++i) {
          if (kinds[1][i].first > at) runs.push_back({at, kinds[1][i].first - at, false});
          at = kinds[1][i].first + kinds[1][i].count;
        }
        if (at < end) runs.push_back({at, end - at, false});
      }
      std::sort(runs.begin(), runs.end(), before);
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (kept > 0 && runs[kept - 1].written == runs[i].written &&
        runs[kept - 1].first + runs[kept - 1].count == runs[i].first)
      runs[kept - 1].count += runs[i].count;
    else
      runs[kept++] = runs[i];
  }
  runs.resize(kept);
}

}  // namespace wf::recorder
