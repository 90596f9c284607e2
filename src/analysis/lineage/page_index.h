// Which sub-computations touched which pages, by page. Adjacent pages that the same sub-computations touched
// in the same way form one Span, so that an array of a thousand pages costs what one page costs.
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
  // BadInput for sizes that no machine could hold: such a file was made to do harm.
  static Result<PageIndex> Build(const recorder::Recording& recording);

  const std::vector<Span>& spans() const { return spans_; }
  const Access& access(uint32_t at) const { return accesses_[at]; }
  recorder::SubId writer(uint32_t at) const { return writers_[at]; }
  size_t writers() const { return writers_.size(); }
  // The spans that a run of pages is made of.
  recorder::Slice SpansOf(const recorder::PageRuns& run) const;
  // The span that holds the page; kNone if no sub-computation touched it.
  uint32_t SpanOf(uint64_t page) const;

 private:
  void Fill(const recorder::Recording& recording);

  std::vector<Span> spans_;
  std::vector<Access> accesses_;
  std::vector<recorder::SubId> writers_;
};

}  // namespace wf::lineage
