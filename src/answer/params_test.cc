#include "answer/frame/params.h"

#include <gtest/gtest.h>

#include "answer/trace/traces_answer.h"

namespace wf::answer {
namespace {

// A single pair in braces would also do for Params' copy constructor.
Params Of(std::vector<std::pair<std::string, std::string>> values) {
  return Params(std::move(values));
}

TEST(Params, UnknownNamesAreRefusedByName) {
  const Params params = Of({{"servce", "shop"}});
  const Status status = params.Check({"service"}, {"attr"});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("servce"), std::string::npos);
  EXPECT_NE(status.error().hint.find("service"), std::string::npos);
}

TEST(Params, ASingleFlagGivenTwiceIsRefused) {
  EXPECT_FALSE(Of({{"limit", "1"}, {"limit", "2"}}).Check({"limit"}).ok());
  EXPECT_TRUE(Of({{"attr", "a=1"}, {"attr", "b=2"}}).Check({}, {"attr"}).ok());
}

TEST(Params, EmptyCountsAsAbsent) { EXPECT_EQ(Of({{"service", ""}}).Get("service"), std::nullopt); }

TEST(Params, NumbersNameTheirFlagAndRange) {
  for (const char* text : {"0", "x", "1.5", "10001", ""}) {
    auto value = Of({{"limit", text}}).Integer("limit", 1, 10'000);
    if (*text == '\0') {
      EXPECT_TRUE(value.ok());
      continue;
    }
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_NE(value.error().message.find("--limit"), std::string::npos);
  }
}

TEST(TraceQuery, EveryFlagIsUnderstood) {
  const Params params({{"service", "shop"},
                       {"operation", "GET /"},
                       {"attr", "user=a=b"},
                       {"attr", "n=5"},
                       {"min_duration", "250ms"},
                       {"max_duration", "2s"},
                       {"status", "error"},
                       {"since", "15m"},
                       {"until", "0s"},
                       {"limit", "7"}});
  auto query = ParseTraceQuery(params, 1'000 * kHour);
  ASSERT_TRUE(query.ok()) << query.error().message;
  EXPECT_EQ(query->attributes[0], (std::pair<std::string, std::string>("user", "a=b")));
  EXPECT_EQ(query->min_duration_ns, 250 * kMilli);
  EXPECT_EQ(query->status, SpanStatus::kError);
  EXPECT_EQ(query->time.from, 1'000 * kHour - 15 * kMinute);
  EXPECT_EQ(query->time.until, 1'000 * kHour);
  EXPECT_EQ(query->limit, 7u);
}

TEST(TraceQuery, BadFlagsAreRefused) {
  using Pair = std::pair<std::string, std::string>;
  for (const Pair& bad : {Pair{"attr", "novalue"}, Pair{"attr", "=x"}, Pair{"min_duration", "5"},
                          Pair{"since", "yesterday"}, Pair{"limit", "x"}, Pair{"cursor", "zz"}}) {
    auto query = ParseTraceQuery(Params({bad}), 0);
    ASSERT_FALSE(query.ok()) << bad.first << "=" << bad.second;
    EXPECT_EQ(query.error().code, ErrorCode::kBadInput);
  }
}

TEST(TraceQuery, CursorsRoundTrip) {
  for (const Nanos start : {Nanos{-5}, Nanos{0}, Nanos{1763204290250000001}}) {
    const store::SearchCursor cursor{start, {7, 9}};
    auto again = ParseCursor(FormatCursor(cursor));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->start_ns, start);
    EXPECT_EQ(again->trace_id, cursor.trace_id);
  }
}

}  // namespace
}  // namespace wf::answer
