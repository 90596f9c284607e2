#include "answer/jaeger/jaeger_params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::answer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(JaegerParams, GoDurations) {
  const std::pair<const char*, Nanos> good[] = {{"0", 0},
                                                {"1.2s", 1'200 * kMilli},
                                                {"100ms", 100 * kMilli},
                                                {"500us", 500 * kMicro},
                                                {"300µs", 300'000},
                                                {"300μs", 300'000},
                                                {"1m30s", 90 * kSecond},
                                                {"1h2m3.5s", 3723 * kSecond + 500 * kMilli},
                                                {"-5ns", -5},
                                                {".5ms", 500'000},
                                                {"1.001ms", 1'001'000}};
  for (const auto& [text, expected] : good) {
    const auto parsed = ParseGoDuration(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, expected) << text;
  }
  for (const char* text : {"", "5", "ms", "5 ms", "1d", "1e3s", "nan", "9999999999h", "1ss", "-"}) {
    EXPECT_FALSE(ParseGoDuration(text).ok()) << text;
  }
}

TEST(JaegerParams, SearchAsGrafanaSendsIt) {
  const auto search = ParseJaegerSearch({{"service", "shop"},
                                         {"operation", "GET /cart"},
                                         {"tags", R"({"http.status_code":"500","error":"true"})"},
                                         {"minDuration", "1.2s"},
                                         {"maxDuration", "2m"},
                                         {"limit", "20"},
                                         {"start", "1700000000000000"},
                                         {"end", "1700000001000000"},
                                         {"lookback", "custom"}},
                                        0);
  ASSERT_TRUE(search.ok()) << search.error().message;
  const store::TraceQuery& query = search->query;
  EXPECT_EQ(query.service, "shop");
  EXPECT_EQ(query.operation, "GET /cart");
  EXPECT_THAT(query.attributes, ElementsAre(Pair("http.status_code", "500")));
  EXPECT_EQ(query.status, SpanStatus::kError);
  EXPECT_EQ(query.min_span_duration_ns, 1'200 * kMilli);
  EXPECT_EQ(query.max_span_duration_ns, 2 * kMinute);
  EXPECT_EQ(query.limit, 20u);
  EXPECT_EQ(query.time.from, 1'700'000'000 * kSecond);
  EXPECT_EQ(query.time.until, 1'700'000'001 * kSecond + kMicro);
}

TEST(JaegerParams, TagsInEveryForm) {
  const auto search = ParseJaegerSearch({{"service", "s"},
                                         {"tag", "a:b:c"},
                                         {"tag", "span.kind:server"},
                                         {"tags", "x:y"},
                                         {"tags", R"({"n":5})"}},
                                        0);
  ASSERT_TRUE(search.ok());
  EXPECT_THAT(search->query.attributes,
              ElementsAre(Pair("a", "b:c"), Pair("x", "y"), Pair("n", "5")));
  EXPECT_THAT(search->derived, ElementsAre(Pair("span.kind", "server")));
}

TEST(JaegerParams, TimeDefaultsToTheLastTwoDaysOrTheLookback) {
  const Nanos now = 100 * kDay;
  auto search = ParseJaegerSearch({{"service", "s"}}, now);
  ASSERT_TRUE(search.ok());
  EXPECT_EQ(search->query.time.from, now - 2 * kDay);
  EXPECT_EQ(search->query.time.until, now + kMicro);
  EXPECT_EQ(search->query.limit, kJaegerDefaultTraces);
  search = ParseJaegerSearch({{"service", "s"}, {"lookback", "1h"}}, now);
  ASSERT_TRUE(search.ok());
  EXPECT_EQ(search->query.time.from, now - kHour);
}

TEST(JaegerParams, BadSearchesNameTheParameter) {
  const std::pair<QueryParams, const char*> bad[] = {
      {{}, "parameter 'service' is required"},
      {{{"service", "s"}, {"start", "x"}}, "'start'"},
      {{{"service", "s"}, {"end", "1.5"}}, "'end'"},
      {{{"service", "s"}, {"limit", "-1"}}, "'limit'"},
      {{{"service", "s"}, {"minDuration", "5"}}, "'minDuration'"},
      {{{"service", "s"}, {"minDuration", "5s"}, {"maxDuration", "1s"}},
       "'maxDuration' should be greater"},
      {{{"service", "s"}, {"tags", "{"}}, "'tags'"},
      {{{"service", "s"}, {"tag", "novalue"}}, "expecting key:value"},
      {{{"traceID", "xyz"}}, "cannot parse traceID param"},
      {{{"service", "s"}, {"lookback", "soon"}}, "'lookback'"}};
  for (const auto& [params, text] : bad) {
    const auto search = ParseJaegerSearch(params, 0);
    ASSERT_FALSE(search.ok()) << text;
    EXPECT_EQ(search.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(search.error().message, HasSubstr(text));
  }
}

TEST(JaegerParams, V3SearchInBothSpellings) {
  const QueryParams snake = {{"query.service_name", "shop"},
                             {"query.operation_name", "op"},
                             {"query.attributes", R"({"k":"v"})"},
                             {"query.start_time_min", "2026-11-15T10:00:00Z"},
                             {"query.start_time_max", "2026-11-15T11:00:00.5Z"},
                             {"query.duration_min", "1ms"},
                             {"query.duration_max", "1s"},
                             {"query.num_traces", "7"}};
  const QueryParams camel = {
      {"query.serviceName", "shop"},
      {"query.operationName", "op"},
      {"query.attributes", R"({"k":"v"})"},
      {"query.startTimeMin", "2026-11-15T11:00:00 01:00"},  // the plus was not escaped
      {"query.startTimeMax", "2026-11-15T11:00:00.5Z"},
      {"query.durationMin", "1ms"},
      {"query.durationMax", "1s"},
      {"query.searchDepth", "7"}};
  for (const QueryParams& params : {snake, camel}) {
    const auto search = ParseJaegerV3Search(params);
    ASSERT_TRUE(search.ok()) << search.error().message;
    EXPECT_EQ(search->query.service, "shop");
    EXPECT_EQ(search->query.operation, "op");
    EXPECT_THAT(search->query.attributes, ElementsAre(Pair("k", "v")));
    EXPECT_EQ(search->query.time.until - search->query.time.from, kHour + 500 * kMilli + 1);
    EXPECT_EQ(FormatInstant(search->query.time.from), "2026-11-15T10:00:00.000000000Z");
    EXPECT_EQ(search->query.min_span_duration_ns, kMilli);
    EXPECT_EQ(search->query.max_span_duration_ns, kSecond);
    EXPECT_EQ(search->query.limit, 7u);
  }
  const auto no_time = ParseJaegerV3Search({{"query.service_name", "shop"}});
  ASSERT_FALSE(no_time.ok());
  EXPECT_THAT(no_time.error().message, HasSubstr("are required"));
  EXPECT_FALSE(
      ParseJaegerV3Search({{"query.start_time_min", "5m"}, {"query.start_time_max", "1m"}}).ok());
}

}  // namespace
}  // namespace wf::answer
