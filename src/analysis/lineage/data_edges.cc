#include "analysis/lineage/data_edges.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace wf::lineage {

using recorder::SubComputation;
using recorder::SubId;

namespace {

// Calls `visit(first, last)` for the writers of each thread, [first, last) of the index's writers.
template <typename Visit>
void EachThread(const recorder::Recording& r, const PageIndex& pages, const Span& span,
                const Visit& visit) {
  uint32_t at = span.writers.begin;
  while (at < span.writers.end) {
    const recorder::Slice thread = r.threads[r.subs[pages.writer(at)].thread].subs;
    // Usually all writers are of one or few threads: look at the end before searching.
    uint32_t low = at + 1, high = span.writers.end;
    if (pages.writer(high - 1) < thread.end) low = high;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (pages.writer(middle) < thread.end)
        low = middle + 1;
      else
        high = middle;
    }
    visit(at, low);
    at = low;
  }
}

// The first of [first, last) for which `after` holds; it holds for all later ones.
template <typename After>
uint32_t FirstOf(uint32_t first, uint32_t last, const After& after) {
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    if (after(middle))
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

}  // namespace

// Latest in the replayed order first: none follows the first one, and whatever is followed by any candidate is followed
// by one that was kept.
void DataFlow::KeepMaximal(std::vector<SubId>& candidates) const {
  if (candidates.size() < 2) return;
  std::sort(candidates.begin(), candidates.end(),
            [&](SubId a, SubId b) { return clocks_.Position(a) > clocks_.Position(b); });
  size_t kept = 1;
  for (size_t i = 1; i < candidates.size(); ++i) {
    bool followed = false;
    for (size_t k = 0; k < kept && !followed; ++k)
      followed = clocks_.Before(candidates[i], candidates[k]);
    if (!followed) candidates[kept++] = candidates[i];
  }
  candidates.resize(kept);
}

void DataFlow::LastWriters(const Span& span, SubId reader, std::vector<SubId>& out) const {
  out.clear();
  EachThread(r_, pages_, span, [&](uint32_t first, uint32_t last) {
    const uint32_t thread = r_.subs[pages_.writer(first)].thread;
    // A sub-computation is not its own source.
    const SubId limit = thread == r_.subs[reader].thread
                            ? reader
                            : r_.threads[thread].Place(clocks_.At(reader, thread));
    const uint32_t end =
        FirstOf(first, last, [&](uint32_t i) { return pages_.writer(i) >= limit; });
    if (end > first) out.push_back(pages_.writer(end - 1));
  });
  KeepMaximal(out);
}

void DataFlow::FinalWriters(const Span& span, std::vector<SubId>& out) const {
  out.clear();
  EachThread(r_, pages_, span,
             [&](uint32_t, uint32_t last) { out.push_back(pages_.writer(last - 1)); });
  KeepMaximal(out);
}

void DataFlow::ConcurrentWriters(const Span& span, SubId reader,
                                 std::vector<recorder::Slice>& out) const {
  out.clear();
  const SubComputation& own = r_.subs[reader];
  EachThread(r_, pages_, span, [&](uint32_t first, uint32_t last) {
    const uint32_t thread = r_.subs[pages_.writer(first)].thread;
    if (thread == own.thread) return;
    const SubId known = r_.threads[thread].Place(clocks_.At(reader, thread));
    first = FirstOf(first, last, [&](uint32_t i) { return pages_.writer(i) >= known; });
    // Clocks and starts grow along a thread, so both ends are found by halving.
    last = FirstOf(first, last, [&](uint32_t i) {
      const SubId writer = pages_.writer(i);
      return clocks_.At(writer, own.thread) > own.index || r_.subs[writer].start_ns >= own.end_ns;
    });
    if (first < last) out.push_back({first, last});
  });
}

namespace {

struct Use {
  SubId from;
  uint32_t span;
};

// The uses of every sub-computation in turn, by source.
void EachReader(const DataFlow& flow,
                const std::function<void(SubId, const std::vector<Use>&)>& visit) {
  const recorder::Recording& r = flow.recording();
  std::vector<Use> uses;
  std::vector<SubId> sources;
  for (SubId s = 0; s < r.subs.size(); ++s) {
    uses.clear();
    const recorder::Slice runs = r.subs[s].pages;
    for (uint32_t i = runs.begin; i < runs.end; ++i) {
      const recorder::Slice spans = flow.pages().SpansOf(r.pages[i]);
      for (uint32_t at = spans.begin; at < spans.end; ++at) {
        const Span& span = flow.pages().spans()[at];
        if (span.writers.empty()) continue;
        flow.LastWriters(span, s, sources);
        for (const SubId from : sources) uses.push_back({from, at});
      }
    }
    std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
      return a.from != b.from ? a.from < b.from : a.span < b.span;
    });
    if (!uses.empty()) visit(s, uses);
  }
}

}  // namespace

DataEdges ComputeDataEdges(const DataFlow& flow, EdgePages pages) {
  DataEdges out;
  EachReader(flow, [&](SubId to, const std::vector<Use>& uses) {
    for (size_t i = 0; i < uses.size();) {
      DataEdge edge{uses[i].from, to, 0, {static_cast<uint32_t>(out.spans.size()), 0}};
      for (; i < uses.size() && uses[i].from == edge.from; ++i) {
        edge.pages += flow.pages().spans()[uses[i].span].count;
        if (pages == EdgePages::kList) out.spans.push_back(uses[i].span);
      }
      edge.spans.end = static_cast<uint32_t>(out.spans.size());
      out.edges.push_back(edge);
    }
  });
  std::sort(out.edges.begin(), out.edges.end(), [](const DataEdge& a, const DataEdge& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  return out;
}

uint64_t CountDataEdges(const DataFlow& flow) {
  uint64_t count = 0;
  EachReader(flow, [&](SubId, const std::vector<Use>& uses) {
    for (size_t i = 0; i < uses.size(); ++i) count += i == 0 || uses[i].from != uses[i - 1].from;
  });
  return count;
}

}  // namespace wf::lineage
