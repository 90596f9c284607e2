#include "pipeline/trigger.h"

#include <gtest/gtest.h>

#include "store/batch_builder.h"

namespace wf::pipeline {
namespace {

TEST(TriggerTest, TextsAreReadAndWrittenAlike) {
  for (const char* text :
       {"live 10s after last within 1m", "any 10m after first", "build 1d after first limit 7d",
        "browser 10m after first when service=browser*",
        "x 1500ms after last when name=GET /a b"}) {
    const auto trigger = ParseTrigger(text);
    ASSERT_TRUE(trigger.ok()) << text;
    EXPECT_EQ(TriggerText(*trigger), text);
  }
}

TEST(TriggerTest, BadTextsNameTheFault) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no name"},
      {"live", "timeout"},
      {"live soon after last", "timeout"},
      {"live 10s before last", "\"after\""},
      {"live 10s after lunch", "\"first\" or \"last\""},
      {"live 10s after last within", "within"},
      {"live 10s after last often", "\"often\""},
      {"live 10s after last when service", "KEY=VALUE"},
      {"live -3s after last", "the timeout"},
  };
  for (const auto& [text, fault] : cases) {
    const auto trigger = ParseTrigger(text);
    ASSERT_FALSE(trigger.ok()) << text;
    EXPECT_NE(trigger.error().message.find(fault), std::string::npos) << trigger.error().message;
    EXPECT_FALSE(trigger.error().hint.empty());
  }
}

TEST(TriggerTest, LastEventWithinALimitOfTheFirst) {
  const Trigger live = *ParseTrigger("live 10s after last within 60s");
  EXPECT_EQ(live.ReadyAt(0, 0), 10 * kSecond);
  EXPECT_EQ(live.ReadyAt(0, 30 * kSecond), 40 * kSecond);
  EXPECT_EQ(live.ReadyAt(0, 55 * kSecond), 60 * kSecond);
  const Trigger first = *ParseTrigger("any 10m after first");
  EXPECT_EQ(first.ReadyAt(0, 5 * kMinute), 10 * kMinute);
}

TEST(TriggerTest, PatternsOnProcessEventAndAttributes) {
  std::vector<Trigger> triggers;
  for (const char* text :
       {"all 1s after last", "shop 1s after last when service=shop*",
        "eu 1s after last when zone=eu", "get 1s after last when name=GET *",
        "slow 1s after last when tier=3", "server 1s after last when kind=server",
        "span 1s after last when type=span"})
    triggers.push_back(*ParseTrigger(text));
  store::BatchBuilder b;
  b.Process("shop-cart", "h", {{"zone", "eu"}}).Span({1, 1}, 1, 0, 5, 5, "GET /").Int("tier", 3);
  b.Process("mail").Span({1, 1}, 2, 1, 5, 5, "POST /").Kind(SpanKind::kServer).Text("zone", "eu");
  b.Span({1, 1}, 3, 1, 5, 5, "put");
  b.batch().type.back() = EventType::kQueuePut;
  const EventBatch batch = b.Take();
  TriggerMatcher matcher(triggers, batch);
  EXPECT_EQ(matcher.Match(0), 0b1011111u);
  EXPECT_EQ(matcher.Match(1), 0b1100101u);
  EXPECT_EQ(matcher.Match(2), 0b0000001u);
}

}  // namespace
}  // namespace wf::pipeline
