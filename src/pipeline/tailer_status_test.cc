#include "pipeline/tailer_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "json/json_reader.h"

namespace wf::pipeline {
namespace {

using ::testing::HasSubstr;

TailerStatus Busy() {
  TailerStatus s;
  s.on = true;
  s.traces_due = 8;
  s.traces_from_cache = 4;
  s.features_over_budget = 7;
  s.feature_rows_dropped = 1234;
  s.traces_unusable = 3;
  s.events_uncached = 11;
  s.scheduled = 20;
  s.rescheduled_late = 5;
  s.timeouts_running = 6;
  s.writes = 9;
  s.stages = {{"fetch", 1, 2, 3, 4, 5}};
  s.owners.push_back({"shop", 1, 2, 3, 4});
  return s;
}

// Every number of an object, by its path: "cache.bytes".
void Flatten(const JsonValue& value, const std::string& path, std::map<std::string, int64_t>& out) {
  for (const auto& [name, member] : value.Members()) {
    const std::string at = path.empty() ? std::string(name) : path + "." + std::string(name);
    if (const auto number = member.Int()) out[at] = *number;
    Flatten(member, at, out);
  }
}

TEST(TailerStatusTest, EveryCounterStandsInTheStatusToo) {
  const TailerStatus s = Busy();
  JsonWriter json;
  WriteTailerJson(s, json);
  const std::string text = json.Take();
  JsonParser parser;
  const auto root = parser.Parse(text);
  ASSERT_TRUE(root.ok()) << text;
  std::map<std::string, int64_t> shown;
  Flatten(*root, "", shown);
  EXPECT_EQ(shown["features.over_budget"], 7);
  EXPECT_EQ(shown["features.rows_dropped"], 1234);
  EXPECT_EQ(shown["triggers.scheduled"], 20);
  EXPECT_EQ(shown["triggers.rescheduled_late"], 5);
  EXPECT_EQ(shown["triggers.running"], 6);
  EXPECT_EQ(shown["cache.events_uncached"], 11);
  EXPECT_EQ(shown["rows.writes"], 9);
  EXPECT_THAT(text, HasSubstr(R"("cache_share":0.5)"));
  std::multiset<int64_t> values;
  for (const auto& [path, value] : shown) values.insert(value);
  for (const auto& [name, value] : TailerCounters(s)) {
    if (name.rfind("tailer_cpu_ns_", 0) == 0) continue;  // of a stage
    EXPECT_EQ(values.count(value) != 0, true) << name;
  }
  EXPECT_EQ(TailerCounters(s)["features_over_budget"], 7);
  EXPECT_EQ(TailerCounters(s)["tailer_cpu_ns_fetch"], 3);
}

TEST(TailerStatusTest, TracesAreDelayedForTwoReasonsAndJobsStandApart) {
  TailerStatus s = Busy();
  s.delayed[DelayReason::kEventsGone] = 21;
  s.delayed[DelayReason::kQueueFull] = 22;
  s.delayed[DelayReason::kRecovered] = 23;
  s.delayed[DelayReason::kWriteFailed] = 24;
  s.delayed[DelayReason::kPassedOver] = 25;
  JsonWriter json;
  WriteTailerJson(s, json);
  const std::string text = json.Take();
  EXPECT_THAT(text, HasSubstr(R"("delayed":{"events_gone":21,"queue_full":22},)"));
  EXPECT_THAT(text,
              HasSubstr(R"("requeued":{"recovered":23,"write_failed":24,"passed_over":25},)"));
  auto counters = TailerCounters(s);
  EXPECT_EQ(counters["tailer_delayed_events_gone"], 21);
  EXPECT_EQ(counters["tailer_delayed_queue_full"], 22);
  EXPECT_EQ(counters["tailer_requeued_recovered"], 23);
  EXPECT_EQ(counters.count("tailer_delayed_recovered"), 0u);
  EXPECT_THAT(TailerText(s), HasSubstr("traces waiting; events_gone 21; queue_full 22; again: "));
}

TEST(TailerStatusTest, WhatWasLeftOutIsReadOnATerminal) {
  EXPECT_THAT(TailerText(Busy()),
              HasSubstr("7 traces over budget, 1234 rows dropped, 3 traces unusable\n"));
  EXPECT_EQ(TailerText({}), "tailer     off\n");
}

}  // namespace
}  // namespace wf::pipeline
