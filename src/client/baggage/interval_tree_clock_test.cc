#include "client/baggage/interval_tree_clock.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace wherefore::client {
namespace {

TEST(IntervalTreeClock, TheExampleOfTheLiterature) {
  Stamp a;
  EXPECT_EQ(a.Text(), "(1,0)");
  Stamp b = a.Fork();
  a.Event();
  b.Event();
  EXPECT_EQ(a.Text(), "((1,0),(0,1,0))");
  EXPECT_EQ(b.Text(), "((0,1),(0,0,1))");
  Stamp c = a.Fork();
  b.Event();
  a.Event();
  b.Join(c);
  EXPECT_EQ(a.Text(), "(((1,0),0),(0,(1,1,0),0))");
  EXPECT_EQ(b.Text(), "(((0,1),1),(1,0,1))");
  c = b.Fork();
  a.Join(b);
  EXPECT_EQ(a.Text(), "((1,0),(1,(0,1,0),1))");
  a.Event();
  EXPECT_EQ(a.Text(), "((1,0),2)");
}

TEST(IntervalTreeClock, ForkedAndJoinedIsWholeAgain) {
  Stamp a;
  std::vector<Stamp> branches;
  for (int i = 0; i < 20; ++i) branches.push_back(a.Fork());
  EXPECT_FALSE(a.id.whole());
  for (const Stamp& branch : branches) a.Join(branch);
  EXPECT_TRUE(a.id.whole());
}

// A random run of forks, events and joins, beside the set of events each participant has seen.
struct Participant {
  Stamp stamp;
  std::set<int> seen;
};

RC_GTEST_PROP(IntervalTreeClock, OrderIsThatOfTheEventsSeen, ()) {
  std::vector<Participant> all(1);
  const int steps = *rc::gen::inRange(1, 60);
  int next_event = 0;
  for (int step = 0; step < steps; ++step) {
    const auto at = *rc::gen::inRange<size_t>(0, all.size());
    const int what = *rc::gen::inRange(0, 4);
    if (what == 0 && all.size() < 8) {
      Participant other = all[at];
      other.stamp = all[at].stamp.Fork();
      all.push_back(other);
    } else if (what == 1 && all.size() > 1) {
      const auto from = *rc::gen::inRange<size_t>(0, all.size());
      if (from == at) continue;
      all[at].stamp.Join(all[from].stamp);
      all[at].seen.insert(all[from].seen.begin(), all[from].seen.end());
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(from));
    } else {
      all[at].stamp.Event();
      all[at].seen.insert(next_event++);
    }
    for (const Participant& x : all) {
      for (const Participant& y : all) {
        const bool subset =
            std::includes(y.seen.begin(), y.seen.end(), x.seen.begin(), x.seen.end());
        RC_ASSERT(x.stamp.HappenedBefore(y.stamp) == subset);
        if (&x != &y) RC_ASSERT(!x.stamp.id.Overlaps(y.stamp.id));
      }
    }
  }
  Stamp whole = all[0].stamp;
  for (size_t i = 1; i < all.size(); ++i) {
    whole.Join(all[i].stamp);
    RC_ASSERT(whole.id.Contains(all[i].stamp.id));
  }
  RC_ASSERT(whole.id.whole());
}

}  // namespace
}  // namespace wherefore::client
