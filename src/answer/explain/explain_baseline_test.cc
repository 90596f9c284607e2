#include <gtest/gtest.h>

#include "answer/explain/explain_answer.h"
#include "model/event_lines.h"
#include "store/memory/memory_store.h"

namespace wf::answer {
namespace {

using testing::EventLines;
using testing::Words;

class ExplainBaselineTest : public ::testing::Test {
 protected:
  TraceId Put(uint64_t id, const std::string& text) {
    EventLines lines(text);
    std::fill(lines.batch.trace_lo.begin(), lines.batch.trace_lo.end(), id);
    lines.batch.tenant = "default";
    EXPECT_TRUE(store_.AppendAndWait(std::move(lines.batch)).ok());
    return {0, id};
  }
  // A request whose two steps take so long.
  TraceId PutPage(uint64_t id, const std::string& root, Nanos first, Nanos second) {
    const Nanos at = static_cast<Nanos>(id) * 10'000;
    return Put(id, fmt::format("span page name={} {}..{} process=front kind=server\n", root, at,
                               at + first + second + 20) +
                       fmt::format("span a parent=page name=step {}..{} process=front\n", at + 10,
                                   at + 10 + first) +
                       fmt::format("span b parent=page name=step {}..{} process=front\n",
                                   at + 10 + first, at + 10 + first + second));
  }
  ExplainBaseline Baseline(const std::vector<ExplainTarget>& targets) {
    ExplainTraces traces(context_, ClockMode::kAligned, one_way_);
    std::vector<TraceId> ids;
    for (const ExplainTarget& target : targets) ids.push_back(target.trace);
    EXPECT_TRUE(traces.Read(ids).ok());
    auto found = FindBaseline(context_, {}, traces, targets, one_way_);
    EXPECT_TRUE(found.ok());
    return *found;
  }
  static ExplainTarget Step(TraceId id, const std::string& word) {
    const SpanId span{Words().Id(word)};
    return {id, {span, provenance::SpanSide::kStart}, {span, provenance::SpanSide::kEnd}};
  }
  // Of all that a request's own path is made of, by the name of its work: most of it.
  static Nanos Most(const ExplainBaseline& baseline, const std::string& name) {
    Nanos most = 0;
    for (const auto& [key, normal] : baseline.normal_of) {
      if (std::get<2>(key) == name) most = std::max(most, normal);
    }
    return most;
  }

  store::memory::MemoryStore store_;
  AnswerContext context_{store_, "default", "", 1'000'000'000, {}, {}};
  OneWaySamples one_way_;
};

TEST_F(ExplainBaselineTest, IsOfTheSamePlaces) {
  for (uint64_t i = 1; i <= 9; ++i) PutPage(i, "buy", 100, static_cast<Nanos>(300 + i));
  const TraceId slow = PutPage(10, "buy", 1000, 2000);
  const ExplainBaseline whole =
      Baseline({{slow, {{}, provenance::SpanSide::kStart}, {{}, provenance::SpanSide::kEnd}}});
  EXPECT_EQ(whole.requests, 5);  // 301 to 305: the median of ten is the fifth
  EXPECT_EQ(whole.median_ns, 100 + 305 + 20);
  EXPECT_EQ(Most(whole, "buy"), 100 + 303 + 20);
  // The window of the first step only: what comes behind it is not in it.
  const ExplainBaseline first = Baseline({Step(slow, "a")});
  EXPECT_EQ(first.requests, 5);
  EXPECT_EQ(Most(first, "step"), 100);
  // The second of the steps of that name is the second there, too.
  EXPECT_EQ(Most(Baseline({Step(slow, "b")}), "step"), 303);
}

TEST_F(ExplainBaselineTest, IsOfAllTargetsEachByItsOwnRootOperation) {
  for (uint64_t i = 1; i <= 5; ++i) PutPage(i, "buy", 100, 10);
  for (uint64_t i = 11; i <= 15; ++i) PutPage(i, "sell", 400, 10);
  const TraceId buy = PutPage(21, "buy", 5000, 10), sell = PutPage(22, "sell", 6000, 10),
                more = PutPage(23, "sell", 7000, 10);
  const ExplainBaseline both = Baseline({Step(buy, "a"), Step(sell, "a"), Step(more, "a")});
  EXPECT_EQ(both.requests, 5 + 5);
  EXPECT_EQ(Most(both, "step"), 100 + 2 * 400);  // as many normal ones as are explained
}

TEST_F(ExplainBaselineTest, WhoHasNoSuchSpanIsCounted) {
  for (uint64_t i = 1; i <= 4; ++i) PutPage(i, "buy", 100, 10);
  const Nanos at = 50'000;
  Put(5, fmt::format("span page name=buy {}..{} process=front kind=server\n", at, at + 50));
  const ExplainBaseline found = Baseline({Step(PutPage(6, "buy", 5000, 10), "a")});
  EXPECT_EQ(found.skipped, 1);
  EXPECT_EQ(found.requests, 4);  // half of the six, and those that took just as long
}

}  // namespace
}  // namespace wf::answer
