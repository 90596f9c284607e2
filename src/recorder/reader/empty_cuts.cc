#include "recorder/reader/empty_cuts.h"

#include <algorithm>
#include <vector>

#include "recorder/reader/clocks.h"
#include "recorder/reader/page_runs.h"

namespace wf::recorder {
namespace {

// The pages of the two as those of one.
Slice JoinPages(std::vector<PageRuns>& pages, Slice a, Slice b) {
  if (b.empty()) return a;
  if (a.empty()) return b;
  std::vector<PageRuns> joined(pages.begin() + a.begin, pages.begin() + a.end);
  joined.insert(joined.end(), pages.begin() + b.begin, pages.begin() + b.end);
  NormalisePages(joined);
  const auto begin = static_cast<uint32_t>(pages.size());
  pages.insert(pages.end(), joined.begin(), joined.end());
  return {begin, static_cast<uint32_t>(pages.size())};
}

}  // namespace

void LeaveOutEmptyCuts(Recording& recording) {
  const bool any =
      std::any_of(recording.subs.begin(), recording.subs.end(),
                  [](const SubComputation& sub) { return (sub.flags & kIfItAdds) != 0; });
  if (!any) return;
  const Clocks clocks = Clocks::Compute(recording);
  std::vector<SubId> place(recording.subs.size());
  std::vector<SubComputation> kept;
  for (ThreadFacts& thread : recording.threads) {
    const auto first = static_cast<SubId>(kept.size());
    for (SubId s = thread.subs.begin; s < thread.subs.end; ++s) {
      SubComputation sub = recording.subs[s];
      if (s > thread.subs.begin && !clocks.OpeningAdded(s)) {
        const SubComputation before = kept.back();
        kept.pop_back();
        sub.start_ns = before.start_ns;
        sub.written_index = before.written_index;
        sub.pages = JoinPages(recording.pages, before.pages, sub.pages);
        sub.transfers.begin = before.transfers.begin;
      }
      sub.index = static_cast<uint32_t>(kept.size()) - first;
      place[s] = static_cast<SubId>(kept.size());
      kept.push_back(sub);
    }
    thread.subs = {first, static_cast<uint32_t>(kept.size())};
  }
  recording.subs = std::move(kept);
  for (TransferFacts& transfer : recording.transfers) transfer.sub = place[transfer.sub];
  for (TraceMark& mark : recording.traces) mark.sub = place[mark.sub];
  if (recording.crash && recording.crash->sub != kNone)
    recording.crash->sub = place[recording.crash->sub];
}

}  // namespace wf::recorder
