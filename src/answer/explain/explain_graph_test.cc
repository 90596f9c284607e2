#include "answer/explain/explain_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wf::answer {
namespace {

// Two requests of maintenance hold storage and its lock while ours waits; columns as the builder would make them.
struct Example {
  Example() {
    Add("m1", ProvenanceType::kInsert, "rewrite(1)", "maintenance", 0, 1, {});
    Add("m2", ProvenanceType::kInsert, "rewrite(2)", "maintenance", 1, 2, {});
    Add("w1", ProvenanceType::kDerive, "write(1)", "maintenance", 2, 5, {0});
    Add("w2", ProvenanceType::kDerive, "write(2)", "maintenance", 5, 9, {1});
    Add("ours", ProvenanceType::kDerive, "+read(7)", "frontend", 9, 10, {});
    x.causes_begin.push_back(static_cast<uint32_t>(x.causes.size()));
    x.resource_name = {x.strings.Intern("storage"), x.strings.Intern("lock")};
    x.servers = {1, 1};
    x.holds_begin = {0, 0, 0, 1, 2, 4};
    x.holds = {{1, 0, 2}, {1, 0, 5}, {0, 0, 9}, {1, 0, 9}};
  }
  void Add(const char* id, ProvenanceType type, const char* tuple, const char* origin, Nanos start,
           Nanos end, std::vector<uint32_t> causes) {
    x.type.push_back(type);
    x.id.push_back(x.strings.Intern(id));
    x.node.push_back(x.strings.Intern("storage"));
    x.tuple.push_back(x.strings.Intern(tuple));
    x.name.push_back(x.strings.Intern(std::string(tuple).substr(0, std::string(tuple).find('('))));
    x.origin.push_back(x.strings.Intern(origin));
    x.start_ns.push_back(start), x.end_ns.push_back(end);
    x.causes_begin.push_back(static_cast<uint32_t>(x.causes.size()));
    x.causes.insert(x.causes.end(), causes.begin(), causes.end());
  }
  provenance::Execution x;
};

TEST(ExplainGraph, NamesCountsRequestsAndResources) {
  const Example example;
  provenance::Explanation e;
  e.from = 4, e.root = 4, e.delay_ns = 10;
  e.vertices.push_back({{2, 3}, 2, 9, 7, 7, false, false, {}, {}});
  e.vertices.push_back({{4}, 9, 10, 10, 3, true, true, {{0, 10}}, {{0, 2}, {9, 10}}});
  e.edges.push_back({0, 1, provenance::ExplanationEdgeKind::kSequencing, 7});
  const ExplainGraph graph = NamedExplanation(example.x, e);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].tuple, "write");
  EXPECT_EQ(graph.nodes[0].id, "w1");
  EXPECT_EQ(graph.nodes[0].count, 2);
  EXPECT_EQ(graph.nodes[0].requests, 2);
  EXPECT_EQ(graph.nodes[1].tuple, "+read(7)");
  EXPECT_EQ(graph.nodes[1].waited_ns, 2);  // [0, 2) of its own time is before it began
  EXPECT_TRUE(graph.nodes[1].expired);
  EXPECT_EQ(graph.root, 1u);
  EXPECT_EQ(graph.from, 1u);
  EXPECT_EQ(graph.links[0].resource, "lock");  // what both held; storage itself was ours alone
}

// Segments of a span are one piece of work; the same name set off by two inputs is two.
TEST(ExplainGraph, RequestsAreWhatWasSetOff) {
  Example example;
  const uint32_t same = example.x.tuple[2];
  example.x.tuple[3] = same;
  provenance::Explanation e;
  e.from = 4, e.root = 4, e.delay_ns = 10;
  e.vertices.push_back({{2, 3}, 2, 9, 7, 7, false, false, {}, {}});
  EXPECT_EQ(NamedExplanation(example.x, e).nodes[0].requests, 2);
  example.x.causes[1] = 0;  // now both come of m1
  EXPECT_EQ(NamedExplanation(example.x, e).nodes[0].requests, 1);
}

TEST(ExplainGraph, ManyMembersWithManyEdgesCostNoSquare) {
  // A hundred thousand that waited, shown as one, behind a thousand others: looking at all of them for each edge would
  // take minutes.
  std::string lines = R"({"resource":"pool","servers":200000})"
                      "\n";
  constexpr int kWaiters = 100'000, kOthers = 1'000;
  for (int i = 0; i < kWaiters + kOthers; ++i)
    lines +=
        fmt::format(R"({{"id":"e{}","type":"INS","node":"n","tuple":"t","start_ns":{},"end_ns":{},)"
                    R"("resource":"pool"}})"
                    "\n",
                    i, i, i + 1);
  const auto x = provenance::ReadExecution(lines, "f");
  ASSERT_TRUE(x.ok()) << x.error().message;
  provenance::Explanation e;
  e.from = e.root = 0;
  provenance::ExplanationVertex waiters;
  for (uint32_t i = 0; i < kWaiters; ++i) waiters.members.push_back(i);
  e.vertices.push_back(waiters);
  for (uint32_t i = 0; i < kOthers; ++i) {
    provenance::ExplanationVertex other;
    other.members = {kWaiters + i};
    e.vertices.push_back(other);
    e.edges.push_back({i + 1, 0, provenance::ExplanationEdgeKind::kSequencing, 1});
  }
  const ExplainGraph graph = NamedExplanation(*x, e);
  ASSERT_EQ(graph.links.size(), static_cast<size_t>(kOthers));
  EXPECT_EQ(graph.links.back().resource, "pool");
}

TEST(ExplainGraph, TupleNames) {
  EXPECT_EQ(TupleName("+ping(@a,1)"), "ping");
  EXPECT_EQ(TupleName("-ping"), "ping");
  EXPECT_EQ(TupleName("GET /items"), "GET /items");
  EXPECT_EQ(TupleName(""), "");
}

TEST(ExplainGraph, SpanIdsAreForMachines) {
  EXPECT_EQ(ReadableTuple("GET /items(00f067aa0ba902b7)"), "GET /items");
  EXPECT_EQ(ReadableTuple("GET /items(00f067aa0ba902bX)"), "GET /items(00f067aa0ba902bX)");
  EXPECT_EQ(ReadableTuple("+ping(@a,1)"), "+ping(@a,1)");
  EXPECT_EQ(ReadableTuple("x"), "x");
}

}  // namespace
}  // namespace wf::answer
