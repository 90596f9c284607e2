#include "server/self_trace.h"

#include <gtest/gtest.h>

namespace wf::server {
namespace {

class Kept {
 public:
  EventSink sink() {
    return [this](EventBatch batch, const std::function<void(Status)>& done) {
      {
        const std::lock_guard lock(mutex_);
        for (size_t row = 0; row < batch.size(); ++row) {
          names_.emplace_back(batch.str(batch.name[row]));
          ids_.push_back(batch.trace_id(row));
          service_ = batch.str(batch.processes[batch.process[row]].service);
          if (batch.end_ns[row] < batch.start_ns[row]) ++backwards_;
        }
      }
      done({});
    };
  }
  std::vector<std::string> names_;
  std::vector<TraceId> ids_;
  std::string service_;
  int backwards_ = 0;

 private:
  std::mutex mutex_;
};

TEST(SelfTrace, AWorkIsASpanWithItsStepsAsChildren) {
  Kept kept;
  pipeline::Counters counters;
  SelfTrace trace({1.0, "host", "i", "all", 2000, 50}, kept.sink(), counters);
  {
    const OwnWorkPtr work = trace.Begin("GET /x", SpanKind::kServer);
    ASSERT_NE(work, nullptr);
    work->Step("wait");
    work->Step("answer");
    work->Note("bytes", "7");
  }
  trace.Stop();
  EXPECT_EQ(kept.names_, (std::vector<std::string>{"GET /x", "wait", "answer"}));
  EXPECT_EQ(kept.service_, "wherefore");
  EXPECT_EQ(kept.backwards_, 0);
  for (const TraceId& id : kept.ids_)
    EXPECT_TRUE(SelfTrace::IsOwn(id) && SelfTrace::IsOwn(ToHex(id)));
  EXPECT_EQ(counters.Named("self_trace_spans"), 3);
}

TEST(SelfTrace, IsOffWithoutAProbability) {
  Kept kept;
  pipeline::Counters counters;
  SelfTrace trace({}, kept.sink(), counters);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(trace.Begin("x", SpanKind::kServer), nullptr);
  trace.Stop();
  EXPECT_TRUE(kept.names_.empty());
}

TEST(SelfTrace, TakesAboutTheShareItIsTold) {
  Kept kept;
  pipeline::Counters counters;
  SelfTrace trace({0.1, "h", "i", "all", 1'000'000, 1'000'000}, kept.sink(), counters);
  for (int i = 0; i < 10'000; ++i) trace.Begin("x", SpanKind::kServer);
  trace.Stop();
  EXPECT_GT(kept.names_.size(), 800u);
  EXPECT_LT(kept.names_.size(), 1200u);
}

TEST(SelfTrace, WhatIsTooMuchIsDroppedAndCounted) {
  Kept kept;
  pipeline::Counters counters;
  SelfTrace trace({1.0, "h", "i", "all", 10, 1'000'000}, kept.sink(), counters);
  std::vector<OwnWorkPtr> works;
  for (int i = 0; i < 100; ++i) works.push_back(trace.Begin("x", SpanKind::kServer));
  works.clear();
  trace.Stop();
  // Its thread may have taken some away in between; each is kept or counted.
  EXPECT_GT(counters.Named("self_trace_dropped"), 0);
  EXPECT_EQ(static_cast<int64_t>(kept.names_.size()) + counters.Named("self_trace_dropped"), 100);

  SelfTrace slow({1.0, "h", "i", "all", 1000, 5}, kept.sink(), counters);
  int begun = 0;
  for (int i = 0; i < 100; ++i) begun += slow.Begin("x", SpanKind::kServer) != nullptr;
  EXPECT_LE(begun, 10) << "five a second, at most over a border between two";
  EXPECT_EQ(counters.Named("self_trace_not_begun"), 100 - begun);
}

// Writing the rows of own traces would otherwise give traces whose rows are written, for ever.
TEST(SelfTrace, WritingRowsOfOwnTracesIsNotTraced) {
  struct Rows : pipeline::RowSink {
    int writes = 0;
    Status Write(const std::string&, const std::string&, const DatasetTable&,
                 const std::vector<TraceId>&, store::TimeRange) override {
      ++writes;
      return {};
    }
  } rows;
  Kept kept;
  pipeline::Counters counters;
  SelfTrace trace({1.0, "h", "i", "all", 1000, 50}, kept.sink(), counters);
  const TraceId own{uint64_t{0x77687966} << 32 | 5, 7}, other{1, 2};
  const auto table = [](const std::vector<TraceId>& ids) {
    DatasetTable out;
    out.columns.push_back({FixedDatasetColumns()[0], {}, {}, {}, {}});
    for (const TraceId& id : ids) out.columns[0].AppendText(ToHex(id));
    return out;
  };
  TracedRowSink sink(rows, trace);
  ASSERT_TRUE(sink.Write("default", "traces", table({own}), {own}, {}).ok());
  ASSERT_TRUE(sink.Write("default", "traces", table({own, other}), {}, {}).ok());
  ASSERT_TRUE(sink.Write("default", "traces", table({own}), {other}, {}).ok());
  trace.Stop();
  EXPECT_EQ(rows.writes, 3);
  EXPECT_EQ(kept.names_.size(), 2u);
}

}  // namespace
}  // namespace wf::server
