// Each rule of Pivot Tracing table 3, and all of them together: the rewritten program answers what the plain one and
// the reference answer, and never carries more tuples.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "json/json_writer.h"
#include "lang/query/events_file.h"
#include "lang/query/parser.h"
#include "lang/query/plan_lab_test.h"
#include "lang/query/random_query_test.h"
#include "lang/query/reference.h"
#include "lang/query/rewrite.h"
#include "lang/query/rows_json.h"

namespace wf::query {
namespace {

using lab::OneOf;
using lab::Pick;

std::string Json(const std::vector<advice::Tuple>& rows) {
  JsonWriter json;
  WriteRows(json, rows);
  return json.Take();
}

struct Both {
  size_t plain_tuples = 0, rewritten_tuples = 0;
};

Both CheckSame(const std::string& text, const Execution& execution) {
  const auto query = ParseQuery(text);
  RC_LOG() << text << "\n" << WriteEvents(execution);
  if (!query) RC_FAIL(query.error().message);
  const auto plain = Compile(**query);
  const auto rewritten = Rewrite(**query);
  RC_ASSERT(plain.ok());
  RC_ASSERT(rewritten.ok());
  const lab::IdealRun plain_run(plain->program, execution);
  const lab::IdealRun rewritten_run(rewritten->program, execution);
  // A random query may multiply beyond what one event is allowed; there is nothing to compare then.
  RC_PRE(plain_run.complete() && rewritten_run.complete());
  const std::string expected = Json(EvaluateReference(**query, execution));
  RC_ASSERT(Json(plain_run.Rows()) == expected);
  RC_ASSERT(Json(rewritten_run.Rows()) == expected);
  RC_ASSERT(rewritten_run.tuples_max() <= plain_run.tuples_max());
  RC_CLASSIFY(expected != "[]", "has rows");
  RC_CLASSIFY(rewritten_run.tuples_max() < plain_run.tuples_max(), "carries less");
  return {plain_run.tuples_max(), rewritten_run.tuples_max()};
}

// P ⋈ Q with P under no filter or any: what the rules are about.
struct Rule {
  std::string p = std::string(1, static_cast<char>('A' + Pick(2)));
  std::string q = std::string(1, static_cast<char>('B' + Pick(2)));
  std::string filter = OneOf(
      std::vector<std::string>{"", "", "First", "MostRecent", "FirstN(2, ", "MostRecentN(3, "});
  std::string Text(const std::string& rest) const {
    std::string source = p;
    if (!filter.empty()) source = filter + (filter.back() == ' ' ? "" : "(") + p + ")";
    return "From q In " + q + " Join p In " + source + " On p -> q " + rest;
  }
};

std::string Aggregate(const std::string& side) {
  static const std::vector<std::string> forms = {
      "COUNT",       "COUNT(@)",          "SUM(@)",      "MIN(@)", "MAX(@)", "AVERAGE(@)",
      "DISTINCT(@)", "PERCENTILE(@, 90)", "HISTOGRAM(@)"};
  std::string form = OneOf(forms);
  if (const size_t at = form.find('@'); at != std::string::npos)
    form.replace(at, 1, side + OneOf(std::vector<std::string>{".x", ".y", ".l"}));
  return form;
}

std::string Key(const std::string& side) {
  return side + OneOf(std::vector<std::string>{".x", ".s", ".l", ".host"});
}

RC_GTEST_PROP(RewriteRule, ProjectionOfBothSides, ()) {
  const std::string items = OneOf(std::vector<std::string>{
      "p.y, q.y", "p.l", "q.l, p.x + 1", "p.y * 2 - q.y", "1", "Bucket(p.time, 5)"});
  CheckSame(Rule().Text("Select " + items), lab::RandomExecution());
}

RC_GTEST_PROP(RewriteRule, SelectionOfTheEarlierSide, ()) {
  CheckSame(Rule().Text("Where p.y > 0 && p.x != 1 Select q.x, p.host"), lab::RandomExecution());
}

RC_GTEST_PROP(RewriteRule, SelectionOfTheLaterSide, ()) {
  CheckSame(Rule().Text("Where q.y > 0 && q.l < 2 Select q.x, p.host"), lab::RandomExecution());
}

RC_GTEST_PROP(RewriteRule, AggregateOfTheEarlierSide, ()) {
  Rule rule;
  rule.filter.clear();
  const Both both = CheckSame(rule.Text("Select " + Aggregate("p") + ", " + Aggregate("p")),
                              lab::RandomExecution());
  RC_ASSERT(both.rewritten_tuples <= 1U);
}

RC_GTEST_PROP(RewriteRule, GroupedAggregateOfTheEarlierSide, ()) {
  CheckSame(
      Rule().Text("GroupBy " + Key("p") + " Select " + Aggregate("p") + ", " + Aggregate("p")),
      lab::RandomExecution());
}

RC_GTEST_PROP(RewriteRule, GroupedAggregateOfTheLaterSide, ()) {
  Rule rule;
  rule.filter.clear();
  const Both both = CheckSame(
      rule.Text("GroupBy " + Key("q") + " Select " + Aggregate("q") + ", " + Aggregate("q")),
      lab::RandomExecution());
  RC_ASSERT(both.rewritten_tuples <= 1U);
}

RC_GTEST_PROP(RewriteRule, AggregateOfTheLaterSideByKeysOfTheEarlier, ()) {
  CheckSame(
      Rule().Text("GroupBy " + Key("p") + " Select " + Aggregate("q") + ", " + Aggregate("q")),
      lab::RandomExecution());
}

RC_GTEST_PROP(RewriteRule, AggregateOfTheEarlierSideByKeysOfTheLater, ()) {
  Rule rule;
  rule.filter.clear();
  const Both both = CheckSame(
      rule.Text("GroupBy " + Key("q") + " Select " + Aggregate("p") + ", " + Aggregate("q")),
      lab::RandomExecution());
  RC_ASSERT(both.rewritten_tuples <= 1U);
}

// Sides that are mixed in one expression travel as columns, sides that are not as states, in one query.
RC_GTEST_PROP(RewriteRule, MixedSides, ()) {
  CheckSame(Rule().Text("Where p.y = q.y || p.x > q.x Select " + Aggregate("p") + ", " +
                        Aggregate("q") + ", SUM(p.x + q.y), MAX(p.y - q.x * p.x)"),
            lab::RandomExecution());
}

size_t AliasCount(const Query& query) {
  size_t count = query.aliases.size();
  for (const Alias& alias : query.aliases)
    if (alias.source.subquery != nullptr) count += AliasCount(*alias.source.subquery);
  return count;
}

// Joins multiply, and the reference lists every combination: more aliases would take for ever.
std::string RandomQueryText() {
  constexpr size_t kMostAliases = 6;
  for (;;) {
    std::string text = lab::RandomQuery().Text();
    const auto query = ParseQuery(text);
    if (!query) {
      if (query.error().message.find("more than 100 aliases") == std::string::npos)
        RC_FAIL(query.error().message);
      continue;
    }
    if (AliasCount(**query) <= kMostAliases) return text;
  }
}

RC_GTEST_PROP(Rewrite, AnyQueryAnswersTheSame, ()) {
  const std::string text = RandomQueryText();
  CheckSame(text, lab::RandomExecution(9));
}

}  // namespace
}  // namespace wf::query
