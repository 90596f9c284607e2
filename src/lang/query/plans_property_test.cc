// All four plans print the same rows on random executions with branches and rejoins, and the happened-before join is
// what it says under each.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>

#include "lang/query/query_lab_test.h"
#include "lang/query/random_query_test.h"
#include "lang/query/rewrite.h"

namespace wf::query {
namespace {

using lab::OneOf;
using lab::Pick;

const std::vector<Plan> kPlans = {Plan::kReference, Plan::kAdvice, Plan::kRewritten, Plan::kEmit};

std::string RowsOf(const Query& query, const Execution& execution, Plan plan) {
  const auto run = RunPlan(plan, query, execution);
  RC_ASSERT(run.ok());
  return testing::RowsText(run->rows);
}

void CheckPlans(const std::string& text, const Execution& execution) {
  RC_LOG() << text << "\n" << WriteEvents(execution);
  const auto query = ParseQuery(text);
  if (!query) {
    // Sub-queries of sub-queries may multiply beyond what a query may have.
    RC_PRE(query.error().message.find("more than 100 aliases") == std::string::npos);
    RC_FAIL(query.error().message);
  }
  const std::string expected = RowsOf(**query, execution, Plan::kReference);
  for (const Plan plan : {Plan::kAdvice, Plan::kRewritten, Plan::kEmit})
    RC_ASSERT(RowsOf(**query, execution, plan) == expected);
  // Instances neither hide tuples nor make more of them than an ideal baggage would hold after any event. (On the way to
  // an event there may be more: its own tuples replace others under a filter.)
  const auto rewritten = Rewrite(**query);
  RC_ASSERT(rewritten.ok());
  const lab::IdealRun ideal(rewritten->program, execution);
  if (ideal.complete()) {
    const uint64_t carried = RunAdvicePlan(rewritten->program, execution).cost.packed_tuples_max;
    bool filters = false;
    for (const advice::Slot& slot : rewritten->program.slots)
      filters = filters || slot.keep != advice::Keep::kAll;
    RC_ASSERT((filters ? carried >= ideal.tuples_max() : carried == ideal.tuples_max()));
  }
  RC_CLASSIFY(expected != "[]", "has rows");
}

RC_GTEST_PROP(QueryPlans, AllPrintTheSameRows, ()) {
  CheckPlans(lab::RandomQuery().Text(), lab::RandomExecution(9));
}

RC_GTEST_PROP(QueryPlans, AllPrintTheSameRowsOfLargerExecutions, ()) {
  const std::string filter = OneOf(std::vector<std::string>{
      "A", "First(A)", "MostRecent(A)", "FirstN(3, A)", "MostRecentN(2, A, C)", "MostRecentN(3, A)",
      "(From c In C Join d In MostRecent(D) On d -> c Where c.y > 0 "
      "Select c.x As x, d.y As y)",
      "(From c In C GroupBy c.s Select c.s As x, SUM(c.y) As y)"});
  const std::string rest = OneOf(std::vector<std::string>{
      "Select b.host, a.x, a.y", "GroupBy a.x Select a.x, COUNT, SUM(a.y), MAX(b.time)",
      "Where a.y >= b.y Select AVERAGE(a.y), DISTINCT(a.x)", "Select b.time, COUNT, SUM(a.y)"});
  const std::string options = OneOf(
      std::vector<std::string>{"", "", "Sample 0.5 ", "Window 7ns ", "Sample 0.3 Window 4ns "});
  const size_t where = rest.rfind("Where", 0) == 0 ? rest.find("Select") : 0;
  CheckPlans("From b In B Join a In " + filter + " On a -> b " + rest.substr(0, where) + options +
                 rest.substr(where),
             lab::RandomExecution(40));
}

// ---- what a happened-before join is

Execution Numbered(Execution execution) {
  for (size_t i = 0; i < execution.events.size(); ++i)
    execution.events[i].variables["n"] = static_cast<int64_t>(i);
  return execution;
}

std::set<std::pair<int64_t, int64_t>> Joined(const Execution& execution, Plan plan) {
  const auto query =
      testing::Parsed("From y In A, B, C, D Join x In A, B, C, D On x -> y Select x.n, y.n");
  const auto run = RunPlan(plan, *query, execution);
  RC_ASSERT(run.ok());
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (const advice::Tuple& row : run->rows)
    RC_ASSERT(pairs.insert({std::get<int64_t>(row[0]), std::get<int64_t>(row[1])}).second);
  return pairs;
}

// Whether edges lead from y back to x, by looking.
bool Reaches(const Execution& execution, size_t x, size_t y) {
  for (const uint32_t before : execution.events[y].after)
    if (before == x || Reaches(execution, x, before)) return true;
  return false;
}

RC_GTEST_PROP(QueryPlans, HappenedBeforeIsOneWayAndWithinARequest, ()) {
  const Execution execution = Numbered(lab::RandomExecution());
  for (const Plan plan : kPlans) {
    const auto pairs = Joined(execution, plan);
    for (const auto& [x, y] : pairs) {
      RC_ASSERT(pairs.count({y, x}) == 0u);
      RC_ASSERT(execution.request[static_cast<size_t>(x)] ==
                execution.request[static_cast<size_t>(y)]);
    }
  }
}

RC_GTEST_PROP(QueryPlans, ParallelBranchesAreUnordered, ()) {
  const Execution execution = Numbered(lab::RandomExecution());
  for (const Plan plan : kPlans) {
    const auto pairs = Joined(execution, plan);
    for (size_t x = 0; x < execution.events.size(); ++x)
      for (size_t y = 0; y < execution.events.size(); ++y)
        RC_ASSERT((pairs.count({static_cast<int64_t>(x), static_cast<int64_t>(y)}) == 1) ==
                  Reaches(execution, x, y));
  }
}

// A trunk, branches of some length that each pack, and one event where all rejoin.
RC_GTEST_PROP(QueryPlans, WhatABranchPacksIsInvisibleToOthersUntilTheyRejoin, ()) {
  Execution execution;
  const auto add = [&](const char* tracepoint, int64_t branch, std::vector<uint32_t> after) {
    Event event;
    event.id = "e" + std::to_string(execution.events.size());
    event.tracepoint = tracepoint;
    event.time_ns = Pick(10);
    event.variables["branch"] = branch;
    event.after = std::move(after);
    execution.events.push_back(std::move(event));
    return static_cast<uint32_t>(execution.events.size() - 1);
  };
  const uint32_t trunk = add("A", -1, {});
  const int branches = 2 + Pick(4);
  std::vector<uint32_t> ends;
  for (int branch = 0; branch < branches; ++branch) {
    uint32_t last = add("A", branch, {trunk});
    for (int i = Pick(3); i > 0; --i) last = add("A", branch, {last});
    ends.push_back(add("Look", branch, {last}));
  }
  add("Look", branches, ends);
  uint32_t on_cycle = 0;
  RC_ASSERT(Arrange(execution, on_cycle));

  const auto query =
      testing::Parsed("From look In Look Join a In A On a -> look Select look.branch, a.branch");
  for (const Plan plan : kPlans) {
    const auto run = RunPlan(plan, *query, execution);
    RC_ASSERT(run.ok());
    std::set<int64_t> seen_after_rejoin;
    for (const advice::Tuple& row : run->rows) {
      const auto look = std::get<int64_t>(row[0]), packed = std::get<int64_t>(row[1]);
      if (look == branches)
        seen_after_rejoin.insert(packed);
      else
        RC_ASSERT(packed == look || packed == -1);
    }
    RC_ASSERT(seen_after_rejoin.size() == static_cast<size_t>(branches) + 1);
  }
}

}  // namespace
}  // namespace wf::query
