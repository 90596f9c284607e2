// What must hold of the happened-before join on any execution, against a transitive closure computed here.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "lang/query/query_lab_test.h"
#include "lang/query/reference.h"

namespace wf::query {
namespace {

// A random graph of events A and B, edges from later to earlier ones, so that there are branches, rejoins and several
// requests.
Execution RandomExecution() {
  const size_t size = *rc::gen::inRange<size_t>(1, 12);
  Execution execution;
  for (size_t i = 0; i < size; ++i) {
    Event event;
    event.id = "e" + std::to_string(i);
    event.tracepoint = *rc::gen::element<std::string>("A", "B");
    event.time_ns = *rc::gen::inRange(0, 5);
    event.variables["n"] = static_cast<int64_t>(i);
    for (size_t j = 0; j < i; ++j)
      if (*rc::gen::inRange(0, 4) == 0) event.after.push_back(static_cast<uint32_t>(j));
    execution.events.push_back(std::move(event));
  }
  uint32_t on_cycle = 0;
  RC_ASSERT(Arrange(execution, on_cycle));
  return execution;
}

std::vector<std::vector<bool>> Closure(const Execution& execution) {
  const size_t size = execution.events.size();
  std::vector<std::vector<bool>> before(size, std::vector<bool>(size, false));
  for (size_t i = 0; i < size; ++i)
    for (const uint32_t j : execution.events[i].after) before[j][i] = true;
  for (size_t k = 0; k < size; ++k)
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j < size; ++j)
        if (before[i][k] && before[k][j]) before[i][j] = true;
  return before;
}

std::multiset<std::pair<int64_t, int64_t>> Pairs(std::string_view query,
                                                 const Execution& execution) {
  std::multiset<std::pair<int64_t, int64_t>> pairs;
  for (const auto& row : EvaluateReference(*testing::Parsed(query), execution))
    pairs.insert({std::get<int64_t>(row[0]), std::get<int64_t>(row[1])});
  return pairs;
}

RC_GTEST_PROP(HappenedBefore, StaysWhenImpliedEdgesAreDropped, ()) {
  Execution execution = RandomExecution();
  const auto before = Closure(execution);
  const std::vector<uint32_t> order = execution.order;
  DropImpliedEdges(execution);
  RC_ASSERT(Closure(execution) == before);
  RC_ASSERT(execution.order == order);
}

// A hundred thousand steps, one after the other, in a whole that begins before and ends after each of them: what is left
// is one line, so that nothing is split along it.
TEST(HappenedBefore, ARowOfStepsInAWholeIsOneLine) {
  constexpr uint32_t kSteps = 100'000;
  Execution execution;
  execution.events.resize(kSteps + 2);
  for (uint32_t i = 0; i < kSteps + 2; ++i) execution.events[i].id = std::to_string(i);
  for (uint32_t step = 1; step <= kSteps; ++step) {
    execution.events[step].after = {0};
    if (step > 1) execution.events[step].after.push_back(step - 1);
    execution.events[kSteps + 1].after.push_back(step);
  }
  uint32_t on_cycle = 0;
  ASSERT_TRUE(Arrange(execution, on_cycle));
  DropImpliedEdges(execution);
  for (uint32_t i = 1; i < kSteps + 2; ++i)
    ASSERT_EQ(execution.events[i].after, std::vector<uint32_t>{i - 1});
}

RC_GTEST_PROP(HappenedBefore, JoinsExactlyThePairsOfTheClosure, ()) {
  const Execution execution = RandomExecution();
  const auto before = Closure(execution);
  std::multiset<std::pair<int64_t, int64_t>> expected;
  for (size_t i = 0; i < before.size(); ++i)
    for (size_t j = 0; j < before.size(); ++j)
      if (before[i][j] && execution.events[i].tracepoint == "A" &&
          execution.events[j].tracepoint == "B")
        expected.insert({i, j});
  RC_ASSERT(Pairs("From b In B Join a In A On a -> b Select a.n, b.n", execution) == expected);
}

RC_GTEST_PROP(HappenedBefore, IsOneWayAndStaysInTheRequest, ()) {
  const Execution execution = RandomExecution();
  const auto pairs = Pairs("From y In A, B Join x In A, B On x -> y Select x.n, y.n", execution);
  for (const auto& [x, y] : pairs) {
    RC_ASSERT(pairs.count({y, x}) == 0u);
    RC_ASSERT(execution.request[x] == execution.request[y]);
  }
}

RC_GTEST_PROP(HappenedBefore, TheOrderOfLinesMeansNothing, ()) {
  const Execution execution = RandomExecution();
  const std::string query =
      "From y In A, B Join x In MostRecentN(2, A) On x -> y GroupBy x.n Select x.n, COUNT";
  std::vector<std::string> lines;
  std::string text = WriteEvents(execution), line;
  for (const char c : text) {
    if (c == '\n')
      lines.push_back(std::exchange(line, ""));
    else
      line += c;
  }
  for (size_t i = lines.size(); i > 1; --i)
    std::swap(lines[i - 1], lines[*rc::gen::inRange<size_t>(0, i)]);
  std::string shuffled;
  for (const std::string& one : lines) shuffled += one + "\n";
  RC_ASSERT(testing::Rows(query, testing::Events(shuffled)) == testing::Rows(query, execution));
}

}  // namespace
}  // namespace wf::query
