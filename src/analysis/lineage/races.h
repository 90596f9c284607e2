// Pages that two threads touched with nothing to order them, at least one of them writing. Page by page: what two
// threads do in one page may still be apart (false sharing).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/lineage/page_index.h"
#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

struct Race {
  uint64_t page = 0;
  recorder::SubId a = 0,
                  b = 0;  // the earliest pair: least a, then least b; a's thread is the lesser
  bool a_writes = false, b_writes = false;
  uint64_t pairs = 0;  // of these two threads in this page
};

struct Races {
  std::vector<Race> races;  // by page, then threads
  bool all = true;          // false: there are more than the bound
};

// At most `most` of them. Cost: for each page, the accesses times the threads that touch it.
Races FindRaces(const recorder::Recording& recording, const recorder::Clocks& clocks,
                const PageIndex& pages, uint64_t most);

}  // namespace wf::lineage
