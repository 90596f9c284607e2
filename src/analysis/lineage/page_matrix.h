// How often each thread uses each page: for each page and thread, the numbers of sub-computations that read
// and write it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/lineage/page_index.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

struct PageUse {
  uint32_t thread = 0;
  uint32_t reading = 0;  // sub-computations that touch it at all
  uint32_t writing = 0;
};

// Adjacent pages with the same uses.
struct PageRow {
  uint64_t first = 0, count = 0;
  uint32_t first_thread = 0;  // the thread that touched it first
  std::vector<PageUse> uses;  // by thread
};

// By page.
std::vector<PageRow> PageMatrix(const recorder::Recording& recording, const PageIndex& pages);

}  // namespace wf::lineage
