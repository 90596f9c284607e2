// What travels under each plan, and that all of them find figure 3.
#include "lang/query/plans.h"

#include <gtest/gtest.h>

#include "lang/query/query_lab_test.h"

namespace wf::query {
namespace {

using testing::Events;

constexpr Plan kPlans[] = {Plan::kReference, Plan::kAdvice, Plan::kRewritten, Plan::kEmit};

PlanRun RunQuery(std::string_view query, const Execution& execution, Plan plan) {
  const auto parsed = testing::Parsed(query);
  if (parsed == nullptr) return {};
  auto run = RunPlan(plan, *parsed, execution);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return run.ok() ? std::move(*run) : PlanRun();
}

void ExpectRows(std::string_view query, const Execution& execution, std::string_view rows) {
  for (const Plan plan : kPlans)
    EXPECT_EQ(testing::RowsText(RunQuery(query, execution, plan).rows), rows)
        << query << ", plan " << static_cast<int>(plan);
}

// A chain of events: each word is the tracepoint, or tracepoint:value for its variable v.
std::string Chain(std::initializer_list<const char*> words) {
  std::string lines;
  int number = 0;
  for (const std::string word : words) {
    const size_t colon = word.find(':');
    const std::string id = std::to_string(number);
    lines +=
        R"({"id":"e)" + id + R"(","tracepoint":")" + word.substr(0, colon) + R"(","time_ns":)" + id;
    if (colon != std::string::npos) lines += R"(,"vars":{"v":")" + word.substr(colon + 1) + R"("})";
    if (number > 0) lines += R"(,"after":["e)" + std::to_string(number - 1) + R"("])";
    lines += "}\n";
    ++number;
  }
  return lines;
}

// Pivot Tracing, figure 3: s → a1 → a2 → b2 → c2 and s → b1 → c1 → a3 → c2.
TEST(QueryPlans, Figure3) {
  const Execution events = Events(R"(
{"id":"s","tracepoint":"S","time_ns":0}
{"id":"a1","tracepoint":"A","time_ns":1,"after":["s"],"vars":{"n":"a1"}}
{"id":"a2","tracepoint":"A","time_ns":2,"after":["a1"],"vars":{"n":"a2"}}
{"id":"b2","tracepoint":"B","time_ns":3,"after":["a2"],"vars":{"n":"b2"}}
{"id":"b1","tracepoint":"B","time_ns":1,"after":["s"],"vars":{"n":"b1"}}
{"id":"c1","tracepoint":"C","time_ns":2,"after":["b1"],"vars":{"n":"c1"}}
{"id":"a3","tracepoint":"A","time_ns":3,"after":["c1"],"vars":{"n":"a3"}}
{"id":"c2","tracepoint":"C","time_ns":4,"after":["b2","a3"],"vars":{"n":"c2"}}
)");
  ExpectRows("From a In A Select a.n", events, R"([["a1"],["a2"],["a3"]])");
  ExpectRows("From b In B Join a In A On a -> b Select a.n, b.n", events,
             R"([["a1","b2"],["a2","b2"]])");
  ExpectRows("From c In C Join b In B On b -> c Select b.n, c.n", events,
             R"([["b1","c1"],["b1","c2"],["b2","c2"]])");
  ExpectRows("From c In C Join b In B On b -> c Join a In A On a -> b Select a.n, b.n, c.n", events,
             R"([["a1","b2","c2"],["a2","b2","c2"]])");
}

// Copies that come together again count once; what each branch adds counts for itself.
TEST(QueryPlans, WhatComesTwoWaysCountsOnce) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"A","time_ns":1,"vars":{"v":1}}
{"id":"2","tracepoint":"X","time_ns":2,"after":["1"]}
{"id":"3","tracepoint":"A","time_ns":3,"after":["1"],"vars":{"v":10}}
{"id":"4","tracepoint":"A","time_ns":4,"after":["2"],"vars":{"v":100}}
{"id":"5","tracepoint":"B","time_ns":5,"after":["3","4"]}
{"id":"6","tracepoint":"B","time_ns":6,"after":["4"]}
{"id":"7","tracepoint":"B","time_ns":7,"after":["5","6"]}
)");
  ExpectRows("From b In B Join a In A On a -> b GroupBy b.time Select b.time, SUM(a.v), COUNT",
             events, "[[5,111,3],[6,101,2],[7,111,3]]");
  const PlanRun run =
      RunQuery("From b In B Join a In A On a -> b Select SUM(a.v)", events, Plan::kRewritten);
  EXPECT_EQ(run.cost.packed_tuples_max, 1u);
}

TEST(QueryPlans, AHistogramOfASubQueryArrives) {
  const Execution events = Events(R"(
{"id":"a","tracepoint":"A","time_ns":0,"vars":{"y":0}}
{"id":"b","tracepoint":"A","time_ns":1,"after":["a"],"vars":{"y":4}}
{"id":"c","tracepoint":"B","time_ns":2,"after":["b"]}
)");
  ExpectRows(
      "Q: From a In A Select HISTOGRAM(a.y) As h; From b In B Join q In Q On q -> b Select q.h",
      events, "[[[[0,1],[4,1]]]]");
  ExpectRows(
      "Q: From a In A Select HISTOGRAM(a.y) As h; From b In B Join q In Q On q -> b "
      "GroupBy q.h Select q.h, COUNT",
      events, "[[[[0,1],[4,1]],1]]");
}

TEST(QueryPlans, ARequestCarriesNoMoreTuplesThanItMust) {
  const Execution events =
      Events(Chain({"A:x", "A:y", "A:x", "A:z", "A:y", "A:x", "B", "A:w", "B"}));
  struct Case {
    const char* query;
    uint64_t rewritten;
  };
  for (const Case& one :
       {Case{"From b In B Join a In A On a -> b Select COUNT", 1},
        Case{"From b In B Join a In A On a -> b Select MAX(a.v), SUM(a.time)", 1},
        Case{"From b In B Join a In First(A) On a -> b Select a.v", 1},
        Case{"From b In B Join a In MostRecent(A) On a -> b Select a.v", 1},
        Case{"From b In B Join a In A On a -> b GroupBy a.v Select a.v, COUNT", 4},
        Case{"From b In B Join a In FirstN(3, A) On a -> b Select a.v", 3},
        Case{"From b In B Join a In MostRecentN(2, A) On a -> b Select a.time", 2}}) {
    EXPECT_EQ(RunQuery(one.query, events, Plan::kRewritten).cost.packed_tuples_max, one.rewritten)
        << one.query;
    const PlanRun emit = RunQuery(one.query, events, Plan::kEmit);
    EXPECT_EQ(emit.cost.emitted, events.events.size()) << one.query;
    EXPECT_EQ(emit.cost.baggage_bytes_max, 22u) << one.query;
    EXPECT_EQ(emit.cost.packed_tuples_max, 0u) << one.query;
  }
}

// Pivot Tracing §6.3: 4 tuples, about 137 bytes.
TEST(QueryPlans, Q7CarriesFourTuplesIn137Bytes) {
  const Execution events = Events(R"(
{"id":"1","tracepoint":"StressTest.DoNextOp","time_ns":1,"host":"client07"}
{"id":"2","tracepoint":"NN.GetBlockLocations","time_ns":2,"host":"namenode","after":["1"],"vars":{"replicas":["datano01","datano05","datano03"]}}
{"id":"3","tracepoint":"DN.DataTransferProtocol","time_ns":3,"host":"datano05","after":["2"]}
)");
  const PlanRun run = RunQuery(R"(From DNop In DN.DataTransferProtocol
Join getloc In NN.GetBlockLocations On getloc -> DNop
Join st In StressTest.DoNextOp On st -> getloc
Where st.host != DNop.host
GroupBy DNop.host, getloc.replicas
Select DNop.host, getloc.replicas, COUNT)",
                               events, Plan::kRewritten);
  EXPECT_EQ(testing::RowsText(run.rows),
            R"([["datano05","datano01",1],["datano05","datano03",1],["datano05","datano05",1]])");
  EXPECT_EQ(run.cost.packed_tuples_max, 4u);
  EXPECT_LE(run.cost.baggage_bytes_max, 137u);
  EXPECT_GE(run.cost.baggage_bytes_max, 4u * 8);  // the names are in there
}

TEST(QueryPlans, NothingTravelsWithoutAJoin) {
  const Execution events = Events(Chain({"A:x", "A:y"}));
  for (const Plan plan : {Plan::kAdvice, Plan::kRewritten}) {
    const PlanRun run = RunQuery("From a In A Select a.v", events, plan);
    EXPECT_EQ(run.cost.packed_tuples_max, 0u);
    EXPECT_EQ(run.cost.baggage_bytes_max, 0u);
    EXPECT_EQ(run.cost.emitted, 2u);
  }
}

// A loop of splits and joins, each branch packing: instances melt, so that the thousandth turn costs what the first did.
TEST(QueryPlans, ALongLoopOfSplitsAndJoinsCarriesOneTuple) {
  std::string lines = R"({"id":"0","tracepoint":"S","time_ns":0})"
                      "\n";
  std::string before = "0";
  for (int i = 1; i <= 1000; ++i) {
    const std::string n = std::to_string(i);
    for (const char* side : {"l", "r"})
      lines += R"({"id":")" + (side + n) + R"(","tracepoint":"A","time_ns":)" + n +
               R"(,"vars":{"v":1},"after":[")" + before + "\"]}\n";
    before = "j" + n;
    lines += R"({"id":")" + before + R"(","tracepoint":"J","time_ns":)" + n + R"(,"after":["l)" +
             n + R"(","r)" + n + "\"]}\n";
  }
  lines += R"({"id":"e","tracepoint":"B","time_ns":9,"after":[")" + before + "\"]}\n";
  const Execution events = Events(lines);
  const PlanRun run =
      RunQuery("From b In B Join a In A On a -> b Select SUM(a.v)", events, Plan::kRewritten);
  EXPECT_EQ(testing::RowsText(run.rows), "[[2000]]");
  EXPECT_EQ(run.cost.packed_tuples_max, 1u);
  EXPECT_LE(run.cost.baggage_bytes_max, 64u);
  EXPECT_EQ(
      testing::RowsText(
          RunQuery("From b In B Join a In A On a -> b Select SUM(a.v)", events, Plan::kEmit).rows),
      "[[2000]]");
}

}  // namespace
}  // namespace wf::query
