#include "lang/common/condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::lang {
namespace {

std::string Show(const ColumnLiteral& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* n = std::get_if<int64_t>(&value)) return std::to_string(*n);
  if (const auto* d = std::get_if<double>(&value)) return "~" + std::to_string(*d);
  return "'" + std::get<std::string>(value) + "'";
}

std::string Conditions(const std::string& text) {
  const auto parsed = ParseConditions(text, "--where");
  if (!parsed.ok()) return parsed.error().message;
  std::string out;
  for (const ColumnCondition& c : *parsed) {
    out += (out.empty() ? "" : " & ") + std::string(c.negated ? "!" : "") + "[" + c.column + "] " +
           std::string(CompareOpText(c.op));
    for (const ColumnLiteral& value : c.values) out += " " + Show(value);
  }
  return out;
}

std::string Aggs(const std::string& text) {
  const auto parsed = ParseAggregates(text, "--agg");
  if (!parsed.ok()) return parsed.error().message + parsed.error().hint;
  std::string out;
  for (const Aggregate& a : *parsed)
    out += (out.empty() ? "" : " & ") + a.name + "/" + a.column +
           (a.kind == AggregateKind::kPercentile ? "/" + std::to_string(a.percentile) : "");
  return out;
}

TEST(Condition, ReadsEveryForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"latency_ns > 250ms", "[latency_ns] > 250000000"},
      {"a = 1 and b != \"x\" and c <= -2.5", "[a] = 1 & [b] != 'x' & [c] <= ~-2.500000"},
      {"not country = \"de\"", "![country] = 'de'"},
      {"country in (\"de\", \"fr\")", "[country] in 'de' 'fr'"},
      {"not http.route exists", "![http.route] exists"},
      {"\"we ird@1\" ~ \"^x\"", "[we ird@1] ~ '^x'"},
      {"ok = true and bad=false", "[ok] = true & [bad] = false"},
      {"size >= 10kB", "[size] >= 10000"},
      {"t < 1.5ms", "[t] < 1500000"},
      {"not exists", "[not] exists"},
      {"a = \"x\\\"y\" and\n b exists", "[a] = 'x\"y' & [b] exists"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Conditions(text), expected) << text;
}

TEST(Condition, FaultsHaveACaretAndSayWhatIsMissing) {
  EXPECT_EQ(Conditions("latency >"),
            "--where: expected a value, the text ends\n1 | latency >\n  |          ^\n"
            "  | expected a value, the text ends\n");
  const std::pair<const char*, const char*> cases[] = {
      {"a = 1 b = 2", "expected and, found \"b\""},
      {"= 1", "expected a column"},
      {"a b", "expected a comparison"},
      {"a = 5parsec", "\"parsec\" is not a unit"},
      {"a in 5", "expected ( after in"},
      {"a in (5", "expected , or )"},
      {"a = 99999999999999999h", "too large"},
      {"a = b", "expected a value"},
      {"a = \"open", "--where: "},
      {"a = 1; DROP TABLE x", "expected and"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_THAT(Conditions(text), ::testing::HasSubstr(expected)) << text;
}

TEST(Condition, ReadsAggregatesKeysAndOrders) {
  EXPECT_EQ(Aggs("count, mean(latency_ns),p99.9( \"we ird\" ) , distinct(a.b)"),
            "count/ & mean(latency_ns)/latency_ns & p99.9(we ird)/we ird/99.900000 & "
            "distinct(a.b)/a.b");
  EXPECT_EQ(Aggs("count()"), "count/");
  EXPECT_EQ(Aggs("count(a)"), "count(a)/a");
  EXPECT_THAT(Aggs("avg(a)"), ::testing::HasSubstr("\"avg\" is not an aggregate"));
  EXPECT_THAT(Aggs("mena(a)"), ::testing::HasSubstr("did you mean mean"));
  EXPECT_THAT(Aggs("p95"), ::testing::HasSubstr("expected (COLUMN)"));
  EXPECT_THAT(Aggs("count count"), ::testing::HasSubstr("expected a comma"));
  const auto keys = ParseKeys("country, http.route, \"a,b\"", "--group-by");
  ASSERT_TRUE(keys.ok());
  EXPECT_THAT(*keys, ::testing::ElementsAre("country", "http.route", "a,b"));
  EXPECT_FALSE(ParseKeys("a,", "--group-by").ok());
  EXPECT_FALSE(ParseKeys("a b", "--group-by").ok());
  const auto order = [](const char* text) {
    const auto parsed = ParseOrder(text, "--order");
    return parsed.ok()
               ? parsed->column + (parsed->direction == SortDirection::kDescending ? "-" : "+")
               : parsed.error().message;
  };
  EXPECT_EQ(order("p99.9(x) desc"), "p99.9(x)-");
  EXPECT_EQ(order("count desc"), "count-");
  EXPECT_EQ(order("http.route"), "http.route+");
  EXPECT_EQ(order("\"a b\" asc"), "a b+");
  EXPECT_THAT(order("a downwards"), ::testing::HasSubstr("expected asc or desc"));
}

}  // namespace
}  // namespace wf::lang
