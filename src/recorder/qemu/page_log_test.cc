#include "recorder/qemu/page_log.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

namespace wf::recorder {
namespace {

std::map<uint64_t, bool> Pages(PageLog& log, size_t at_once) {
  std::map<uint64_t, bool> out;
  std::vector<PageRun> runs(at_once);
  log.Close();
  uint64_t above = 0;
  while (const size_t count = log.Take(runs.data(), runs.size())) {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t pages = runs[i].count_and_written & ~kWritten;
      EXPECT_GE(runs[i].first_page, above);
      for (uint64_t page = 0; page < pages; ++page)
        out[runs[i].first_page + page] = (runs[i].count_and_written & kWritten) != 0;
      above = runs[i].first_page + pages;
    }
  }
  return out;
}

TEST(PageLog, TellsEachPageOnceAndWhetherItWasWritten) {
  EXPECT_TRUE(rc::check([] {
    PageLog log;
    // Several sub-computations: nothing of one is left in the next.
    for (int round = 0; round < 3; ++round) {
      std::map<uint64_t, bool> truth;
      const int accesses = *rc::gen::inRange(0, 400);
      for (int i = 0; i < accesses; ++i) {
        // Near ones form runs, far ones share places in the table.
        const uint64_t page = *rc::gen::inRange<uint64_t>(0, 60) +
                              (*rc::gen::inRange<uint64_t>(0, 4) << (*rc::gen::inRange(5, 40)));
        const uint64_t address = page * 4096 + *rc::gen::inRange<uint64_t>(0, 4096);
        const uint64_t size = uint64_t{1} << *rc::gen::inRange(0, 7);
        const bool writes = *rc::gen::arbitrary<bool>();
        log.Touch(address, size, writes ? Access::kWrite : Access::kRead);
        for (uint64_t p = address / 4096; p <= (address + size - 1) / 4096; ++p) truth[p] |= writes;
      }
      RC_ASSERT(Pages(log, *rc::gen::inRange<size_t>(1, 20)) == truth);
    }
  }));
}

}  // namespace
}  // namespace wf::recorder
