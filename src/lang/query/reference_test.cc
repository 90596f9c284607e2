// The rules of docs/reference/query-language.md, one by one, on executions small enough to check by hand.
#include "lang/query/reference.h"

#include <ctime>

#include "advice/program.h"
#include "lang/query/query_lab_test.h"

namespace wf::query {
namespace {

using testing::Events;
using testing::Rows;

// Pivot Tracing, figure 3.
const char* const kFigure3 = R"(
{"id":"c2","tracepoint":"C","time_ns":5,"after":["b2","a3"],"vars":{"n":"c2"}}
{"id":"s","tracepoint":"S","time_ns":0}
{"id":"a1","tracepoint":"A","time_ns":1,"after":["s"],"vars":{"n":"a1"}}
{"id":"a2","tracepoint":"A","time_ns":2,"after":["a1"],"vars":{"n":"a2"}}
{"id":"b2","tracepoint":"B","time_ns":3,"after":["a2"],"vars":{"n":"b2"}}
{"id":"b1","tracepoint":"B","time_ns":1,"after":["s"],"vars":{"n":"b1"}}
{"id":"c1","tracepoint":"C","time_ns":2,"after":["b1"],"vars":{"n":"c1"}}
{"id":"a3","tracepoint":"A","time_ns":3,"after":["c1"],"vars":{"n":"a3"}}
)";

TEST(QueryReference, Figure3) {
  const Execution events = Events(kFigure3);
  EXPECT_EQ(Rows("From a In A Select a.n", events), R"([["a1"],["a2"],["a3"]])");
  EXPECT_EQ(Rows("From b In B Join a In A On a -> b Select a.n, b.n", events),
            R"([["a1","b2"],["a2","b2"]])");
  EXPECT_EQ(Rows("From c In C Join b In B On b -> c Select b.n, c.n", events),
            R"([["b1","c1"],["b1","c2"],["b2","c2"]])");
  EXPECT_EQ(
      Rows("From c In C Join b In B On b -> c Join a In A On a -> b Select a.n, b.n, c.n", events),
      R"([["a1","b2","c2"],["a2","b2","c2"]])");
}

// Rule 3: time plays no part, and requests never join.
TEST(QueryReference, HappenedBeforeFollowsEdgesOnly) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":900}
{"id":"2","tracepoint":"M","time_ns":500,"after":["1"]}
{"id":"3","tracepoint":"B","time_ns":100,"after":["2"]}
{"id":"4","tracepoint":"A","time_ns":1}
{"id":"5","tracepoint":"B","time_ns":2}
)");
  EXPECT_EQ(Rows("From b In B Join a In A On a -> b Select a.time, b.time", events), "[[900,100]]");
  EXPECT_EQ(Rows("From a In A Join b In B On b -> a Select a.time, b.time", events), "[]");
}

// Rule 4.
TEST(QueryReference, ListsGiveOneTuplePerElementIfTheyAreRead) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"l":["x","y"],"m":[1,2,3],"e":[],"v":7}}
)");
  EXPECT_EQ(Rows("From a In A Select COUNT", events), "[[1]]");
  EXPECT_EQ(Rows("From a In A Select a.l", events), R"([["x"],["y"]])");
  EXPECT_EQ(Rows("From a In A GroupBy a.l Select COUNT", events), "[[1],[1]]");
  EXPECT_EQ(Rows("From a In A Where a.l = 'x' Select a.m + a.m", events), "[[2],[4],[6]]");
  EXPECT_EQ(Rows("From a In A Select COUNT(a.l), SUM(a.m)", events), "[[6,12]]");
  EXPECT_EQ(Rows("From a In A Where Has(a.e) || true Select a.v", events), "[]");
  EXPECT_EQ(Rows("From a In A, A Select a.v", events), "[[7]]");
}

// Rule 5.
TEST(QueryReference, JoinsAreBags) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"v":1}}
{"id":"2","tracepoint":"A","time_ns":2,"after":["1"],"vars":{"v":1}}
{"id":"3","tracepoint":"B","time_ns":3,"after":["2"],"vars":{"v":10}}
{"id":"4","tracepoint":"C","time_ns":4,"after":["3"],"vars":{"v":100}}
{"id":"5","tracepoint":"C","time_ns":5,"vars":{"v":200}}
)");
  EXPECT_EQ(Rows("From c In C Join a In A On a -> c Select a.v, c.v", events), "[[1,100],[1,100]]");
  EXPECT_EQ(Rows("From c In C Join a In A On a -> c Join b In A On b -> c Select SUM(c.v)", events),
            "[[400]]");
  EXPECT_EQ(Rows("From c In C Join b In B On b -> c Join a In A On a -> b Select COUNT", events),
            "[[2]]");
  EXPECT_EQ(Rows("From a2 In A Join a1 In A On a1 -> a2 Select a1.time, a2.time", events),
            "[[1,2]]");
}

// Rule 6.
TEST(QueryReference, FiltersPickEventsByAdjustedTime) {
  // The clock of the second event went back: causality beats clocks.
  const Execution chain = Events(R"(
{"id":"1","tracepoint":"A","time_ns":100,"vars":{"v":[1,2]}}
{"id":"2","tracepoint":"A","time_ns":50,"after":["1"],"vars":{"v":[3,4]}}
{"id":"3","tracepoint":"B","time_ns":10,"after":["2"]}
)");
  EXPECT_EQ(Rows("From b In B Join a In First(A) On a -> b Select a.v", chain), "[[1],[2]]");
  EXPECT_EQ(Rows("From b In B Join a In MostRecent(A) On a -> b Select a.v", chain), "[[3],[4]]");
  EXPECT_EQ(Rows("From b In B Join a In FirstN(9, A) On a -> b Select COUNT(a.v)", chain), "[[4]]");
  EXPECT_EQ(Rows("From b In B Join a In FirstN(0, A) On a -> b Select COUNT(a.v)", chain), "[]");
  // Where comes after the filter: what it drops is not replaced.
  EXPECT_EQ(Rows("From b In B Join a In First(A) On a -> b Where a.v > 2 Select a.v", chain), "[]");
  // Clocks choose between branches, and ids between equal clocks.
  const Execution branches = Events(R"(
{"id":"0","tracepoint":"S","time_ns":0}
{"id":"p","tracepoint":"A","time_ns":7,"after":["0"]}
{"id":"q","tracepoint":"A","time_ns":7,"after":["0"]}
{"id":"r","tracepoint":"A","time_ns":3,"after":["p"]}
{"id":"s","tracepoint":"A","time_ns":8,"after":["0"]}
{"id":"t","tracepoint":"B","time_ns":9,"after":["q","r","s"]}
)");
  const auto ids = [&](const std::string& filter) {
    return Rows("From b In B Join a In " + filter + " On a -> b Select a.time", branches);
  };
  EXPECT_EQ(ids("First(A)"), "[[7]]");
  EXPECT_EQ(ids("FirstN(2, A)"), "[[7],[7]]");
  EXPECT_EQ(ids("MostRecent(A)"), "[[8]]");  // r is at 8 too, adjusted; s is greater by id
  EXPECT_EQ(ids("MostRecentN(2, A)"), "[[3],[8]]");
}

TEST(QueryReference, FiltersWorkPerEventJoinedTo) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"v":1}}
{"id":"2","tracepoint":"B","time_ns":2,"after":["1"]}
{"id":"3","tracepoint":"A","time_ns":3,"after":["2"],"vars":{"v":3}}
{"id":"4","tracepoint":"B","time_ns":4,"after":["3"]}
)");
  EXPECT_EQ(Rows("From b In B Join a In MostRecent(A) On a -> b Select b.time, a.v", events),
            "[[2,1],[4,3]]");
  // The filter's own source is the sub-query: what its Where drops was never there.
  EXPECT_EQ(Rows("From b In B Join a In First((From x In A Where x.v > 1 Select x.v)) On a -> b "
                 "Select b.time, a",
                 events),
            "[[4,3]]");
  // A join written on the filter's alias comes after it: no event before the first A, so no tuple.
  EXPECT_EQ(
      Rows("From b In B Join a In First(A) On a -> b Join c In B On c -> a Select a.v", events),
      "[]");
}

// An event of a tracepoint whose list is empty is an event, and may be picked; it has no tuples.
TEST(QueryReference, FiltersPickEventsWithoutTuplesToo) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"v":[]}}
{"id":"2","tracepoint":"A","time_ns":2,"after":["1"],"vars":{"v":[5]}}
{"id":"3","tracepoint":"B","time_ns":3,"after":["2"]}
)");
  EXPECT_EQ(Rows("From b In B Join a In First(A) On a -> b Select a.v", events), "[]");
  EXPECT_EQ(
      Rows("From b In B Join a In First((From x In A Select x.v)) On a -> b Select a", events),
      "[[5]]");
}

// Rule 7.
TEST(QueryReference, ASubQuerysTupleHappensWhereItsFromEventHappens) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1}
{"id":"2","tracepoint":"B","time_ns":4,"after":["1"]}
{"id":"3","tracepoint":"C","time_ns":9,"after":["2"]}
{"id":"4","tracepoint":"C","time_ns":11,"after":["1"]}
)");
  EXPECT_EQ(Rows("S: From b In B Join a In A On a -> b Select b.time - a.time; "
                 "From c In C Join s In S On s -> c Select c.time, s",
                 events),
            "[[9,3]]");
  EXPECT_EQ(Rows("From y In (From b In B Select b.time As t) Join a In A On a -> y Select y.t, "
                 "a.time",
                 events),
            "[[4,1]]");
}

// Rule 8.
TEST(QueryReference, AggregatedSubQueriesAreComputedAfreshForEachEvent) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"k":"x","v":1}}
{"id":"2","tracepoint":"B","time_ns":2,"after":["1"]}
{"id":"3","tracepoint":"A","time_ns":3,"after":["2"],"vars":{"k":"x","v":10}}
{"id":"4","tracepoint":"A","time_ns":4,"after":["3"],"vars":{"k":"y","v":100}}
{"id":"5","tracepoint":"B","time_ns":5,"after":["4"]}
{"id":"6","tracepoint":"B","time_ns":6}
)");
  EXPECT_EQ(Rows("From b In B Join s In (From a In A GroupBy a.k Select a.k As k, SUM(a.v) As v) "
                 "On s -> b Select b.time, s.k, s.v",
                 events),
            R"([[2,"x",1],[5,"x",11],[5,"y",100]])");
  EXPECT_EQ(
      Rows("From b In B Join s In (From a In A Select COUNT) On s -> b Select b.time, s", events),
      "[[2,1],[5,3]]");
}

// Rule 9.
TEST(QueryReference, GroupsHaveKeys) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"k":"x","v":1}}
{"id":"2","tracepoint":"A","time_ns":2,"vars":{"k":"x","v":2}}
{"id":"3","tracepoint":"A","time_ns":3,"vars":{"v":4}}
)");
  EXPECT_EQ(Rows("From a In A GroupBy a.k Select a.k, SUM(a.v)", events), R"([[null,4],["x",3]])");
  EXPECT_EQ(Rows("From a In A GroupBy a.k Select SUM(a.v)", events), "[[3],[4]]");
  EXPECT_EQ(Rows("From a In A Select SUM(a.v), a.k", events), R"([[3,"x"],[4,null]])");
  EXPECT_EQ(Rows("From a In A GroupBy a.k Select a.k", events), R"([[null],["x"]])");
  EXPECT_EQ(Rows("From a In A GroupBy a.k Select 2 * SUM(a.v) + Length(a.k)", events),
            "[[null],[7]]");
  EXPECT_EQ(Rows("From a In A Where a.v > 1 Where a.v < 4 Select COUNT", events), "[[1]]");
  EXPECT_EQ(Rows("From a In A Where a.v > 100 Select COUNT", events), "[]");
  EXPECT_EQ(Rows("From a In A Where a.k Select COUNT", events), "[]");
}

// Rule 10.
TEST(QueryReference, ValuesAndLogic) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"n":9223372036854775807,"s":"b","t":true}}
)");
  const auto value = [&](const std::string& expression) {
    return Rows("From a In A Select " + expression, events);
  };
  EXPECT_EQ(value("a.n + 1"), "[[9.223372036854776e+18]]");
  EXPECT_EQ(value("6 / 3"), "[[2.0]]");
  EXPECT_EQ(value("1 / 0"), "[[null]]");
  EXPECT_EQ(value("1e308 * 10"), "[[null]]");
  EXPECT_EQ(value("a.s + 1"), "[[null]]");
  EXPECT_EQ(value("a.t + 1"), "[[null]]");
  EXPECT_EQ(value("a.no != 1"), "[[false]]");
  EXPECT_EQ(value("a.no = a.no"), "[[false]]");
  EXPECT_EQ(value("a.s < 'c'"), "[[true]]");
  EXPECT_EQ(value("a.s < 1"), "[[false]]");
  EXPECT_EQ(value("a.t = true"), "[[true]]");
  EXPECT_EQ(value("a.t > false"), "[[false]]");
  EXPECT_EQ(value("1 = 1.0"), "[[true]]");
  EXPECT_EQ(value("!a.no"), "[[true]]");
  EXPECT_EQ(value("a.n && true"), "[[false]]");
}

// Rules 11 and 12.
TEST(QueryReference, AggregatesAndFunctions) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"v":[1,2,2,3,10,-4,0.5,"x",null]}}
)");
  const auto value = [&](const std::string& expression) {
    return Rows("From a In A Select " + expression, events);
  };
  EXPECT_EQ(value("COUNT(a.v), COUNT(*), COUNT()"), "[[8,9,9]]");
  EXPECT_EQ(value("SUM(a.v), MIN(a.v), MAX(a.v), AVERAGE(a.v)"),
            "[[14.5,-4,10,2.0714285714285716]]");
  EXPECT_EQ(value("PERCENTILE(a.v, 50), PERCENTILE(a.v, 100), PERCENTILE(a.v, 0)"), "[[2,10,-4]]");
  EXPECT_EQ(value("DISTINCT(a.v)"), "[[7]]");
  EXPECT_EQ(value("HISTOGRAM(a.v)"), "[[[[null,1],[0,1],[1,1],[2,3],[8,1]]]]");
  EXPECT_EQ(
      Rows("From a In A Where a.v = 'x' Select SUM(a.v), DISTINCT(a.v), HISTOGRAM(a.v)", events),
      "[[null,1,null]]");
  EXPECT_EQ(value("Lower('AbC'), Upper('äbC'), Length('ä'), Contains('abc', 'b'), "
                  "StartsWith('abc', 'ab'), EndsWith('abc', 'ab'), Bucket(17, 5), Bucket(-1, 5), "
                  "Has(1), Lower(5), Bucket('a', 1), COUNT"),
            R"([["abc","äBC",2,true,true,false,15,-5,true,null,null,1]])");
}

// Rule 13.
TEST(QueryReference, WindowsAreTheFirstKeyAndColumn) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":-1,"vars":{"v":1}}
{"id":"2","tracepoint":"A","time_ns":3,"vars":{"v":2}}
{"id":"3","tracepoint":"A","time_ns":9,"vars":{"v":4}}
{"id":"4","tracepoint":"A","time_ns":10,"vars":{"v":8}}
)");
  EXPECT_EQ(Rows("From a In A Window 10ns Select SUM(a.v)", events), "[[-10,1],[0,6],[10,8]]");
  EXPECT_EQ(Rows("From a In A Window 10ns Select a.v", events), "[[-10,1],[0,2],[0,4],[10,8]]");
}

TEST(QueryReference, SampleKeepsWholeRequestsByTheHashOfTheirLeastId) {
  std::string lines;
  const int kRequests = 400;
  for (int i = 0; i < kRequests; ++i) {
    const std::string id = std::to_string(1000 + i);
    lines += R"({"id":"a)" + id + R"(","tracepoint":"A","time_ns":)" + id + "}\n";
    lines += R"({"id":"b)" + id + R"(","tracepoint":"B","time_ns":0,"after":["a)" + id + "\"]}\n";
  }
  const Execution events = Events(lines);
  const auto query =
      testing::Parsed("From b In B Join a In A On a -> b Sample 0.25 Select a.time, COUNT");
  const auto rows = EvaluateReference(*query, events);
  EXPECT_GT(rows.size(), 60u);
  EXPECT_LT(rows.size(), 140u);
  for (const auto& row : rows)
    EXPECT_TRUE(
        advice::Sampled("a" + std::to_string(std::get<int64_t>(row[0])), 0.25));  // not of b…
  EXPECT_EQ(Rows("From b In B Sample 0 Select COUNT", events), "[]");
  EXPECT_EQ(Rows("From b In B Sample 1 Select COUNT", events), "[[400]]");
  // FNV-1a 64 and MurmurHash3's finaliser, computed elsewhere: "a" hashes to 0.51029…
  EXPECT_TRUE(advice::Sampled("a", 0.5103));
  EXPECT_FALSE(advice::Sampled("a", 0.5102));
}

// Rule 14.
TEST(QueryReference, RowsAscendColumnByColumn) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"v":["b","a",2,1.5,-3,true,false,null,"B",10]}}
)");
  EXPECT_EQ(Rows("From a In A Select a.v", events),
            R"([[null],[false],[true],[-3],[1.5],[2],[10],["B"],["a"],["b"]])");
}

// Stored traces are asked by this evaluator, and some are long. Beside the same join without a filter, so that it holds at
// any speed: 1.3 times its CPU, and 33 times when every event looked through all of them for those of the filter.
TEST(QueryReference, AFilterOverALongRequestIsFoundOnce) {
  std::string lines = R"({"id":"r","tracepoint":"Request","time_ns":0})"
                      "\n";
  constexpr int kSteps = 2000, kWorks = 9;
  for (int step = 0; step < kSteps; ++step) {
    const std::string id = "s" + std::to_string(step);
    lines += R"({"id":")" + id + R"(","tracepoint":"Step","time_ns":1,"after":["r"],"vars":{"n":)" +
             std::to_string(step) + "}}\n";
    for (int work = 0; work < kWorks; ++work)
      lines += R"({"id":")" + id + "." + std::to_string(work) +
               R"(","tracepoint":"Work","time_ns":2,"after":[")" + id + "\"]}\n";
  }
  const Execution events = Events(lines);
  const std::string expected = "[[" + std::to_string(kSteps * kWorks) + "," +
                               std::to_string(int64_t{kWorks} * kSteps * (kSteps - 1) / 2) + "]]";
  const auto cpu_of = [&](const std::string& source) {
    const std::clock_t start = std::clock();
    EXPECT_EQ(
        Rows("From w In Work Join s In " + source + " On s -> w Select COUNT, SUM(s.n)", events),
        expected);
    return std::clock() - start;
  };
  const std::clock_t plain = cpu_of("Step"), filtered = cpu_of("MostRecent(Step)");
  EXPECT_LT(filtered, 10 * plain);
}

}  // namespace
}  // namespace wf::query
