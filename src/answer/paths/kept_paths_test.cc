#include "answer/paths/kept_paths.h"

#include <gtest/gtest.h>

#include "answer/paths/paths_output.h"
#include "store/memory/memory_store.h"

namespace wf::answer {
namespace {

// A store in which something happens while messages are read.
class BusyStore : public store::memory::MemoryStore {
 public:
  Result<std::vector<Message>> ReadMessages(const std::string& tenant,
                                            store::TimeRange time) override {
    auto messages = store::memory::MemoryStore::ReadMessages(tenant, time);
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return messages;
  }
  Result<store::MessagesDigest> DigestMessages(const std::string& tenant,
                                               store::TimeRange time) override {
    const auto later = std::exchange(meanwhile, nullptr);
    auto digest = store::memory::MemoryStore::DigestMessages(tenant, time);
    meanwhile = later;
    return digest;
  }
  std::function<void()> meanwhile;
};

class KeptPathsTest : public ::testing::Test {
 protected:
  void AddCall(Nanos at, const std::string& id, const std::string& tenant = "default") {
    const std::vector<Message> call = {{at, "CALL", "A", "B", id}, {at + 50, "RET", "B", "A", id}};
    ASSERT_TRUE(store_.AppendMessages(tenant, call).ok());
  }
  using Flags = std::vector<std::pair<std::string, std::string>>;
  std::string Ask(const Flags& flags, const std::string& tenant = "default") {
    return AskOf(&kept_, flags, tenant);
  }
  std::string Fresh(const Flags& flags) { return AskOf(nullptr, flags, "default"); }
  std::string AskOf(KeptPaths* kept, const Flags& flags, const std::string& tenant) {
    AnswerContext context{store_, tenant, "", kSecond, nullptr, {}};
    context.kept_paths = kept;
    const auto answer = AnswerPaths(context, {"paths", "", Params(flags)});
    return answer.ok() ? answer->body : answer.error().message;
  }
  uint64_t made() const { return kept_.counts().made; }

  BusyStore store_;
  KeptPaths kept_;
};

TEST_F(KeptPathsTest, TheSameMessagesAreInferredOnce) {
  AddCall(1000, "1");
  AddCall(2000, "2");
  for (const Flags& flags : {Flags{}, Flags{}, Flags{{"sort", "count"}}, Flags{{"top", "1"}},
                             Flags{{"format", "text"}}, Flags{{"format", "svg"}}})
    EXPECT_EQ(Ask(flags), Fresh(flags));
  EXPECT_EQ(made(), 1u);
  EXPECT_EQ(kept_.counts().reused, 5u);
  EXPECT_GT(kept_.counts().bytes, 500u);
}

TEST_F(KeptPathsTest, WhatChangesTheFindingsIsInferredAnew) {
  AddCall(1000, "1");
  for (const Flags& flags : {Flags{}, Flags{{"algorithm", "nesting"}},
                             Flags{{"algorithm", "linking"}}, Flags{{"histogram", "true"}}}) {
    const uint64_t before = made();
    EXPECT_EQ(Ask(flags), Fresh(flags));
    EXPECT_EQ(made(), before + 1);
  }
}

TEST_F(KeptPathsTest, NewMessagesAreSeenAtOnce) {
  AddCall(1000, "1");
  const std::string one = Ask({});
  AddCall(2000, "2");
  const std::string two = Ask({});
  EXPECT_NE(two, one);
  EXPECT_EQ(two, Fresh({}));
  EXPECT_EQ(made(), 2u);
  AddCall(2000, "2");  // that is there already
  EXPECT_EQ(Ask({}), two);
  EXPECT_EQ(made(), 2u);
}

TEST_F(KeptPathsTest, WhatLiesInTheTimeCountsAndNotTheTime) {
  AddCall(1000, "1");
  AddCall(9000, "2");
  const std::string one = Ask({{"until", "1970-01-01T00:00:00.000005Z"}});
  EXPECT_EQ(Ask({{"until", "1970-01-01T00:00:00.000006Z"}}), one);
  EXPECT_EQ(made(), 1u);
  EXPECT_NE(Ask({}), one);
  EXPECT_EQ(made(), 2u);
}

TEST_F(KeptPathsTest, TenantsDoNotSeeEachOthers) {
  AddCall(1000, "1");
  (void)Ask({});
  EXPECT_EQ(Ask({}, "other"), "no messages in that time range");
  AddCall(1000, "1", "other");
  (void)Ask({}, "other");
  EXPECT_EQ(kept_.counts().results, 2u) << "not even the same messages";
}

TEST_F(KeptPathsTest, WhatChangedWhileItWasReadIsNotKept) {
  AddCall(1000, "1");
  store_.meanwhile = [&] { AddCall(2000, "2"); };
  (void)Ask({});
  EXPECT_EQ(kept_.counts().results, 0u);
  EXPECT_EQ(Ask({}), Fresh({}));
}

}  // namespace
}  // namespace wf::answer
