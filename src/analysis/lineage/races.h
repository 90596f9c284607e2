// Pages that two threads touched in no order, with at least one of them writing. The granularity is the page:
// two threads may use different bytes of one page (false sharing).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/lineage/page_index.h"
#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

struct Race {
  uint64_t page = 0;
  // The earliest pair: min a, then min b; a's thread has the lower number.
  recorder::SubId a = 0, b = 0;
  bool a_writes = false, b_writes = false;
  uint64_t pairs = 0;  // pairs of these two threads on this page
};

struct Races {
  std::vector<Race> races;  // by page, then threads
  bool all = true;          // false: there are more races than the limit
};

// Returns at most `most` races. Cost: for each page, its accesses times the threads that touch it.
Races FindRaces(const recorder::Recording& recording, const recorder::Clocks& clocks,
                const PageIndex& pages, uint64_t most);

}  // namespace wf::lineage
