// The grammar, and what is said about texts that are not in it.
#include "lang/query/parser.h"

#include "lang/query/query_lab_test.h"

namespace wf::query {
namespace {

using testing::Complaint;
using testing::Parsed;

std::vector<std::string> Columns(std::string_view text) {
  const auto query = Parsed(text);
  return query == nullptr ? std::vector<std::string>() : ColumnNames(*query);
}
using Names = std::vector<std::string>;

TEST(QueryParser, ReadsAWholeQuery) {
  const auto query = Parsed(
      "Q: From y In A.b, `odd name`, A.b Join x In firstn(3, C) On x -> y Join z In D On z -> x "
      "Where y.a.b = 'v' Where x.c > 5ms Sample 0.25 Window 10s GroupBy y.a.b Select y.a.b, "
      "sum( x.c ) As total;");
  ASSERT_NE(query, nullptr);
  EXPECT_EQ(query->name, "Q");
  ASSERT_EQ(query->aliases.size(), 3u);
  EXPECT_EQ(query->aliases[0].source.tracepoints, (Names{"A.b", "odd name"}));
  EXPECT_EQ(query->aliases[0].columns, (Names{"a.b"}));
  EXPECT_EQ(query->aliases[1].filter, FilterKind::kFirst);
  EXPECT_EQ(query->aliases[1].limit, 3u);
  EXPECT_EQ(query->aliases[1].on, 0u);
  EXPECT_EQ(query->aliases[2].on, 1u);
  EXPECT_TRUE(query->aliases[2].columns.empty());
  EXPECT_EQ(query->where.size(), 2u);
  EXPECT_EQ(query->sample, 0.25);
  EXPECT_EQ(query->window_ns, 10'000'000'000);
  EXPECT_TRUE(query->grouped);
  EXPECT_EQ(ColumnNames(*query), (Names{"window", "y.a.b", "total"}));
  EXPECT_EQ(Tracepoints(*query), (Names{"A.b", "odd name", "C", "D"}));
}

TEST(QueryParser, KeywordsFiltersAndFunctionsAreKnownInAnyCase) {
  EXPECT_NE(Parsed("FROM y IN A join x in MOSTRECENT(B) oN x -> y groupby y.v SELECT y.v, Count"),
            nullptr);
  // Names are case-sensitive.
  EXPECT_EQ(Complaint("From y In A Select Y.v"), "1:20 there is no alias \"Y\" | did you mean y?");
}

TEST(QueryParser, NamesOfFiltersAndFunctionsMayBeAliasesAndKeywordsParts) {
  EXPECT_NE(Parsed("From sum In A Join first In First(B) On first -> sum Select first.in, "
                   "SUM(sum.select), COUNT(sum.from)"),
            nullptr);
  EXPECT_NE(Parsed("From x In First Select x.a"), nullptr);
  EXPECT_NE(Parsed("From `from` In In.Select Select `from`.v"), nullptr);
  EXPECT_EQ(Complaint("From where In A Select where.v"),
            "1:6 the keyword where cannot be an alias | choose another name, or write it in "
            "backquotes");
}

TEST(QueryParser, ColumnsAreCalledByTheirOwnTextWithoutWhiteSpace) {
  EXPECT_EQ(Columns("From x In A Select x . a,  x.b\n - 1, Lower( x.c ) , COUNT, ( x.d )"),
            (Names{"x.a", "x.b-1", "Lower(x.c)", "COUNT", "(x.d)"}));
  EXPECT_EQ(Columns("From x In A Select x.`a-b` As `two words`, x.`c`"),
            (Names{"two words", "x.`c`"}));
}

TEST(QueryParser, BindsAsTheGrammarSays) {
  const auto same = [](std::string_view a, std::string_view b) {
    const Execution events = testing::Events(
        R"({"id":"1","tracepoint":"A","time_ns":0,"vars":{"a":2,"b":3,"c":5,"t":true,"f":false}})");
    const std::string select = "From x In A Select ";
    EXPECT_EQ(testing::Rows(select + std::string(a) + " As v", events),
              testing::Rows(select + std::string(b) + " As v", events))
        << a << " and " << b;
  };
  same("x.a + x.b * x.c", "17");
  same("x.a - x.b - x.c", "-6");
  same("x.c / x.a / x.a", "1.25");
  same("-x.a * -x.b", "6");
  same("- - x.a", "2");
  same("! x.a = x.b", "true");
  same("Not Not x.t", "true");
  same("x.t || x.t && x.f", "true");
  same("(x.t Or x.t) And x.f", "false");
  same("x.a + 1 = x.b", "true");
  same("2us + 3ns", "2003");
  same("1h / 1m", "60.0");
  same("x.a--x.b", "5");
}

TEST(QueryParser, ReadsTextsAndNumbers) {
  const Execution events = testing::Events(R"({"id":"1","tracepoint":"A","time_ns":0})");
  EXPECT_EQ(
      testing::Rows(R"(From x In A Select 'it\'s "1"\n', "a\t\\\"'", 9223372036854775807,
                             9223372036854775808, 1.5e3, 0.1)",
                    events),
      R"([["it's \"1\"\n","a\t\\\"'",9223372036854775807,9.223372036854776e+18,1500.0,0.1]])");
}

TEST(QueryParser, SubQueriesAreReadByTheirColumns) {
  EXPECT_NE(Parsed("From y In (From x In A Select x.a) Select y.x.a, y"), nullptr);
  EXPECT_EQ(Complaint("From y In (From x In A Select x.a As one) Select y.on"),
            "1:50 \"y\" has no column \"on\" | did you mean one?");
  EXPECT_EQ(Complaint("From y In (From x In A Select x.a, x.b) Select y"),
            "1:48 \"y\" has more than one column | its columns are x.a x.b");
  EXPECT_EQ(Complaint("From y In A Select y"),
            "1:20 \"y\" is an event, not a value | name one of its variables, as y.time");
  EXPECT_EQ(Complaint("From y In (From x In A Select x.a, x.a) Select y.x.a"),
            "1:36 two columns of this sub-query are called \"x.a\" | name one of them with As");
  EXPECT_EQ(Complaint("From y In A Join x In (From z In B Where y.v = 1 Select z.v) On x -> y "
                      "Select x"),
            "1:42 there is no alias \"y\" | did you mean z?");
}

TEST(QueryParser, NamedQueriesMayStandInAnyOrderButNotInACircle) {
  EXPECT_NE(Parsed("A: From x In B Select x; B: From y In T Select y.v; From z In A Select z"),
            nullptr);
  EXPECT_EQ(Complaint("A: From x In B Select x; B: From y In A Select y; From z In A Select z"),
            "1:39 query \"A\" is made of itself | a sub-query is made of tracepoints and of other "
            "queries");
  EXPECT_EQ(Complaint("A: From x In T Select x.v; A: From y In T Select y.v"),
            "1:28 two queries are called \"A\" | give each its own name");
  EXPECT_EQ(Complaint("A: From x In T Select x.v; From y In A, T Select y.v"),
            "1:38 the query \"A\" cannot stand in a list | lists are of tracepoints");
  // What is wrong in a query nobody uses is wrong.
  EXPECT_EQ(Complaint("A: From x In T Select y.v; From z In T Select z.v"),
            "1:23 there is no alias \"y\" | did you mean x?");
  EXPECT_EQ(Complaint("From x In T Select x.v; From y In T Select y.v"),
            "1:25 only the last query may go without a name | name the others, as Q1: From … "
            "Select …;");
}

TEST(QueryParser, AggregatedSubQueriesCanOnlyBeJoined) {
  const std::string sub = "S: From x In A Select COUNT As n; ";
  EXPECT_NE(Parsed(sub + "From y In B Join s In S On s -> y Select s.n"), nullptr);
  EXPECT_EQ(Complaint(sub + "From y In S Select y.n"),
            "1:45 a sub-query with groups or aggregates cannot stand in From | it has rows only as "
            "seen from another event: Join it");
  EXPECT_EQ(Complaint(sub + "From y In B Join s In First(S) On s -> y Select s.n"),
            "1:57 a sub-query with groups or aggregates cannot stand under a filter | filter the "
            "sources inside of it");
  EXPECT_EQ(Complaint(sub + "From y In B Join s In S On s -> y Join z In C On z -> s Select z.v"),
            "1:89 a sub-query with groups or aggregates cannot stand right of -> | its rows have "
            "no event of their own; join to the alias it is joined to");
}

TEST(QueryParser, JoinsBringInWhatHappenedBefore) {
  EXPECT_EQ(Complaint("From y In A Join x In B On y -> x Select x.v"),
            "1:28 left of -> stands the alias that this Join brings in | write On x -> y: joined "
            "is what happened before");
  EXPECT_EQ(Complaint("From y In A Join x In B On x -> z Join z In C On z -> y Select x.v"),
            "1:33 there is no alias \"z\" before this Join | did you mean y?");
  EXPECT_EQ(Complaint("From y In A Join x In B On x -> x Select x.v"),
            "1:33 an event does not happen before itself | did you mean y?");
  EXPECT_EQ(Complaint("From y In A Join y In B On y -> y Select y.v"),
            "1:18 there is an alias \"y\" already | give each source its own");
  EXPECT_EQ(Complaint("From y In First(A) Select y.v"),
            "1:11 From takes no filter | filters stand in Joins: they pick events before another");
}

TEST(QueryParser, OutsideAggregatesOnlyKeysAndConstantsMayOccur) {
  EXPECT_NE(Parsed("From x In A GroupBy x.a, x.b + 1 Select (x.b+1) * 2, 5, Lower(x.a), COUNT"),
            nullptr);
  EXPECT_NE(Parsed("From x In A Select x.a, SUM(x.b) + x.a"), nullptr);
  EXPECT_EQ(Complaint("From x In A GroupBy x.a Select x.b, COUNT"),
            "1:32 \"x.b\" is neither a key nor inside an aggregate | add it to GroupBy, or say "
            "which of the group's values: MAX(x.b)");
  EXPECT_EQ(Complaint("From x In A Select SUM(x.a) + x.b").substr(0, 10), "1:31 \"x.b\"");
  EXPECT_EQ(Complaint("From x In A GroupBy x.a + 1 Select x.a").substr(0, 10), "1:36 \"x.a\"");
  EXPECT_EQ(Complaint("From x In A Where SUM(x.a) > 1 Select x.a"),
            "1:19 an aggregate cannot stand here | Where keeps tuples, before there are groups; "
            "aggregate in a sub-query and Join it");
  EXPECT_EQ(Complaint("From x In A GroupBy COUNT Select COUNT").substr(0, 35),
            "1:21 an aggregate cannot stand here");
  EXPECT_EQ(Complaint("From x In A Select SUM(1 + MAX(x.a))"),
            "1:24 an aggregate of an aggregate | compute the inner one in a sub-query and Join it");
  EXPECT_EQ(Complaint("From x In A Select PERCENTILE(x.a, x.b)"),
            "1:36 PERCENTILE's second argument says which one | a constant from 0 to 100, as in "
            "PERCENTILE(x.time, 99)");
  EXPECT_EQ(Complaint("From x In A Select PERCENTILE(x.a, 101)").substr(0, 4), "1:36");
}

TEST(QueryParser, SampleAndWindowBelongToTheOutermostQuery) {
  EXPECT_EQ(Complaint("From y In (From x In A Sample 0.5 Select x.a) Select y"),
            "1:31 Sample belongs to the outermost query | put it into the query that is answered");
  EXPECT_EQ(Complaint("S: From x In A Window 1s Select x.a; From y In S Select y"),
            "1:23 Window belongs to the outermost query | put it into the query that is answered");
  EXPECT_EQ(Complaint("From x In A Sample 10 Select x.a"),
            "1:20 Sample keeps a share from 0 to 1 | Sample 0.1 keeps a tenth of the requests");
  EXPECT_EQ(Complaint("From x In A Window 0s Select x.a"),
            "1:20 a window must be longer than 0 | as in Window 10s");
  EXPECT_EQ(Complaint("From x In A Window 10 Select x.a"),
            "1:20 expected a duration instead of a number | as in Window 10s");
}

TEST(QueryParser, SaysWhereAndWhatNext) {
  const struct {
    std::string_view text, complaint;
  } cases[] = {
      {"", "1:1 expected From instead of the end | a query is From ALIAS In TRACEPOINT … Select …"},
      {"Form x In A Select x.a", "1:1 expected From instead of \"Form\" | did you mean From?"},
      {"From x In A\nSelect x.a,",
       "2:12 expected an expression instead of the end | as "
       "incr.delta, 5ms, 'text' or SUM(…)"},
      {"From x In A",
       "1:12 expected Select or another clause instead of the end | the order is "
       "From, Join, Where, Sample, Window, GroupBy, Select"},
      {"From x In A GroupBy x.a Where x.b Select x.a",
       "1:25 Where cannot stand here | the order is From, Join, Where, Sample, Window, GroupBy, "
       "Select"},
      {"From x In A Group By x.a Select x.a",
       "1:13 \"Group\" is not in the language | GroupBy is one word"},
      {"From x In A Select x.a Where x.b",
       "1:24 Where cannot stand behind Select | the order is From, Join, Where, Sample, Window, "
       "GroupBy, Select"},
      {"From x In A Select x.a From y In B Select y.a",
       "1:24 separate two queries by \";\" | put ; behind the first"},
      {"From x In A Select x.a x.b",
       "1:24 expected the end instead of \"x\" | separate columns by commas, and name them with "
       "As"},
      {"From x In A Select SMU(x.a)", "1:20 \"SMU\" is not a function | did you mean SUM?"},
      {"From x In A Select avg(x.a)", "1:20 \"avg\" is not a function | did you mean AVERAGE?"},
      {"From x In A Select Contains(x.a)",
       "1:20 Contains takes two arguments | as in Contains(text, part)"},
      {"From x In A Select SUM()", "1:20 SUM takes one argument | as in SUM(number)"},
      {"From x In A Select 'abc", "1:20 unclosed text | close it with '"},
      {"From x In A Select x.`abc", "1:22 unclosed name | close it with a backquote"},
      {"From x In A Select 'a\\d'",
       "1:20 a backslash in a text stands before n, t, \\, ' or \" | write \\\\ for a backslash"},
      {"From x In A Select 5days",
       "1:20 \"days\" behind a number is not a unit of time | a duration is an integer and ns, us, "
       "ms, s, m or h, as 5ms"},
      {"From x In A Select 1.5s",
       "1:20 a duration is an integer and its unit | use a smaller unit"},
      {"From x In A Select x.a & x.b", "1:24 \"&\" is not expected here | write && or And"},
      {"From x In A Select 1 < 2 < 3",
       "1:26 comparisons do not chain | join two with And, or use brackets"},
      {"From x In A Select x.a = !x.b",
       "1:26 ! stands before a whole comparison | put it in brackets: x = (!y)"},
      {"From x In A Join y In B Select x.a",
       "1:25 expected On instead of \"Select\" | as in Join y In … On y -> the alias it happened "
       "before"},
      {"From x In A Join y In FirstN(B) On y -> x Select x.a",
       "1:30 expected how many events to keep instead of \"B\" | an integer up to 1000000, as in "
       "FirstN(3, TRACEPOINT)"},
      {"From x In A Join y In Last(B) On y -> x Select x.a",
       "1:27 \"Last\" is not a filter | filters are First, MostRecent, FirstN and MostRecentN"},
      {"From x In A Select (From y In B Select COUNT)",
       "1:21 a sub-query cannot stand in an expression | Join it under an alias, and read "
       "x.COLUMN"},
      {"From x.y In A Select 1",
       "1:7 an alias has no dots | as in From incr In "
       "DataNodeMetrics.incrBytesRead"},
  };
  for (const auto& [text, complaint] : cases) EXPECT_EQ(Complaint(text), complaint) << text;
}

TEST(QueryParser, TheMessageShowsTheLineAndACaret) {
  const auto query = ParseQuery("From x In A\n  Select z.a");
  ASSERT_FALSE(query.ok());
  EXPECT_EQ(query.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(query.error().message,
            "query:2:10: there is no alias \"z\"\n"
            "2 |   Select z.a\n"
            "  |          ^~~\n"
            "  | there is no alias \"z\"\n"
            "  | did you mean x?");
}

TEST(QueryParser, HoldsWhatIsTooDeepOrTooLong) {
  const std::string head = "From x In A Select ";
  const auto nested = [&](int levels) {
    return head + std::string(levels, '(') + "1" + std::string(levels, ')');
  };
  EXPECT_EQ(Complaint(nested(90)), "none");
  EXPECT_EQ(Complaint(nested(5000)).substr(0, 41), "1:119 this is nested more than 100 deep |");
  EXPECT_NE(Complaint(head + std::string(5000, '-') + "1"), "none");
  EXPECT_NE(Complaint(head + std::string(5000, '!') + "1"), "none");
  std::string chain = head + "1";
  for (int i = 0; i < 900; ++i) chain += "+1";
  EXPECT_EQ(Complaint(chain), "none");
  for (int i = 0; i < 900; ++i) chain += "+1";
  EXPECT_NE(Complaint(chain), "none");
  // To the right, every value waits on the stack.
  std::string right = head, close;
  for (int i = 0; i < 70; ++i) right += "1+(", close += ")";
  EXPECT_EQ(Complaint(right + "1" + close).substr(0, 54),
            "1:20 this expression needs more than 64 values at once");
  EXPECT_NE(Complaint(std::string(kMaxQueryBytes + 1, ' ')), "none");
  EXPECT_NE(Complaint("From x In \xff Select 1"), "none");
  std::string doubling;
  for (int i = 1; i < 30; ++i) {
    const std::string inner = i == 1 ? "T" : "Q" + std::to_string(i - 1);
    const std::string read = i == 1 ? "a.v" : "a";
    doubling += "Q" + std::to_string(i) + ": From a In " + inner + " Join b In " + inner +
                " On b -> a Select " + read + "; ";
  }
  EXPECT_NE(Complaint(doubling + "From z In Q29 Select z"), "none");
}

}  // namespace
}  // namespace wf::query
