#include "analysis/critical_path/what_if.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "analysis/critical_path/path_cases.h"
#include "analysis/critical_path/random_traces_test.h"

namespace wf::critical_path {
namespace {

using testing::EventLines;

std::vector<WhatIf> Changes(std::initializer_list<const char*> texts) {
  std::vector<WhatIf> changes;
  for (const char* text : texts) {
    auto change = ParseWhatIf(text);
    if (!change.ok()) throw std::runtime_error(change.error().message);
    changes.push_back(*change);
  }
  return changes;
}

// "matched duration".
std::string Then(const std::string& events, std::initializer_list<const char*> changes) {
  EventLines lines(events);
  const Trace trace = BuildTrace(lines.batch);
  const WhatIfAnswer answer = Replay(trace, {}, Changes(changes));
  return fmt::format("{} {}", answer.matched, answer.duration_ns);
}

TEST(WhatIf, TheOnlyChildTwiceAsFast) {
  const char* events = "span a 0..100\nspan b parent=a 20..80 name=load\n";
  EXPECT_EQ(Then(events, {"operation/load=0.5x"}), "1 70");
  EXPECT_EQ(Then(events, {"operation/load=3x"}), "1 220");
  EXPECT_EQ(Then(events, {"operation/other=0.5x"}), "0 100");
  EXPECT_EQ(Then(events, {"service/shop=0x"}), "2 0");
}

TEST(WhatIf, TheNextSlowestTakesOver) {
  const char* events =
      "span a 0..100\nspan b parent=a 0..90 name=slow\nspan c parent=a 0..70 name=second\n";
  EXPECT_EQ(Then(events, {"operation/slow=0.1x"}), "1 80");     // not 19: c takes its 70
  EXPECT_EQ(Then(events, {"operation/second=0.1x"}), "1 100");  // not on the path
  EXPECT_EQ(Then(events, {"operation/second=2x"}), "1 150");    // now it is
}

TEST(WhatIf, SiblingsInSuccessionMoveUp) {
  const char* events =
      "span a 0..300\nspan b parent=a 0..101 name=first\nspan c parent=a 100..200 name=next\n";
  EXPECT_EQ(Then(events, {"operation/first=0.5x"}), "1 249");  // floor(101 / 2) - the overlap
  EXPECT_EQ(Then(events, {"operation/first=0.5x", "operation/next=0.5x"}), "2 199");
}

TEST(WhatIf, AChildCutAtItsParentsEndCountsUpToThere) {
  EXPECT_EQ(Then("span a 0..100\nspan b parent=a 20..150 name=late\n", {"operation/late=0.5x"}),
            "1 60");
}

TEST(WhatIf, WhatNobodyWaitsForChangesNothing) {
  EXPECT_EQ(Then("span a 0..100\nspan b follows=a 0..90 name=later\n", {"operation/later=9x"}),
            "1 100");
}

TEST(WhatIf, WhatIsStartedWhileWaitingDoesNotHoldUpTheWait) {
  const char* events =
      "span a 0..100\nspan b parent=a 0..90 name=call\nspan c follows=a 80..200 name=log\n";
  EXPECT_EQ(Then(events, {"operation/call=0.5x"}), "1 55");
}

TEST(WhatIf, ByTypeOfEdge) {
  const char* page =
      "span page 0..100\n"
      "edge_begin css in=page @20 label:type=resource\n"
      "edge_end css in=page @70 label:type=resource\n"
      "edge_begin js in=page @20 label:type=resource\n"
      "edge_end js in=page @60 label:type=resource\n";
  EXPECT_EQ(Then(page, {"type/resource=0.5x"}), "2 75");
  EXPECT_EQ(Then(page, {"type/resource=2x"}), "2 150");
  EXPECT_EQ(Then(page, {"type/self=0.5x"}), "1 75");
}

TEST(WhatIf, ByCategoryAndByTheWayOfRequestAndResponse) {
  const char* call =
      "span a kind=client 0..100\nspan b parent=a kind=server 30..60 process=other\n";
  EXPECT_EQ(Then(call, {"type/network=0.5x"}), "1 65");
  EXPECT_EQ(Then(call, {"type/request=0.5x"}), "1 85");
  EXPECT_EQ(Then(call, {"type/response=0.5x"}), "1 80");
  EXPECT_EQ(Then(call, {"service/other=0.5x"}), "1 85");
}

TEST(WhatIf, AWaitInAQueueBySpanAndByCategory) {
  const char* queue =
      "unit_begin U @0\nblock_begin A in=U @0\nqueue_put q in=A @10\nedge_end d in=A @80\n"
      "block_end A in=U @100\nunit_end U @100\n"
      "unit_begin W @25\nblock_begin T in=W @25\nqueue_take q in=T @30\nqueue_done q in=T @70\n"
      "edge_begin d in=T @80 label:type=join\nblock_end T in=W @90\nunit_end W @90\n";
  EXPECT_EQ(Then(queue, {"type/queue=0.5x"}), "1 95");  // not below 25: only then the worker began
  EXPECT_EQ(Then(queue, {"type/queue=2x"}), "1 120");
}

TEST(WhatIf, SelectorsThatAreNone) {
  for (const char* text : {"", "type/resource", "type/resource=", "type/resource=2",
                           "resource=0.5x", "colour/red=0.5x", "type/=0.5x", "type/x=-1x",
                           "type/x=1.2.3x", "type/x=nanx", "span/zz=2x", "type/x=1e9x"}) {
    const auto change = ParseWhatIf(text);
    ASSERT_FALSE(change.ok()) << text;
    EXPECT_EQ(change.error().code, ErrorCode::kBadInput);
  }
  const auto named = ParseWhatIf("operation/GET /cart?a=b=0.25x");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->name, "GET /cart?a=b");
  EXPECT_EQ(named->factor, 0.25);
}

TEST(WhatIfProperty, UnchangedIsAsRecordedAndLessWorkNeverTakesLonger) {
  EXPECT_TRUE(rc::check("replay", [] {
    const std::string text = testing::AnyTrace({true, false, 3});
    RC_LOG() << text;
    EventLines lines(text);
    const Trace trace = BuildTrace(lines.batch);
    const Nanos recorded = trace.blocks[trace.main_root()].duration();
    const std::string what = *rc::gen::element<std::string>("type/self", "type/network", "type/*",
                                                            "type/join", "span/1", "span/2");
    const auto then = [&](const char* factor) {
      return Replay(trace, {}, Changes({(what + factor).c_str()})).duration_ns;
    };
    RC_ASSERT(then("=1x") == recorded);
    RC_ASSERT(then("=0.5x") <= recorded);
    RC_ASSERT(then("=2x") >= recorded);
  }));
}

TEST(WhatIfProperty, OfASinglePathItIsThatPathScaled) {
  EXPECT_TRUE(rc::check("without parallel work all time is on the path", [] {
    // Children in succession, with children in succession.
    std::string text = "span 1 0..1000\n";
    Nanos now = 0;
    Nanos scaled = 0;
    for (int b = 2; now < 900; ++b) {
      now += *rc::gen::inRange<Nanos>(0, 50);
      const Nanos length = *rc::gen::inRange<Nanos>(1, 100);
      const bool slow = *rc::gen::arbitrary<bool>();
      text += fmt::format("span {:x} parent=1 {}..{} name={}\n", b, now, now + length,
                          slow ? "slow" : "quick");
      if (slow) scaled += std::min<Nanos>(now + length, 1000) - std::min<Nanos>(now, 1000);
      now += length;
    }
    RC_LOG() << text;
    EventLines lines(text);
    const Trace trace = BuildTrace(lines.batch);
    RC_ASSERT(Replay(trace, {}, Changes({"operation/slow=2x"})).duration_ns == 1000 + scaled);
  }));
}

}  // namespace
}  // namespace wf::critical_path
