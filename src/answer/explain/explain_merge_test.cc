#include "answer/explain/explain_merge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "answer/explain/explain_json.h"

namespace wf::answer {
namespace {

// Two requests wait behind the same scan, then read twice.
constexpr char kEvents[] = R"events(
{"id":"a","type":"INS","node":"s","tuple":"ask(1)","start_ns":0,"end_ns":0,"origin":"web","holds":[]}
{"id":"b","type":"INS","node":"s","tuple":"ask(2)","start_ns":10,"end_ns":10,"origin":"web","holds":[]}
{"id":"x","type":"INS","node":"s","tuple":"scan(3)","start_ns":0,"end_ns":100,"origin":"cron"}
{"id":"a1","type":"DRV","node":"s","tuple":"read(1)","start_ns":100,"end_ns":110,"causes":["a"],"origin":"web"}
{"id":"a2","type":"DRV","node":"s","tuple":"read(1)","start_ns":110,"end_ns":130,"causes":["a1"],"origin":"web"}
{"id":"b1","type":"DRV","node":"s","tuple":"read(2)","start_ns":130,"end_ns":140,"causes":["b"],"origin":"web"}
{"id":"b2","type":"DRV","node":"s","tuple":"read(2)","start_ns":140,"end_ns":160,"causes":["b1"],"origin":"web"}
)events";

provenance::Explanation ExplainTo(const provenance::Execution& x, const char* from,
                                  const char* to) {
  provenance::ExplainOptions options;
  options.from = x.Find(from);
  options.to = x.Find(to);
  auto found = provenance::Explain(x, options);
  EXPECT_TRUE(found.ok()) << found.error().message;
  return std::move(*found);
}

const provenance::ExplanationVertex* Named(const provenance::Execution& x,
                                           const provenance::Explanation& e, std::string_view id) {
  for (const provenance::ExplanationVertex& v : e.vertices) {
    if (!v.twin && x.str(x.id[v.members[0]]) == id) return &v;
  }
  return nullptr;
}

TEST(ExplainMerge, WhatIsCommonStandsOnceWithTheTimeOfAll) {
  const auto x = provenance::ReadExecution(kEvents, "events");
  ASSERT_TRUE(x.ok()) << x.error().message;
  const provenance::Explanation one = ExplainTo(*x, "a", "a2"), other = ExplainTo(*x, "b", "b2");
  const provenance::Explanation merged = MergeExplanations(*x, {one, other}).explanation;
  EXPECT_EQ(merged.delay_ns, 130 + 150);
  Nanos self = 0;
  for (const provenance::ExplanationVertex& v : merged.vertices) self += v.self_ns;
  EXPECT_EQ(self, merged.delay_ns);
  // On the path, the first reads and the second reads are told apart.
  const provenance::ExplanationVertex* first = Named(*x, merged, "a1");
  const provenance::ExplanationVertex* second = Named(*x, merged, "a2");
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->members, (std::vector<uint32_t>{x->Find("a1"), x->Find("b1")}));
  EXPECT_EQ(second->members, (std::vector<uint32_t>{x->Find("a2"), x->Find("b2")}));
  EXPECT_EQ(second->delay_ns, 130 + 150);
  EXPECT_EQ(second->end_ns, 160);
  // The scan delayed both: once a member, twice the time.
  const provenance::ExplanationVertex* scan = Named(*x, merged, "x");
  ASSERT_NE(scan, nullptr);
  EXPECT_EQ(scan->members.size(), 1u);
  EXPECT_EQ(scan->delay_ns, 100 + 90);
  EXPECT_EQ(scan->intervals, (std::vector<provenance::Interval>{{0, 100}}));
  EXPECT_EQ(merged.root, x->Find("a2"));
  EXPECT_EQ(merged.from, x->Find("a"));
  for (const provenance::ExplanationEdge& edge : merged.edges) EXPECT_NE(edge.from, edge.to);
}

TEST(ExplainMerge, KeysAreThoseOfTheRequests) {
  const auto x = provenance::ReadExecution(kEvents, "events");
  const provenance::Explanation one = ExplainTo(*x, "a", "a2"), other = ExplainTo(*x, "b", "b2");
  const auto merged = MergeExplanations(*x, {one, other});
  ASSERT_EQ(merged.keys.size(), merged.explanation.vertices.size());
  const auto keys = KeysOf(*x, one);
  for (size_t v = 0; v < one.vertices.size(); ++v) {
    bool found = false;
    for (size_t m = 0; m < merged.keys.size(); ++m) {
      if (merged.keys[m] != keys[v]) continue;
      found = true;
      const auto& members = merged.explanation.vertices[m].members;
      EXPECT_EQ(std::count(members.begin(), members.end(), one.vertices[v].members[0]), 1);
    }
    EXPECT_TRUE(found);
  }
  EXPECT_TRUE(std::is_sorted(merged.explanation.vertices.begin(), merged.explanation.vertices.end(),
                             provenance::ComesBefore));
}

TEST(ExplainMerge, OnesOwnWorkThatAnotherWaitsForHasTwoIds) {
  const auto x = provenance::ReadExecution(kEvents, "events");
  ASSERT_TRUE(x.ok());
  const provenance::Explanation merged =
      MergeExplanations(*x, {ExplainTo(*x, "a", "a2"), ExplainTo(*x, "b", "b2")}).explanation;
  // b waited behind the reads of a.
  const std::string json = ExplanationJson(*x, merged, provenance::ExplanationView::kMerged);
  const auto times = [&](const std::string& text) {
    int count = 0;
    for (size_t at = json.find(text); at != std::string::npos; at = json.find(text, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(times("{\"id\":\"a1\""), 1) << json;
  EXPECT_EQ(times("{\"id\":\"a1~\""), 1) << json;
  EXPECT_EQ(times("\"from\":\"a1~\""), 1) << json;
}

TEST(ExplainMerge, OneStaysAsItIs) {
  const auto x = provenance::ReadExecution(kEvents, "events");
  ASSERT_TRUE(x.ok());
  const provenance::Explanation one = ExplainTo(*x, "a", "a2");
  const provenance::Explanation merged = MergeExplanations(*x, {one}).explanation;
  EXPECT_EQ(merged.delay_ns, one.delay_ns);
  EXPECT_EQ(merged.vertices.size(), one.vertices.size());
  EXPECT_EQ(merged.edges.size(), one.edges.size());
}

}  // namespace
}  // namespace wf::answer
