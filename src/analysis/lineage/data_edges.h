// Data edges by update-use (INSPECTOR §IV-A): a → b has page p iff a happens before b, a wrote p, b touched p, and no
// writer of p lies between them. A page's writers before b are, of each thread, one prefix of its writers; so only the
// last writer of each thread can be a source, and of those only the ones that none of the others follows.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/lineage/page_index.h"
#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

class DataFlow {
 public:
  // All three must outlive this.
  DataFlow(const recorder::Recording& recording, const recorder::Clocks& clocks,
           const PageIndex& pages)
      : r_(recording), clocks_(clocks), pages_(pages) {}

  // The writers of the span that `reader` may have what it finds there from: happened before it, and nothing written in
  // between. Replaces `out`; by position in the replayed order, latest first.
  void LastWriters(const Span& span, recorder::SubId reader,
                   std::vector<recorder::SubId>& out) const;
  // Those of the end of the run: no writer follows them.
  void FinalWriters(const Span& span, std::vector<recorder::SubId>& out) const;
  // The writers of the span concurrent with `reader`, as [begin, end) of each other thread's writers, if their times
  // allow that it saw them: they start before it ends.
  void ConcurrentWriters(const Span& span, recorder::SubId reader,
                         std::vector<recorder::Slice>& out) const;

  const recorder::Recording& recording() const { return r_; }
  const recorder::Clocks& clocks() const { return clocks_; }
  const PageIndex& pages() const { return pages_; }

 private:
  void KeepMaximal(std::vector<recorder::SubId>& candidates) const;

  const recorder::Recording& r_;
  const recorder::Clocks& clocks_;
  const PageIndex& pages_;
};

struct DataEdge {
  recorder::SubId from = 0, to = 0;
  uint64_t pages = 0;
  recorder::Slice spans;  // of DataEdges::spans
};

struct DataEdges {
  std::vector<DataEdge> edges;  // by from, to
  std::vector<uint32_t> spans;  // of the page index, ascending within an edge; if asked for
};

enum class EdgePages { kCount, kList };
DataEdges ComputeDataEdges(const DataFlow& flow, EdgePages pages);
uint64_t CountDataEdges(const DataFlow& flow);

}  // namespace wf::lineage
