// Data edges by update-use (INSPECTOR §IV-A): a → b has page p iff a happens before b, a wrote p, b touched
// p, and no writer of p lies between them. Within each thread, a page's writers before b are a prefix of that
// thread's writers. So only the last writer of each thread can be a source, and of these only the ones that
// no other follows.
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

  // The writers whose data `reader` may find in the span: they happened before it, with no write in between.
  // Replaces `out`; by position in the replayed order, latest first.
  void LastWriters(const Span& span, recorder::SubId reader,
                   std::vector<recorder::SubId>& out) const;
  // The writers at the end of the run: no writer follows them.
  void FinalWriters(const Span& span, std::vector<recorder::SubId>& out) const;
  // The writers of the span concurrent with `reader`, as [begin, end) of each other thread's writersthat
  // start before it ends, so that it may have seen their data.
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
  std::vector<uint32_t> spans;  // of the page index, ascending within an edge; for kList only
};

enum class EdgePages { kCount, kList };
DataEdges ComputeDataEdges(const DataFlow& flow, EdgePages pages);
uint64_t CountDataEdges(const DataFlow& flow);

}  // namespace wf::lineage
