// Which sub-computations touched which pages, by page. Pages that lie side by side and were touched by the same
// sub-computations in the same way are one Span, so that an array of a thousand pages costs what one page costs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

struct Access {
  recorder::SubId sub : 31;
  uint32_t written : 1;
};

struct Span {
  uint64_t first = 0, count = 0;  // pages
  recorder::Slice accesses;       // by sub-computation, so by thread and index
  recorder::Slice writers;
};

class PageIndex {
 public:
  // BadInput for what no machine could hold: a file that says so was made to harm.
  static Result<PageIndex> Build(const recorder::Recording& recording);

  const std::vector<Span>& spans() const { return spans_; }
  const Access& access(uint32_t at) const { return accesses_[at]; }
  recorder::SubId writer(uint32_t at) const { return writers_[at]; }
  size_t writers() const { return writers_.size(); }
  // The spans that a run of pages is made of.
  recorder::Slice SpansOf(const recorder::PageRuns& run) const;
  // The span that holds the page; kNone: nobody touched it.
  uint32_t SpanOf(uint64_t page) const;

 private:
  void Fill(const recorder::Recording& recording);

  std::vector<Span> spans_;
  std::vector<Access> accesses_;
  std::vector<recorder::SubId> writers_;
};

}  // namespace wf::lineage
