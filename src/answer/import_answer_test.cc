#include "answer/import_answer.h"

#include <gtest/gtest.h>

#include "answer/testing/fake_store.h"

namespace wf {
namespace {

constexpr char kSpan[] =
    R"([{"traceId":"00000000000000000000000000000001","id":"0000000000000002","name":"get",)"
    R"("timestamp":1000000,"duration":10,"localEndpoint":{"serviceName":"front"}}])";

// Refuses the first appends, as a store does whose queue is full.
class BusyStore : public FakeStore {
 public:
  explicit BusyStore(int refusals, ErrorCode code = ErrorCode::kOverloaded)
      : refusals_(refusals), code_(code) {}
  void Append(EventBatch batch, Done done) override {
    ++appends;
    if (refusals_-- > 0) return done(Error{code_, "not now", "come again"});
    FakeStore::Append(std::move(batch), std::move(done));
  }
  int appends = 0;

 private:
  int refusals_;
  ErrorCode code_;
};

Result<Answer> Import(Store& store) {
  return AnswerImport({store, "default", "", 0, {}, {}}, Params(), kSpan);
}

TEST(ImportAnswer, AnOverloadedStoreIsTriedAgain) {
  BusyStore store(3);
  const auto answer = Import(store);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(store.appends, 4);
  const auto report = ParseImportReport(answer->body);
  EXPECT_EQ(report->spans, 1);
  EXPECT_EQ(report->duplicates, 0);
  EXPECT_EQ(store.ReadTrace("default", {0, 1})->size(), 1u);
}

TEST(ImportAnswer, OtherFailuresAreNot) {
  BusyStore store(1, ErrorCode::kEnvironment);
  EXPECT_FALSE(Import(store).ok());
  EXPECT_EQ(store.appends, 1);
}

}  // namespace
}  // namespace wf
