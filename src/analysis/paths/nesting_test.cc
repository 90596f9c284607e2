#include "analysis/paths/nesting.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "analysis/paths/delay_bins.h"
#include "analysis/paths/testing_calls.h"

namespace wf::paths {
namespace {

using testing_calls::Trace;

std::vector<uint32_t> Parents(const Trace& trace, const NestingOptions& options = {}) {
  std::vector<uint32_t> parents;
  for (const Assignment& one : NestCalls(trace.calls, options)) parents.push_back(one.parent);
  return parents;
}

constexpr uint32_t kRoot = kNoParent;

TEST(DelayBins, AreLog105OfMicroseconds) {
  const DelayBins& bins = DelayBins::Get();
  EXPECT_EQ(bins.Of(-5), 0);
  EXPECT_EQ(bins.Of(0), 0);
  EXPECT_EQ(bins.Of(1000), 0);
  EXPECT_EQ(bins.Of(1049), 0);
  EXPECT_EQ(bins.Of(1050), 1);
  EXPECT_EQ(bins.Of(2 * kHour), DelayBins::kCount - 1);
  EXPECT_EQ(bins.Of(INT64_MAX), DelayBins::kCount - 1);
  for (int bin = 1; bin < DelayBins::kCount; ++bin) {
    EXPECT_EQ(bins.Of(bins.From(bin)), bin);
    EXPECT_EQ(bins.Of(bins.From(bin) - 1), bin - 1);
    EXPECT_NEAR(static_cast<double>(bins.From(bin)), 1000 * std::pow(1.05, bin), 1.0);
  }
}

// Figure 3 of the paper.
TEST(Nesting, ACallThatCallsTwoInTurn) {
  Trace trace;
  trace.Add("A", "B", 1, 11);
  trace.Add("B", "C", 3, 5);
  trace.Add("B", "D", 7, 9);
  EXPECT_EQ(Parents(trace), (std::vector<uint32_t>{kRoot, 0, 0}));
}

TEST(Nesting, ComparisonsAreInclusive) {
  Trace trace;
  trace.Add("A", "B", 10, 20);
  trace.Add("B", "C", 10, 20);
  trace.Add("B", "C", 9, 12);
  trace.Add("B", "C", 12, 21);
  NestingOptions options;
  EXPECT_EQ(Parents(trace, options), (std::vector<uint32_t>{kRoot, 0, kRoot, kRoot}));
  options.skew_window = 1;
  EXPECT_EQ(Parents(trace, options), (std::vector<uint32_t>{kRoot, 0, 0, 0}));
}

// Figure 5: the medium delay is the frequent one.
TEST(Nesting, ParallelCallsByTheFrequentDelay) {
  Trace trace;
  trace.Add("A", "B", 0 * kMilli, 100 * kMilli);
  trace.Add("A", "B", 10 * kMilli, 110 * kMilli);
  trace.Add("B", "C", 30 * kMilli, 60 * kMilli);
  trace.Add("B", "C", 40 * kMilli, 70 * kMilli);
  EXPECT_EQ(Parents(trace), (std::vector<uint32_t>{kRoot, kRoot, 0, 1}));
}

TEST(Nesting, TiesGoToTheEarliestParent) {
  Trace trace;
  trace.Add("A", "B", 0, 100 * kMilli);
  trace.Add("A", "B", 0, 100 * kMilli);
  trace.Add("B", "C", 30 * kMilli, 40 * kMilli);
  EXPECT_EQ(Parents(trace)[2], 0u);
}

TEST(Nesting, AnOverlappingSiblingTakesThreeQuartersOff) {
  Trace trace;
  trace.Add("A", "B", 0, 100 * kMilli);
  trace.Add("A", "B", 0, 100 * kMilli);
  trace.Add("B", "C", 30 * kMilli, 40 * kMilli);
  trace.Add("B", "C", 30 * kMilli, 40 * kMilli);
  NestingOptions options;
  options.candidates = 3;
  const std::vector<Assignment> found = NestCalls(trace.calls, options);
  EXPECT_EQ(found[2].parent, 0u);
  EXPECT_DOUBLE_EQ(found[2].p, 0.5);
  EXPECT_EQ(found[3].parent, 1u);
  EXPECT_FLOAT_EQ(static_cast<float>(found[3].p), 0.8f);  // 1 against (1 + 1)^-2
  ASSERT_EQ(found[3].others.size(), 1u);
  EXPECT_EQ(found[3].others[0].parent, 0u);
  EXPECT_NEAR(found[3].others[0].p, 0.2, 1e-9);
}

TEST(Nesting, CallsWithoutAReturnTakeNoPart) {
  Trace trace;
  trace.Add("A", "B", 1, 11).returned = false;
  trace.Add("B", "C", 3, 5);
  trace.Add("A", "B", 2, 12);
  trace.Add("B", "C", 4, 6).returned = false;
  EXPECT_EQ(Parents(trace), (std::vector<uint32_t>{kRoot, 2, kRoot, kRoot}));
}

TEST(Nesting, ParallelismCountsCandidatesOfThoseThatHaveAny) {
  Trace trace;
  trace.Add("A", "B", 0, 100);
  trace.Add("A", "B", 10, 100);
  trace.Add("B", "C", 5, 6);    // one candidate
  trace.Add("B", "C", 20, 30);  // two
  trace.Add("B", "C", 20, 30);
  NestingCounts counts;
  NestCalls(trace.calls, {}, &counts);
  EXPECT_EQ(counts.children, 3u);
  EXPECT_DOUBLE_EQ(counts.Parallelism(), 5.0 / 3);
}

// 1/2 + 1/3 + 1/7 and 1/3 + 1/7 + 1/2 are not the same number to a machine, and still a tie.
TEST(Nesting, ScoresThatDifferByRoundingAreATie) {
  Trace trace;
  Nanos now = 0;
  // A child that has `candidates` parents, one of them `delay` before it and the others at delays nothing else has.
  Nanos filler = kMinute;
  const auto add = [&](int candidates, Nanos delay) {
    now += 3 * kHour;
    trace.Add("A", "B", now - delay, now + kSecond);
    for (int i = 1; i < candidates; ++i, filler += filler / 10)
      trace.Add("A", "B", now - filler, now + kSecond);
    trace.Add("B", "C", now, now + kSecond);
  };
  const Nanos early = 2 * kSecond, late = kSecond;
  for (const int candidates : {2, 3, 7}) add(candidates, early);
  for (const int candidates : {3, 7, 2}) add(candidates, late);
  now += 3 * kHour;
  trace.Add("A", "B", now - early, now + kSecond);
  trace.Add("A", "B", now - late, now + kSecond);
  trace.Add("B", "C", now, now + kSecond);
  const uint32_t child = static_cast<uint32_t>(trace.calls.size() - 1);
  EXPECT_EQ(Parents(trace)[child], child - 2);
}

TEST(Nesting, CallsThatLieInEachOtherAreCut) {
  Trace trace;
  trace.Add("A", "B", 10, 20);
  trace.Add("B", "A", 10, 20);
  NestingCounts counts;
  const std::vector<Assignment> found = NestCalls(trace.calls, {}, &counts);
  EXPECT_EQ(found[0].parent, kRoot);
  EXPECT_EQ(found[1].parent, 0u);
  EXPECT_EQ(counts.cycles, 1u);
}

TEST(Nesting, ACallToOneselfIsNotItsOwnParent) {
  Trace trace;
  trace.Add("A", "A", 10, 20);
  trace.Add("A", "A", 12, 18);
  EXPECT_EQ(Parents(trace), (std::vector<uint32_t>{kRoot, 0}));
}

TEST(Nesting, SkewOfLessThanTheWindowIsForgiven) {
  // B's clock is 3 ms behind: its calls to C seem to leave before A's calls arrive.
  Trace trace;
  for (Nanos i = 0; i < 20; ++i) {
    Call& call = trace.Add("A", "B", i * kSecond, i * kSecond + 40 * kMilli);
    call.own_received = call.own_replied = false;  // sighted by A only
    Call& child = trace.Add("B", "C", i * kSecond - 1 * kMilli, i * kSecond + 10 * kMilli);
    child.sent_ns = i * kSecond - 2 * kMilli;
  }
  NestingOptions options;
  options.after_reply = 0;
  EXPECT_EQ(Parents(trace, options)[1], kRoot);
  options.skew_window = 5 * kMilli;
  const std::vector<uint32_t> parents = Parents(trace, options);
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(parents[2 * i + 1], 2 * i);
}

TEST(Nesting, CallsAfterTheReplyBelongToIt) {
  Trace trace;
  for (Nanos i = 0; i < 50; ++i) {
    const Nanos at = i * 100 * kMilli + (i * i % 37) * kMilli;
    trace.Add("A", "B", at, at + 10 * kMilli);
    trace.Add("B", "C", at + 15 * kMilli, at + 20 * kMilli);
  }
  NestingCounts counts;
  const std::vector<Assignment> found = NestCalls(trace.calls, {}, &counts);
  for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(found[2 * i + 1].parent, 2 * i);
  EXPECT_EQ(counts.after_reply, 50u);
  NestingOptions off;
  off.after_reply = 0;
  EXPECT_EQ(Parents(trace, off)[1], kRoot);
}

TEST(Nesting, AHeartbeatHasNoCause) {
  Trace trace;
  Nanos at = 0;
  for (Nanos i = 0; i < 400; ++i) {
    at += (5 + (i * 7919) % 29) * kMilli;
    trace.Add("A", "B", at, at + kMilli);
  }
  for (Nanos i = 1; i * 53 * kMilli < at; ++i)
    trace.Add("B", "C", i * 53 * kMilli, i * 53 * kMilli + 2 * kMilli);
  const std::vector<uint32_t> parents = Parents(trace);
  for (uint32_t i = 400; i < parents.size(); ++i) EXPECT_EQ(parents[i], kRoot) << i;
}

TEST(Nesting, AParentThatWasLostIsNotReplaced) {
  // Of 200 calls into B one was lost: its child nests in nothing, and belongs to nobody.
  Trace trace;
  for (Nanos i = 0; i < 200; ++i) {
    const Nanos at = i * 20 * kMilli;
    trace.Add("A", "B", at, at + 10 * kMilli).returned = i != 100;
    trace.Add("B", "C", at + 2 * kMilli, at + 8 * kMilli);
  }
  const std::vector<uint32_t> parents = Parents(trace);
  for (uint32_t i = 0; i < 200; ++i) EXPECT_EQ(parents[2 * i + 1], i == 100 ? kRoot : 2 * i) << i;
}

TEST(Nesting, PathsThatAreKnownAreKept) {
  Trace trace;
  trace.Add("A", "B", 0, 100 * kMilli).path = 7;
  trace.Add("A", "B", 0, 100 * kMilli).path = 8;
  trace.Add("B", "C", 30 * kMilli, 40 * kMilli).path = 8;
  NestingOptions options;
  options.rule = CandidateRule::kSamePath;
  EXPECT_EQ(Parents(trace, options)[2], 1u);
}

// The algorithm as the paper writes it down, without a thought of speed.
std::vector<uint32_t> NestNaively(const std::vector<Call>& calls, const NestingOptions& o) {
  std::vector<uint32_t> by_time(calls.size());
  std::iota(by_time.begin(), by_time.end(), 0u);
  std::sort(by_time.begin(), by_time.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(calls[a].sent_ns, calls[a].place.line) <
           std::tuple(calls[b].sent_ns, calls[b].place.line);
  });
  const auto candidates_of = [&](uint32_t c) {
    std::vector<uint32_t> found;
    const Call& child = calls[c];
    for (uint32_t p = 0; p < calls.size(); ++p) {
      const Call& parent = calls[p];
      if (p != c && parent.returned && parent.callee == child.caller &&
          parent.received_ns <= child.sent_ns + o.skew_window &&
          parent.replied_ns + o.skew_window >= child.returned_ns)
        found.push_back(p);
    }
    std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(calls[a].received_ns, calls[a].place.line) <
             std::tuple(calls[b].received_ns, calls[b].place.line);
    });
    return found;
  };
  std::map<std::tuple<NodeId, NodeId, NodeId, int>, double> board;
  const auto key = [&](uint32_t p, uint32_t c) {
    return std::tuple(calls[p].caller, calls[c].caller, calls[c].callee,
                      DelayBins::Get().Of(calls[c].sent_ns - calls[p].received_ns));
  };
  for (const uint32_t c : by_time) {
    if (!calls[c].returned) continue;
    const auto parents = candidates_of(c);
    for (const uint32_t p : parents) board[key(p, c)] += 1.0 / static_cast<double>(parents.size());
  }
  std::vector<uint32_t> chosen(calls.size(), kNoParent);
  std::map<uint32_t, std::vector<uint32_t>> children;
  for (const uint32_t c : by_time) {
    if (!calls[c].returned) continue;
    double max_score = 0;
    for (const uint32_t p : candidates_of(c)) {
      int overlap = 0, same = 0, any = 0;
      for (const uint32_t k : children[p]) {
        overlap +=
            calls[k].returned_ns > calls[c].sent_ns && calls[c].returned_ns > calls[k].sent_ns;
        same += calls[k].callee == calls[c].callee;
        ++any;
      }
      double score = board[key(p, c)] * std::pow(1 + overlap, -o.overlap_penalty);
      if (o.same_penalty != 0) score *= std::pow(1 + same, -o.same_penalty);
      if (o.any_penalty != 0) score *= std::pow(1 + any, -o.any_penalty);
      if (score > max_score * (1 + 1e-9)) {
        max_score = score;
        chosen[c] = p;
      }
    }
    if (chosen[c] != kNoParent) children[chosen[c]].push_back(c);
  }
  return chosen;
}

bool HasCycle(const std::vector<uint32_t>& parents) {
  for (uint32_t start = 0; start < parents.size(); ++start) {
    uint32_t at = start;
    for (size_t steps = 0; at != kNoParent; at = parents[at])
      if (++steps > parents.size()) return true;
  }
  return false;
}

TEST(Nesting, DecidesAsThePaperDoes) {
  rc::check([] {
    Trace trace;
    const auto size = *rc::gen::inRange(0, 40);
    for (int i = 0; i < size; ++i) {
      const std::string caller(1, static_cast<char>('A' + *rc::gen::inRange(0, 4)));
      const std::string callee(1, static_cast<char>('A' + *rc::gen::inRange(0, 4)));
      const Nanos sent = *rc::gen::inRange(0, 60) * kMilli;
      Call& call = trace.Add(caller, callee, sent, sent + *rc::gen::inRange(0, 40) * kMilli);
      call.returned = *rc::gen::inRange(0, 10) != 0;
      // The callee's own sighting: a clock of its own.
      if (*rc::gen::inRange(0, 3) == 0) call.received_ns += *rc::gen::inRange(-2, 3) * kMilli;
    }
    NestingOptions options;
    options.after_reply = 0;
    options.smoothing = 0;
    options.skew_window = *rc::gen::element<Nanos>(0, 0, kMilli, 5 * kMilli);
    options.same_penalty = *rc::gen::element(0.0, 0.0, 1.0, 0.5);
    options.any_penalty = *rc::gen::element(0.0, 0.0, 1.0);
    const std::vector<uint32_t> expected = NestNaively(trace.calls, options);
    const std::vector<uint32_t> found = Parents(trace, options);
    RC_ASSERT(!HasCycle(found));
    if (!HasCycle(expected)) RC_ASSERT(found == expected);
  });
}

TEST(Nesting, SmoothingKeepsThePeakAndSpreadsIt) {
  Trace trace;
  // Half of the delays are 10 ms, half 10.6 ms: two bins; unsmoothed a delay of 10.3 ms in between scores nothing.
  for (Nanos i = 0; i < 100; ++i) {
    const Nanos at = i * kSecond;
    trace.Add("A", "B", at, at + 100 * kMilli);
    trace.Add("B", "C", at + (i % 2 == 0 ? 10'000 : 11'100) * kMicro, at + 50 * kMilli);
  }
  const Nanos at = 200 * kSecond;
  trace.Add("A", "B", at - 30 * kMilli, at + 100 * kMilli);
  trace.Add("A", "B", at, at + 100 * kMilli);
  trace.Add("B", "C", at + 10'550 * kMicro, at + 50 * kMilli);
  NestingOptions options;
  EXPECT_EQ(Parents(trace, options).back(), 200u);  // nothing speaks for the second: a tie
  options.smoothing = 4;
  EXPECT_EQ(Parents(trace, options).back(), 201u);
}

}  // namespace
}  // namespace wf::paths
