#include "pipeline/inferred_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/trace_builder.h"

namespace wf::pipeline {
namespace {

using ::testing::ElementsAre;

class InferredTraces : public ::testing::Test {
 protected:
  uint32_t Add(const char* caller, const char* callee, Nanos sent, Nanos received, Nanos replied,
               Nanos returned, paths::Assignment assignment = {}) {
    paths::Call call;
    call.place = {1, calls_.size() + 1};
    call.caller = nodes_.Intern(caller);
    call.callee = nodes_.Intern(callee);
    call.sent_ns = sent, call.received_ns = received;
    call.replied_ns = replied, call.returned_ns = returned;
    calls_.push_back(call);
    assignments_.push_back(assignment);
    return static_cast<uint32_t>(calls_.size() - 1);
  }
  std::vector<EventBatch> Write(size_t max_rows = 1000) {
    std::vector<EventBatch> batches;
    const auto counts =
        WriteInferredTraces(calls_, assignments_, nodes_, max_rows, [&](EventBatch&& batch) {
          batches.push_back(std::move(batch));
          return Status();
        });
    EXPECT_TRUE(counts.ok());
    counts_ = *counts;
    return batches;
  }
  // "kind service name start-end", of every row.
  static std::vector<std::string> Rows(const EventBatch& b) {
    std::vector<std::string> rows;
    for (size_t i = 0; i < b.size(); ++i) {
      rows.push_back(std::string(b.kind[i] == SpanKind::kServer ? "server " : "client ") +
                     std::string(b.str(b.processes[b.process[i]].service)) + ": " +
                     std::string(b.str(b.name[i])) + " " + std::to_string(b.start_ns[i]) + "-" +
                     std::to_string(b.end_ns[i]));
    }
    return rows;
  }

  StringTable nodes_;
  std::vector<paths::Call> calls_;
  std::vector<paths::Assignment> assignments_;
  InferredTraceCounts counts_;
};

TEST_F(InferredTraces, APathIsOneTraceWithBothEndsOfEachCall) {
  const uint32_t root = Add("A", "B", 1, 2, 20, 21);
  Add("B", "C", 3, 4, 6, 7, {root, 0.5, {}});
  Add("B", "D", 8, 9, 11, 12, {root, 1, {}});
  const auto batches = Write();
  ASSERT_EQ(batches.size(), 1u);
  const EventBatch& b = batches[0];
  EXPECT_THAT(Rows(b), ElementsAre("server B: request from A 2-20", "client B: call C 3-7",
                                   "server C: request from B 4-6", "client B: call D 8-12",
                                   "server D: request from B 9-11"));
  EXPECT_EQ(b.id2[0], 0u);
  EXPECT_EQ(b.id2[1], b.id1[0]);
  EXPECT_EQ(b.id2[2], b.id1[1]);
  EXPECT_EQ(b.id2[3], b.id1[0]);
  EXPECT_EQ(b.source_of(2), Source::kInferred);
  EXPECT_EQ(b.probability_of(2), 0.5f);
  EXPECT_EQ(counts_.traces, 1u);
  EXPECT_EQ(counts_.spans, 5u);
  // Nothing of it needs a repair when it is modeled.
  const Trace trace = BuildTrace(b, {0, 1, 2, 3, 4});
  for (const int64_t repairs : trace.repair_counts) EXPECT_EQ(repairs, 0);
}

TEST_F(InferredTraces, TheSameMessagesGiveTheSameIds) {
  Add("A", "B", 1, 1, 9, 9);
  Add("A", "B", 1, 1, 9, 9);  // another request, at the same time
  const auto first = Write(), second = Write();
  EXPECT_EQ(first[0].id1, second[0].id1);
  EXPECT_EQ(first[0].trace_lo, second[0].trace_lo);
  EXPECT_NE(first[0].trace_lo[0], first[0].trace_lo[1]);
}

TEST_F(InferredTraces, ACallWithoutAReturnIsCountedAndWhatHangsBelowItStaysAPath) {
  const uint32_t lost = Add("A", "B", 1, 1, 1, 1);
  calls_.back().returned = false;
  Add("B", "C", 3, 3, 6, 6, {lost, 1, {}});
  EXPECT_THAT(Rows(Write()[0]), ElementsAre("server C: request from B 3-6"));
  EXPECT_EQ(counts_.unreturned, 1u);
  EXPECT_EQ(counts_.traces, 1u);
}

TEST_F(InferredTraces, BatchesEndBetweenTraces) {
  for (int i = 0; i < 5; ++i) {
    const uint32_t root = Add("A", "B", i * 10, i * 10, i * 10 + 9, i * 10 + 9);
    Add("B", "C", i * 10 + 1, i * 10 + 1, i * 10 + 2, i * 10 + 2, {root, 1, {}});
  }
  const auto batches = Write(4);
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[0].size(), 6u);
  EXPECT_EQ(batches[2].size(), 3u);
  EXPECT_EQ(batches[1].str(batches[1].processes[batches[1].process[0]].service), "B");
}

}  // namespace
}  // namespace wf::pipeline
