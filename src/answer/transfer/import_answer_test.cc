#include "answer/transfer/import_answer.h"

#include <gtest/gtest.h>

#include "pipeline/import_job.h"
#include "store/memory/memory_store.h"

namespace wf::answer {
namespace {

constexpr char kSpan[] =
    R"([{"traceId":"00000000000000000000000000000001","id":"0000000000000002","name":"get",)"
    R"("timestamp":1000000,"duration":10,"localEndpoint":{"serviceName":"front"}}])";

// Refuses the first appends, as a store does whose queue is full.
class BusyStore : public store::memory::MemoryStore {
 public:
  explicit BusyStore(int refusals, ErrorCode code = ErrorCode::kOverloaded)
      : refusals_(refusals), code_(code) {}
  void Append(EventBatch batch, Done done) override {
    ++appends;
    if (refusals_-- > 0) return done(Error{code_, "not now", "come again"});
    store::memory::MemoryStore::Append(std::move(batch), std::move(done));
  }
  int appends = 0;

 private:
  int refusals_;
  ErrorCode code_;
};

Result<Answer> Import(store::Store& store) {
  return AnswerImport({store, "default", "", 0, {}, {}}, Params(), kSpan);
}

TEST(ImportAnswer, AnOverloadedStoreIsTriedAgain) {
  BusyStore store(3);
  const auto answer = Import(store);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(store.appends, 4);
  const auto report = pipeline::ParseImportReport(answer->body);
  EXPECT_EQ(report->spans, 1);
  EXPECT_EQ(report->duplicates, 0);
  EXPECT_EQ(store.ReadTrace("default", {0, 1})->size(), 1u);
}

// `first` to `last`: spans of trace 1.
std::string Spans(int first, int last) {
  std::string out;
  for (int id = first; id <= last; ++id) {
    out += (out.empty() ? "[" : ",") +
           (R"({"traceId":"00000000000000000000000000000001","id":"00000000000000)" +
            std::to_string(10 + id) + R"(","name":"get","timestamp":1000000,"duration":10,)") +
           R"("localEndpoint":{"serviceName":"front"}})";
  }
  return out + "]";
}

TEST(ImportAnswer, OfATraceThatIsTooLongNoMoreIsStored) {
  store::memory::MemoryStore store;
  const auto blacklist = pipeline::Blacklist::Open("");
  const pipeline::TraceLimits limits{blacklist->get(), 5};
  const auto run = [&](const std::string& content) {
    pipeline::ImportJob job(store, "default", {}, limits);
    EXPECT_TRUE(job.AddContent("upload", content).ok());
    return job.Finish().value();
  };
  const pipeline::ImportReport whole = run(Spans(1, 5));
  EXPECT_EQ(whole.rejected, 0);
  EXPECT_EQ((*blacklist)->size(), 0u);
  // The sixth is one too many, and the last that is stored: from then on the trace is refused.
  const pipeline::ImportReport beyond = run(Spans(1, 9));
  EXPECT_EQ(beyond.spans, 1);
  EXPECT_EQ(beyond.duplicates, 5);
  EXPECT_EQ(beyond.rejected, 3);
  EXPECT_EQ(beyond.reasons, (std::map<std::string, int64_t>{{"trace_too_long", 3}}));
  EXPECT_EQ(store.ReadTrace("default", {0, 1})->size(), 6u);
  EXPECT_TRUE((*blacklist)->Lists({"default", {0, 1}}));
  EXPECT_EQ((*blacklist)->dropped(), 3);
}

TEST(ImportAnswer, ATraceThatReceiversRefuseIsRefusedHereToo) {
  store::memory::MemoryStore store;
  const auto blacklist = pipeline::Blacklist::Open("");
  ASSERT_TRUE((*blacklist)->Add({"default", {0, 1}}).ok());
  pipeline::ImportJob job(store, "default", {}, {blacklist->get(), 1000});
  ASSERT_TRUE(job.AddContent("upload", Spans(1, 2)).ok());
  EXPECT_EQ(job.Finish()->rejected, 2);
  EXPECT_TRUE(store.ReadTrace("default", {0, 1})->empty());
}

// One look-up and one append for all of them: a database takes a few inserts a second.
TEST(ImportAnswer, SmallFilesAreKeptTogether) {
  BusyStore store(0);
  pipeline::ImportJob job(store, "default", {});
  for (int file = 1; file <= 80; ++file)
    ASSERT_TRUE(job.AddContent("file", Spans(file, file + 1)).ok());
  const auto report = job.Finish();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(store.appends, 1);
  EXPECT_EQ(report->files, 80);
  EXPECT_EQ(report->spans, 81);
  EXPECT_EQ(report->duplicates, 79);
  EXPECT_EQ(store.ReadTrace("default", {0, 1})->size(), 81u);
}

TEST(ImportAnswer, WhatCameBeforeAFileThatFailsIsKept) {
  BusyStore store(0);
  pipeline::ImportJob job(store, "default", {});
  ASSERT_TRUE(job.AddContent("good", Spans(1, 3)).ok());
  EXPECT_FALSE(job.AddContent("bad", "this is no trace").ok());
  EXPECT_EQ(store.ReadTrace("default", {0, 1})->size(), 3u);
}

TEST(ImportAnswer, OtherFailuresAreNot) {
  BusyStore store(1, ErrorCode::kEnvironment);
  EXPECT_FALSE(Import(store).ok());
  EXPECT_EQ(store.appends, 1);
}

}  // namespace
}  // namespace wf::answer
