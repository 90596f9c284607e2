#include "analysis/paths/nesting_stream.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/paths/testing_calls.h"

namespace wf::paths {
namespace {

using testing_calls::Trace;

// A chain of three with two parallel clients, long enough for many windows.
Trace LongTrace(int paths) {
  Trace trace;
  std::mt19937_64 random(11);
  Nanos at = 0;
  for (int i = 0; i < paths; ++i) {
    at += static_cast<Nanos>(random() % 40) * kMilli;
    const Nanos jitter = static_cast<Nanos>(random() % 3) * kMilli;
    trace.Add("A", "B", at, at + 60 * kMilli);
    trace.Add("B", "C", at + 10 * kMilli + jitter, at + 50 * kMilli);
    trace.Add("C", "D", at + 20 * kMilli + jitter, at + 30 * kMilli);
  }
  return trace;
}

std::vector<Call> ByReturn(std::vector<Call> calls) {
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) { return a.returned_ns < b.returned_ns; });
  return calls;
}

struct Collected {
  std::map<uint64_t, uint64_t> parent;  // by line; 0: none
  size_t largest = 0;
  uint64_t cut_short = 0;
};

Collected Stream(const std::vector<Call>& calls, size_t window) {
  Collected collected;
  NestingStream stream({}, window, [&](PathBatch& batch) {
    collected.largest = std::max(collected.largest, batch.calls.size());
    std::vector<uint32_t> walk(batch.roots.begin(), batch.roots.end());
    for (size_t i = 0; i < walk.size(); ++i) {
      const uint32_t parent = batch.decisions.parent[walk[i]];
      const bool fresh = collected.parent
                             .emplace(batch.calls[walk[i]].place.line,
                                      parent == kNoParent ? 0 : batch.calls[parent].place.line)
                             .second;
      EXPECT_TRUE(fresh) << "a call left twice";
      for (const uint32_t kid : batch.forest.KidsOf(walk[i])) walk.push_back(kid);
    }
  });
  for (const Call& call : calls) stream.Add(call);
  stream.Finish();
  collected.cut_short = stream.cut_short();
  return collected;
}

TEST(NestingStream, ATraceThatFitsIsDecidedAsAWhole) {
  const Trace trace = LongTrace(300);
  const std::vector<Assignment> whole = NestCalls(trace.calls, {});
  const Collected stream = Stream(ByReturn(trace.calls), 10'000);
  ASSERT_EQ(stream.parent.size(), trace.calls.size());
  for (uint32_t i = 0; i < trace.calls.size(); ++i) {
    const uint64_t expected = whole[i].parent == kNoParent ? 0 : whole[i].parent + 1;
    EXPECT_EQ(stream.parent.at(i + 1), expected);
  }
}

TEST(NestingStream, ALongTraceIsDecidedInBoundedRoom) {
  const Trace trace = LongTrace(10'000);
  const Collected stream = Stream(ByReturn(trace.calls), 2'000);
  ASSERT_EQ(stream.parent.size(), trace.calls.size());
  EXPECT_LE(stream.largest, 2'000u);
  EXPECT_EQ(stream.cut_short, 0u);
  size_t right = 0;
  for (uint64_t line = 1; line <= trace.calls.size(); ++line)
    right += stream.parent.at(line) == (line % 3 == 1 ? 0 : line - 1);
  // As right as the whole, which learns from more.
  const std::vector<Assignment> whole = NestCalls(trace.calls, {});
  size_t whole_right = 0;
  for (uint32_t i = 0; i < trace.calls.size(); ++i)
    whole_right += whole[i].parent == (i % 3 == 0 ? kNoParent : i - 1);
  EXPECT_GE(right + trace.calls.size() / 100, whole_right);
}

TEST(NestingStream, APathLongerThanTheWindowLeavesInPieces) {
  Trace trace;
  trace.Add("A", "B", 0, 10'000 * kSecond);
  for (Nanos i = 1; i < 5'000; ++i) trace.Add("B", "C", i * kSecond, i * kSecond + kMilli);
  const Collected stream = Stream(ByReturn(trace.calls), 100);
  EXPECT_EQ(stream.parent.size(), trace.calls.size());  // nothing is lost
  EXPECT_LE(stream.largest, 100u);
}

}  // namespace
}  // namespace wf::paths
