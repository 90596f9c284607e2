#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/explain/explain_answer.h"
#include "model/event_lines.h"
#include "store/memory/memory_store.h"

namespace wf::answer {
namespace {

using ::testing::ElementsAre;
using testing::EventLines;
using ::testing::HasSubstr;
using testing::Words;

class CountingStore : public store::memory::MemoryStore {
 public:
  Result<store::SearchPage> Search(const std::string& tenant,
                                   const store::TraceQuery& query) override {
    ++searches;
    return store::memory::MemoryStore::Search(tenant, query);
  }
  int searches = 0;
};

class ExplainRequestsTest : public ::testing::Test {
 protected:
  // Lines of one trace (model/testdata/README.md).
  TraceId Put(uint64_t id, const std::string& text) {
    EventLines lines(text);
    std::fill(lines.batch.trace_lo.begin(), lines.batch.trace_lo.end(), id);
    lines.batch.tenant = "default";
    EXPECT_TRUE(store_.AppendAndWait(std::move(lines.batch)).ok());
    return {0, id};
  }
  static SpanId Span(const std::string& word) { return {Words().Id(word)}; }
  static ExplainTarget Whole(TraceId id) {
    return {id, {{}, provenance::SpanSide::kStart}, {{}, provenance::SpanSide::kEnd}};
  }
  Result<ExplainedRequests> ExplainAll(const std::vector<ExplainTarget>& targets, BadTargets bad,
                                       const ExplainLimits& limits = {}) {
    ExplainTraces traces(context_, ClockMode::kAligned, one_way_, limits);
    std::vector<TraceId> ids;
    for (const ExplainTarget& target : targets) ids.push_back(target.trace);
    EXPECT_TRUE(traces.Read(ids).ok());
    return ExplainRequests(traces, asked_, targets, bad);
  }
  // Six requests that wait for 700 ms, each so long after the one before.
  std::vector<ExplainTarget> PutWaits(Nanos apart) {
    std::vector<ExplainTarget> targets;
    for (uint64_t i = 1; i <= 6; ++i) {
      const Nanos at = static_cast<Nanos>(i) * apart;
      const auto time = [&](Nanos t) { return std::to_string(at + t * kMilli); };
      targets.push_back(
          Whole(Put(i, "span page " + time(0) + ".." + time(900) +
                           " process=front kind=client\nspan get parent=page " + time(700) + ".." +
                           time(800) + " process=db kind=server\n")));
    }
    return targets;
  }
  static std::vector<std::string> Reasons(const ExplainedRequests& found) {
    std::vector<std::string> out;
    for (const SkippedRequest& one : found.skipped)
      out.push_back(std::to_string(one.trace.lo) + " " + std::string(SkipReasonName(one.reason)));
    return out;
  }

  CountingStore store_;
  AnswerContext context_{store_, "default", "", 1'000'000, {}, {}};
  OneWaySamples one_way_;
  ExplainQuestion asked_;
};

std::string Page(const std::string& more = "") {
  return "span page name=page 1000..2000 process=front kind=server\n"
         "span ask parent=page 1100..1900 process=front kind=client\n"
         "span get parent=ask 1700..1800 process=db kind=server" +
         more + "\n";
}

TEST_F(ExplainRequestsTest, ABadOneIsSkippedByName) {
  const TraceId good = Put(1, Page()), gone{0, 99}, other = Put(2, Page()), third = Put(3, Page());
  ExplainTarget no_span = Whole(other), unrelated = Whole(third);
  no_span.from.span = SpanId{77};
  unrelated.from = {Span("page"), provenance::SpanSide::kEnd};
  unrelated.to = {Span("get"), provenance::SpanSide::kStart};
  const auto found = ExplainAll({Whole(gone), Whole(good), no_span, unrelated}, BadTargets::kSkip);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->each.size(), 1u);
  EXPECT_EQ(found->targets[0].trace, good);
  EXPECT_THAT(Reasons(*found), ElementsAre("99 gone", "2 no_span", "3 unrelated"));
  const auto failed = ExplainAll({Whole(good), no_span}, BadTargets::kFail);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("no span 000000000000004d"));
  asked_.retain_from = 1'000'000;
  const auto old = ExplainAll({Whole(good)}, BadTargets::kSkip);
  ASSERT_TRUE(old.ok());
  EXPECT_THAT(Reasons(*old), ElementsAre("1 expired"));
}

TEST_F(ExplainRequestsTest, OneOfTheSlowestThatIsBadLeavesTheOthers) {
  Put(1, Page());
  // Its events begin at the time that stands for none.
  Put(2, "span page name=page -9223372036854775808..2000 process=front kind=server\n");
  Question question{"explain", "", {}};
  question.params.Add("service", "front");
  question.params.Add("operation", "page");
  question.params.Add("since", "-9223372036854775808");
  const auto answer = AnswerExplain(context_, question);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_THAT(answer->body, HasSubstr("\"reason\":\"refused\""));
  EXPECT_THAT(answer->body, HasSubstr("\"requests\":[\"00000000000000000000000000000001\"]"));
  question.params.Add("format", "text");
  EXPECT_THAT(AnswerExplain(context_, question)->body, HasSubstr("skipped: 1 refused"));
}

TEST_F(ExplainRequestsTest, RetentionIsHalfAnHourBeforeTheFirstPlaceAskedFrom) {
  // A job of hours; what is asked about is its last step, behind a lock that another has held for long.
  const Nanos hour = kHour;
  const auto at = [&](Nanos t) { return std::to_string(t); };
  const TraceId id =
      Put(1, "span job 0.." + at(5 * hour) + " process=mill\n" +
                 "span early parent=job 100..200 process=mill\n" + "span late parent=job " +
                 at(4 * hour) + ".." + at(5 * hour) + " process=mill\n");
  ExplainTarget target = Whole(id);
  target.from.span = Span("late");
  const auto found = ExplainAll({target}, BadTargets::kFail);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->retained_from, 4 * hour - 30 * kMinute);
  EXPECT_EQ(found->events_gone, 3);  // the input, the job's first stretch, the early step
  bool expired = false;
  for (const provenance::ExplanationVertex& v : found->each[0].vertices)
    expired = expired || v.expired;
  EXPECT_TRUE(expired);
  asked_.retention = 24 * hour;
  const auto whole = ExplainAll({target}, BadTargets::kFail);
  EXPECT_EQ(whole->events_gone, 0);
  const auto figures = [](const ExplainedRequests& of) {
    std::string out;
    for (const provenance::ExplanationVertex& v : of.each[0].vertices) {
      if (v.delay_ns > 0)
        out += fmt::format("{} {} {}\n", of.execution.str(of.execution.id[v.members[0]]),
                           v.delay_ns, v.self_ns);
    }
    return out;
  };
  EXPECT_EQ(figures(*found), figures(*whole));
}

TEST_F(ExplainRequestsTest, QueriesAreBoundedAndCounted) {
  // Each of the requests waits at another time at a server that tells nothing of itself.
  const std::vector<ExplainTarget> targets = PutWaits(10 * kMinute);
  ExplainLimits limits;
  limits.queries = 4;
  const auto found = ExplainAll(targets, BadTargets::kFail, limits);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->loaded.queries, 4);
  EXPECT_EQ(found->loaded.queries_left_out, 2);
  EXPECT_EQ(ExplainAll(targets, BadTargets::kFail)->loaded.queries_left_out, 0);
}

TEST_F(ExplainRequestsTest, WhatAServiceDidIsSearchedForOnce) {
  const std::vector<ExplainTarget> targets = PutWaits(30 * kSecond);
  const auto found = ExplainAll(targets, BadTargets::kFail);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->loaded.queries, 1);
  EXPECT_EQ(found->loaded.queries_left_out, 0);
  // Page by page, and what is beyond the limit is told: the six began after the one that is known no more.
  ExplainLimits limits;
  limits.traces = 2;
  limits.rows_a_query = 4;
  const auto cut = ExplainAll(targets, BadTargets::kFail, limits);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut->loaded.queries, 2);
  EXPECT_GT(cut->loaded.stretches_cut, 0);
  EXPECT_LT(cut->loaded.stretches_cut, 6);
}

TEST_F(ExplainRequestsTest, OneWayTimesAreSampledOnceForAQuestion) {
  const TraceId one = Put(1, Page()), other = Put(2, Page());
  ASSERT_TRUE(ExplainAll({Whole(one)}, BadTargets::kFail).ok());
  const int first = store_.searches;
  ASSERT_TRUE(ExplainAll({Whole(other)}, BadTargets::kFail).ok());
  // The neighbours are searched for again, the samples are not.
  EXPECT_EQ(store_.searches - first, first - 1);
}

TEST_F(ExplainRequestsTest, WhomASpanLinksToIsRead) {
  const TraceId id = Put(1, Page(" wherefore.arrival_ns=1200 link=2/feed"));
  Put(2, "span feed 1300..1700 process=farm link=3/seed\n");
  Put(3, "span seed 1250..1290 process=field\n");
  Put(4, "span other 1300..1700 process=farm\n");
  const auto found = ExplainAll({Whole(id)}, BadTargets::kFail);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->loaded.traces, 3);
  std::map<std::string, Nanos> self;
  for (const provenance::ExplanationVertex& v : found->each[0].vertices)
    self[std::string(found->execution.str(found->execution.node[v.members[0]]))] += v.self_ns;
  EXPECT_EQ(self["farm"], 400 + 10);  // and what was between the seed and it
  EXPECT_EQ(self["field"], 40 + 50);  // and until it came
}

}  // namespace
}  // namespace wf::answer
