// The figures of Zeno, with every number that its text gives. Times are in tenths of its seconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/provenance/event_lines_test.h"
#include "analysis/provenance/explanation.h"
#include "analysis/provenance/random_executions_test.h"
#include "analysis/provenance/speed_up_test.h"

namespace wf::provenance {
namespace {

using testing::Build;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ParseEvents;
using ::testing::UnorderedElementsAre;

struct Answer {
  Execution x;
  Explanation explanation;

  const ExplanationVertex* Vertex(const std::string& id) const {
    for (const ExplanationVertex& v : explanation.vertices) {
      if (x.str(x.id[v.members[0]]) == id) return &v;
    }
    return nullptr;
  }
  Nanos Delay(const std::string& id) const { return Vertex(id) ? Vertex(id)->delay_ns : -1; }
  Nanos Self(const std::string& id) const { return Vertex(id) ? Vertex(id)->self_ns : -1; }
  std::vector<Interval> Over(const std::string& id) const { return Vertex(id)->intervals; }
  std::vector<Interval> SelfOver(const std::string& id) const { return Vertex(id)->self_intervals; }
  std::vector<std::string> Ids() const {
    std::vector<std::string> out;
    for (const ExplanationVertex& v : explanation.vertices)
      out.emplace_back(x.str(x.id[v.members[0]]));
    return out;
  }
  std::vector<std::string> Edges() const {
    std::vector<std::string> out;
    for (const ExplanationEdge& e : explanation.edges) {
      const auto id = [&](uint32_t v) {
        return std::string(x.str(x.id[explanation.vertices[v].members[0]]));
      };
      out.push_back(id(e.from) + (e.kind == ExplanationEdgeKind::kCausal ? "->" : "~>") + id(e.to));
    }
    return out;
  }
};

Answer Ask(const std::string& text, const std::string& from, const std::string& to,
           ExplanationView view = ExplanationView::kMerged, const std::string& what_if = "") {
  auto x = Build(ParseEvents(text));
  EXPECT_TRUE(x.ok()) << x.error().message;
  ExplainOptions options;
  options.from = x->Find(from);
  options.to = x->Find(to);
  options.view = view;
  if (!what_if.empty()) options.what_if.push_back(*ParseExplainWhatIf(what_if));
  auto explanation = Explain(*x, options);
  EXPECT_TRUE(explanation.ok()) << explanation.error().message;
  return {std::move(*x), std::move(*explanation)};
}

TEST(ZenoFigures, Figure4_ElevenSecondsBehindTheMaintenanceService) {
  // The computing service issues a request, 1 s; the backend has 11 s of maintenance requests before it.
  std::string text = R"(
    INS request C 0..0 origin=compute
    DRV rpc     C 0..1 < request origin=compute
    SND out     C 1..1 < rpc origin=compute
    RCV in      B 1..1 < out holds= origin=compute
    DRV answer  B 12..12 < in resource=worker origin=compute
  )";
  for (int i = 0; i < 11; ++i) {
    text += "INS m" + std::to_string(i) + " B " + std::to_string(i + 1) + ".." +
            std::to_string(i + 2) + " tuple=rpc(" + std::to_string(i) +
            ") resource=worker origin=maintenance\n";
  }
  const Answer answer = Ask(text, "request", "answer");
  EXPECT_EQ(answer.explanation.delay_ns, 120);
  EXPECT_EQ(answer.Delay("rpc"), 10);
  EXPECT_EQ(answer.Delay("m0"), 110);
  EXPECT_EQ(answer.Vertex("m0")->members.size(), 11u);
  EXPECT_FALSE(answer.Vertex("m0")->functional);
  EXPECT_EQ(answer.explanation.sizes.aggregated, 6);
}

TEST(ZenoFigures, Figure5a_CausalAndSequencingEdgesAreOrthogonal) {
  const Answer raw = Ask(R"(
    INS A X 0..1
    DRV B X 1..2 < A
    DRV C X 2..3 < A
  )",
                         "A", "C", ExplanationView::kRaw);
  EXPECT_THAT(raw.Edges(), UnorderedElementsAre("A->B", "A~>B", "A->C", "B~>C"));
}

TEST(ZenoFigures, Figure5b_LinearProvenance) {
  const Answer answer = Ask(R"(
    INS Z X 0..0
    DRV C X 0..2 < Z
    DRV B X 2..4 < C
    DRV A X 4..5 < B
  )",
                            "Z", "A");
  EXPECT_EQ(answer.Delay("A"), 50);
  EXPECT_EQ(answer.Self("A"), 10);
  EXPECT_EQ(answer.Delay("B"), 40);
  EXPECT_EQ(answer.Self("B"), 20);
  EXPECT_EQ(answer.Delay("C"), 20);
  EXPECT_EQ(answer.Delay("Z"), 0);  // kept all the same
}

constexpr const char* kFigure5c = R"(
    INS Z X 0..0
    DRV C X 0..2 < Z
    DRV B X 2..4 < C
    INS F Y 3..4
    DRV E Y 4..6 < F
    DRV A X 6..7 < B E
)";

TEST(ZenoFigures, Figure5c_PreconditionsInTheOrderInWhichTheyWereSatisfied) {
  const Answer answer = Ask(kFigure5c, "Z", "A");
  EXPECT_EQ(answer.Delay("B"), 40);
  EXPECT_EQ(answer.Delay("E"), 20);
  EXPECT_EQ(answer.Delay("A"), 70);
  EXPECT_EQ(answer.Self("A"), 10);
}

TEST(ZenoFigures, Figure5d_AnOffPathBranchGetsTheRest) {
  const Answer answer = Ask(R"(
    INS Z X 0..0
    DRV C X 0..2 < Z
    DRV B X 2..4 < C
    INS F Y 5..6
    DRV E Y 6..7 < F
    DRV A X 7..8 < B E
  )",
                            "Z", "A");
  EXPECT_EQ(answer.Delay("B"), 40);
  EXPECT_EQ(answer.Delay("E"), 30);
}

TEST(ZenoFigures, Figure5e_WhatRemainsGoesToThePredecessors) {
  const Answer answer = Ask(R"(
    INS Z X 0..0
    DRV B X 0..1 < Z
    INS G X 1..1
    DRV I X 1..2 < G
    DRV K X 2..3 < G
    DRV H X 3..4 < G
    DRV A X 4..5 < B
  )",
                            "Z", "A", ExplanationView::kPruned);
  EXPECT_EQ(answer.Delay("I") + answer.Delay("K") + answer.Delay("H"), 30);
  EXPECT_EQ(answer.Delay("H"), 10);
  EXPECT_EQ(answer.Delay("B"), 10);
  EXPECT_EQ(answer.Delay("A"), 50);
}

TEST(ZenoFigures, Figure5f_WhatDelayedNothingIsHidden) {
  const std::string text = R"(
    INS Z X 0..0
    DRV C X 0..2 < Z
    DRV B X 2..4 < C
    INS H Y 0..0.5
    INS G Y 0.5..1
    DRV F Y 1..3 < G
    DRV E Y 3..6 < H
    DRV A X 6..7 < B E
  )";
  const Answer raw = Ask(text, "Z", "A", ExplanationView::kRaw), shown = Ask(text, "Z", "A");
  EXPECT_EQ(shown.Delay("B"), 40);
  EXPECT_EQ(shown.Delay("E"), 20);
  EXPECT_EQ(raw.Delay("F"), 0);
  EXPECT_EQ(raw.Delay("G"), 0);
  EXPECT_EQ(shown.Delay("F"), -1);
  EXPECT_EQ(shown.Delay("G"), -1);
  EXPECT_EQ(shown.Delay("H"), 0);  // a cause of what has delay
}

constexpr const char* kFigure13 = R"(
    INS Z  X 0..0
    DRV C  X 0..2 < Z
    SND +C X 2..2 < C tuple=+C
    INS G  Y 2..2.5
    DRV B  X 2..4 < C
    RCV -C Y 2.5..3.5 < +C tuple=+C
    DRV F  Y 3.5..4 < G
    DRV E  Y 4..5.5 < -C F
    SND +E Y 5.5..5.5 < E tuple=+E
    RCV -E X 5.5..6 < +E tuple=+E
    DRV A  X 6..7 < B -E
    INS later X 7..8
    INS other W 0..9
)";

TEST(ZenoFigures, Figure13_EdgesAndTheExtractedTrace) {
  const Answer raw = Ask(kFigure13, "Z", "A", ExplanationView::kRaw);
  const std::vector<std::string> edges = raw.Edges();
  for (const char* edge :
       {"C->+C", "C~>+C", "+C->-C", "+C~>-C", "+E->-E", "+E~>-E", "G->F", "-C~>F"})
    EXPECT_THAT(edges, ::testing::Contains(edge));
  // The chain of F goes on to INS(G), a cause of it.
  EXPECT_THAT(edges, ::testing::Contains("G~>-C"));
  EXPECT_THAT(edges, ::testing::Not(::testing::Contains("G~>F")));
  const auto extract = ReadExecution(ExtractEvents(raw.x, raw.x.Find("A")), "extract");
  ASSERT_TRUE(extract.ok());
  std::vector<std::string> trace;
  for (uint32_t e = 0; e < extract->size(); ++e) trace.emplace_back(extract->str(extract->id[e]));
  EXPECT_THAT(trace, ElementsAre("Z", "C", "+C", "G", "B", "-C", "F", "E", "+E", "-E", "A"));
}

TEST(ZenoFigures, Figure14_DirectDelay) {
  // alpha :- c1, c2, c3, c4; c1 was there before; asked from t0 = 1 on, by the insertion of c3.
  const Answer answer = Ask(R"(
    INS c1 V 0..0.5
    INS c3 W 1..2
    INS c2 Y 2.5..3
    INS c4 Z 3.5..4
    INS gamma X 4..5
    DRV alpha X 5..6 < c1 c2 c3 c4
  )",
                            "c3", "alpha");
  EXPECT_THAT(answer.Over("c3"), ElementsAre(Interval{10, 20}));
  EXPECT_THAT(answer.Over("c2"), ElementsAre(Interval{20, 30}));
  EXPECT_THAT(answer.Over("c4"), ElementsAre(Interval{30, 40}));
  EXPECT_THAT(answer.Over("gamma"), ElementsAre(Interval{40, 50}));
  EXPECT_THAT(answer.SelfOver("alpha"), ElementsAre(Interval{50, 60}));
  EXPECT_THAT(answer.Over("c1"), IsEmpty());
}

TEST(ZenoFigures, Figure15_AnnotationIntervals) {
  const Answer answer = Ask(R"(
    INS Z X 0..0
    DRV D X 0..1 < Z
    DRV C X 1..3 < D
    DRV B X 3..5 < Z
    DRV A X 5..6 < C B
  )",
                            "Z", "A");
  EXPECT_THAT(answer.Over("D"), ElementsAre(Interval{0, 10}));
  EXPECT_THAT(answer.Over("C"), ElementsAre(Interval{0, 30}));
  EXPECT_THAT(answer.Over("A"), ElementsAre(Interval{0, 60}));
  EXPECT_THAT(answer.Over("B"), ElementsAre(Interval{30, 50}));  // C and B do not overlap
}

constexpr const char* kFigure16 = R"(
    INS Z  X 0..0
    DRV C  X 0..2 < Z
    SND +C X 2..2 < C tuple=+C
    DRV B  X 2..4 < C
    RCV -C Y 2.5..3.5 < +C tuple=+C
    DRV E  Y 3.5..5.5 < -C
    SND +E Y 5.5..5.5 < E tuple=+E
    RCV -E X 5.5..6 < +E tuple=+E
    DRV A  X 6..7 < B -E
)";

// The graph of figure 16 with its annotations, for speeding up.
std::vector<testing::SpeedUpVertex> Figure16Vertices(const Answer& raw) {
  std::vector<testing::SpeedUpVertex> vertices;
  for (const ExplanationVertex& v : raw.explanation.vertices) {
    testing::SpeedUpVertex& one = vertices.emplace_back();
    one.id = raw.x.str(raw.x.id[v.members[0]]);
    one.start = v.start_ns;
    one.end = v.end_ns;
    one.annotated = v.delay_ns > 0 || one.id == "Z";  // INS(Z): a call with an empty interval
    if (!v.intervals.empty()) one.alpha = v.intervals[0];
    if (!v.self_intervals.empty()) one.delta = v.self_intervals[0];
  }
  return vertices;
}

// Every waiter here waited for its causes only, so causal edges are all there is.
std::vector<std::pair<size_t, size_t>> CausalEdges(const Answer& raw) {
  std::vector<std::pair<size_t, size_t>> edges;
  for (const ExplanationEdge& e : raw.explanation.edges) {
    if (e.kind == ExplanationEdgeKind::kCausal) edges.emplace_back(e.from, e.to);
  }
  return edges;
}

TEST(ZenoFigures, Figure16_SpeedingUpStepByStep) {
  const Answer raw = Ask(kFigure16, "Z", "A", ExplanationView::kRaw);
  EXPECT_THAT(raw.Over("A"), ElementsAre(Interval{0, 70}));
  EXPECT_THAT(raw.SelfOver("A"), ElementsAre(Interval{60, 70}));
  EXPECT_THAT(raw.Over("B"), ElementsAre(Interval{0, 40}));
  EXPECT_THAT(raw.Over("-E"), ElementsAre(Interval{40, 60}));
  EXPECT_THAT(raw.SelfOver("C"), ElementsAre(Interval{0, 20}));
  EXPECT_THAT(raw.SelfOver("B"), ElementsAre(Interval{20, 40}));
  EXPECT_THAT(raw.SelfOver("E"), ElementsAre(Interval{40, 55}));
  EXPECT_THAT(raw.SelfOver("-E"), ElementsAre(Interval{55, 60}));
  EXPECT_EQ(raw.Delay("-C"), 0);
  testing::SpeedUp speed_up(Figure16Vertices(raw), CausalEdges(raw), 8, 0);
  std::vector<Nanos> lengths;
  std::map<Nanos, std::map<std::string, std::pair<Nanos, Nanos>>> at;
  EXPECT_EQ(speed_up.Run([&](Nanos barrier, const std::vector<testing::SpeedUpVertex>& vertices) {
    lengths.push_back(barrier);
    for (const auto& v : vertices) at[barrier][v.id] = {v.start, v.end};
  }),
            "");
  EXPECT_THAT(speed_up.steps, ElementsAre("A", "-E", "E", "B", "C"));
  for (const Nanos end : {60, 55, 40, 20, 0}) {  // (b) to (f)
    ASSERT_EQ(at.count(end), 1u) << end;
    EXPECT_EQ(at[end]["A"].second, end);
  }
  // (c): DRV(A), RCV(+E) and SND(+E) are squeezed to 5.5 s; (e): so are DRV(E) and RCV(+C), to 2 s.
  EXPECT_EQ(at[55]["-E"], std::make_pair(Nanos{55}, Nanos{55}));
  EXPECT_EQ(at[20]["E"], std::make_pair(Nanos{20}, Nanos{20}));
  EXPECT_EQ(at[20]["-C"].second, 20);
  EXPECT_EQ(at[40]["-C"], std::make_pair(Nanos{25}, Nanos{35}));  // (d): not yet
}

TEST(ZenoFigures, Figure17_TheBarrierPushesTerminalEvents) {
  const Answer raw = Ask(kFigure16, "Z", "A", ExplanationView::kRaw);
  testing::SpeedUp speed_up(Figure16Vertices(raw), CausalEdges(raw), 8, 0);
  std::map<std::string, std::pair<Nanos, Nanos>> then;
  EXPECT_EQ(speed_up.Run([&](Nanos barrier, const std::vector<testing::SpeedUpVertex>& vertices) {
    if (barrier != 35) return;
    for (const auto& v : vertices) then[v.id] = {v.start, v.end};
  }),
            "");
  EXPECT_EQ(then["B"], std::make_pair(Nanos{20}, Nanos{35}));
  EXPECT_EQ(then["E"], std::make_pair(Nanos{35}, Nanos{35}));
  EXPECT_EQ(then["-C"].second, 35);
  EXPECT_EQ(then["C"], std::make_pair(Nanos{0}, Nanos{20}));
}

TEST(ZenoFigures, Figure18_TheStrawManIsPoorlyAnnotated) {
  // All delay to the last precondition: A and its branch through E have it, B has none.
  const Answer raw = Ask(kFigure16, "Z", "A", ExplanationView::kRaw);
  std::vector<testing::SpeedUpVertex> vertices = Figure16Vertices(raw);
  const std::map<std::string, std::pair<Interval, Interval>> straw = {
      {"A", {{0, 70}, {60, 70}}},  {"-E", {{0, 60}, {55, 60}}},
      {"+E", {{0, 55}, {}}},       {"E", {{0, 55}, {35, 55}}},
      {"-C", {{0, 35}, {20, 35}}}, {"+C", {{0, 20}, {}}},
      {"C", {{0, 20}, {0, 20}}},   {"Z", {{}, {}}}};
  for (testing::SpeedUpVertex& v : vertices) {
    const auto annotation = straw.find(v.id);
    v.annotated = annotation != straw.end();
    v.alpha = v.delta = {};
    if (!v.annotated) continue;
    const auto& [alpha, delta] = annotation->second;
    if (alpha.first < alpha.second) v.alpha = alpha;
    if (delta.first < delta.second) v.delta = delta;
  }
  testing::SpeedUp speed_up(vertices, CausalEdges(raw), 8, 0);
  EXPECT_EQ(speed_up.Run(), "B is in the way of E at 40");
  EXPECT_THAT(speed_up.steps, ElementsAre("A", "-E", "E"));
}

// ---- The contract, sentence by sentence.

TEST(Blame, ResourcesOfSeveralServersMakeWaitOnlyWhenAllAreTaken) {
  const char* text = R"(
    servers pool 2
    INS z N 0..0 holds=
    INS a N 0..4 resource=pool
    INS b N 1..3 resource=pool
    INS c N 3..6 resource=pool
    DRV v N 5..7 < z resource=pool
  )";
  const Answer answer = Ask(text, "z", "v", ExplanationView::kPruned);
  // Full over (1, 4]; v takes the server that a leaves at 4, which c's is not. After 4 a server is free: v idles.
  EXPECT_THAT(answer.Over("a"), ElementsAre(Interval{10, 40}));
  EXPECT_EQ(answer.Delay("b"), -1);
  EXPECT_THAT(answer.SelfOver("v"), ElementsAre(Interval{0, 10}, Interval{40, 70}));
}

TEST(Blame, TheFirstListedOfTheResourcesTakenNextThatIsFull) {
  const char* text = R"(
    INS z N 0..0 holds=
    INS a N 1..3 resource=lock
    INS b N 0..5 resource=thread
    DRV v N 5..6 < z holds=lock@5,thread@5
  )";
  const Answer answer = Ask(text, "z", "v", ExplanationView::kPruned);
  EXPECT_THAT(answer.Over("a"), ElementsAre(Interval{10, 30}));
  EXPECT_THAT(answer.Over("b"), ElementsAre(Interval{0, 10}, Interval{30, 50}));
}

TEST(Blame, AThreadIsHeldWhileItWaitsForALock) {
  const char* text = R"(
    INS z N 0..0 holds=
    INS a N 0..2 resource=thread
    INS b N 1..5 resource=lock
    DRV v N 5..6 < z holds=thread@2,lock
  )";
  const Answer answer = Ask(text, "z", "v", ExplanationView::kPruned);
  EXPECT_THAT(answer.Over("a"), ElementsAre(Interval{0, 20}));
  EXPECT_THAT(answer.Over("b"), ElementsAre(Interval{20, 50}));
}

TEST(Blame, ToldReadyTimesLetInputsWait) {
  const char* text = R"(
    INS a N 0..4
    INS v N 4..5 ready=1
    DRV w N 5..6 < v
  )";
  const Answer answer = Ask(text, "v", "w", ExplanationView::kRaw);
  EXPECT_THAT(answer.Edges(), UnorderedElementsAre("a~>v", "v->w", "v~>w"));
  EXPECT_EQ(answer.Delay("a"), 0);  // before `from` starts
}

TEST(Merging, CyclesAreAllowedAndTimeIsCountedOnce) {
  // p2, which holds s, waits for q2; q1, which held s before, waited for p1. Merged, they wait for each other.
  const char* text = R"(
    INS z N 0..0 holds=
    INS p1 M 0..1.5 tuple=p(1) resource=t
    INS q1 M 1.5..2 tuple=q(1) ready=0 holds=s@0,t@1.5
    INS q2 M 2..4 tuple=q(2) resource=r
    INS p2 M 4..6 tuple=p(2) ready=2 holds=s@2,r@4
    DRV v N 6..7 < z resource=s
  )";
  const Answer answer = Ask(text, "z", "v");
  EXPECT_EQ(answer.Delay("p1"), 15 + 40);
  EXPECT_EQ(answer.Delay("q1"), 20 + 20);
  EXPECT_EQ(answer.Vertex("p1")->members.size(), 2u);
  EXPECT_EQ(answer.Vertex("p1")->end_ns, 60);
  EXPECT_THAT(answer.Edges(), UnorderedElementsAre("z->v", "p1~>q1", "q1~>p1", "p1~>v", "q1~>v"));
}

TEST(Merging, VerticesStandByTheirOwnTimes) {
  // p1 and q begin at once and p1 ends first; merged with p2 it ends last.
  const char* text = R"(
    INS z N 0..0 holds=
    INS p1 M 1..2 tuple=p(1) resource=s
    INS q O 1..3 tuple=q(1) resource=t
    INS p2 M 3..5 tuple=p(2) ready=2 holds=s@2,t@3
    DRV v N 5..7 < z resource=s
  )";
  const Answer one_by_one = Ask(text, "z", "v", ExplanationView::kPruned);
  EXPECT_THAT(one_by_one.Ids(), ElementsAre("z", "p1", "q", "p2", "v"));
  EXPECT_THAT(Ask(text, "z", "v").Ids(), ElementsAre("z", "q", "p1", "v"));
}

TEST(RawGraph, ThousandsOfHoldsCostNoSquare) {
  // Two events that hold 40,000 resources each: looking at each pair of holds would take minutes.
  testing::EventList list;
  for (int i = 0; i < 3; ++i) {
    ProvenanceEvent e;
    e.id = std::to_string(i);
    e.type = i == 0 ? ProvenanceType::kInsert : ProvenanceType::kDerive;
    e.node = "N";
    e.tuple = "t";
    e.start_ns = i * 100'000;
    e.end_ns = e.start_ns + 100'000;
    if (i > 0) e.causes = {std::to_string(i - 1)};
    e.holds.emplace();
    for (int r = 0; r < 40'000; ++r)
      e.holds->push_back({"r" + std::to_string(r), e.start_ns - (i == 0 ? r : 0)});
    list.events.push_back(std::move(e));
  }
  const auto x = Build(list);
  ASSERT_TRUE(x.ok()) << x.error().message;
  ExplainOptions options;
  options.from = 0, options.to = 2, options.view = ExplanationView::kRaw;
  const auto raw = Explain(*x, options);
  ASSERT_TRUE(raw.ok());
  EXPECT_EQ(raw->vertices.size(), 3u);
  EXPECT_EQ(raw->edges.size(), 4u);  // causal and sequencing, 0 to 1 to 2
}

TEST(Retention, WhoLostACauseSaysSo) {
  const char* text = R"(
    INS config X 0..1
    INS z X 5..5
    DRV a X 5..6 < z config
  )";
  const auto x = Build(ParseEvents(text), 20);
  ASSERT_TRUE(x.ok());
  ExplainOptions options;
  options.from = x->Find("z");
  options.to = x->Find("a");
  const auto explanation = Explain(*x, options);
  ASSERT_EQ(explanation->vertices.size(), 2u);
  EXPECT_FALSE(explanation->vertices[0].expired);
  EXPECT_TRUE(explanation->vertices[1].expired);
  // The extract still names the cause, so that it can be explained with the same retention.
  const auto again = ReadExecution(ExtractEvents(*x, options.to), "extract", 20);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->lost_cause[again->Find("a")]);
}

TEST(Retention, WhoMayHaveLostAPredecessorSaysSoWhereAsked) {
  // Ready at 2, retained from 5: whoever had r meanwhile may be gone. Of s it is known who had it all the time.
  const char* text = R"(
    INS kept X 1..9 resource=s
    INS a X 9..10 ready=2 resource=r
    INS b X 9..10 ready=2 resource=s
    INS c X 9..10 ready=6 resource=t
  )";
  auto x = Build(ParseEvents(text), 50);
  ASSERT_TRUE(x.ok()) << x.error().message;
  EXPECT_TRUE(x->lost_predecessor.empty());  // the contract of --events tells of lost causes only
  MarkLostPredecessors(*x, 50);
  const auto lost = [&](const char* id) { return bool{x->lost_predecessor[x->Find(id)]}; };
  EXPECT_TRUE(lost("a"));
  EXPECT_FALSE(lost("b"));
  EXPECT_FALSE(lost("c"));
  EXPECT_FALSE(lost("kept"));  // an input that did not wait
  ExplainOptions options;
  options.from = options.to = x->Find("a");
  EXPECT_TRUE(Explain(*x, options)->vertices.back().expired);
}

TEST(WhatIf, ScalesByName) {
  const char* text = R"(
    INS z  X 0..0
    DRV b  X 0..4 < z tuple=b(1)
    SND s  X 4..5 < b tuple=+b(1)
    RCV r  Y 7..8 < s tuple=+b(1)
    DRV a  Y 8..9 < r tuple=a(1)
  )";
  const auto then = [&](const char* what_if) {
    return *Ask(text, "z", "a", ExplanationView::kMerged, what_if).explanation.what_if;
  };
  EXPECT_EQ(then("b=0.5x").matched, 3);    // + and - are not part of the name
  EXPECT_EQ(then("b=0.5x").delay_ns, 60);  // 2 + 0.5 + transit 2 + 0.5 + 1
  EXPECT_EQ(then("X/b=0x").delay_ns, 40);
  EXPECT_EQ(then("X/*=0x").matched, 3);
  EXPECT_EQ(then("*=1x").delay_ns, 90);
  EXPECT_EQ(then("nothing=0x").matched, 0);
  EXPECT_EQ(then("b=0.29x").delay_ns, 11 + 2 + 20 + 2 + 10);  // 0.29 × 40 is 11.6; × 10 is 2.9
}

TEST(WhatIf, FactorsAreDecimal) {
  // 0.29 × 100 is 29, though the nearest double to 0.29 is less.
  const Answer answer = Ask("INS a X 0..10", "a", "a", ExplanationView::kMerged, "a=0.29x");
  EXPECT_EQ(answer.explanation.what_if->delay_ns, 29);
}

TEST(WhatIf, BadOnesAreRefused) {
  for (const char* text :
       {"", "a", "a=", "a=2", "a=x", "a=-1x", "a=1e9x", "=2x", "n/=2x", "a=1.2.3x"})
    EXPECT_FALSE(ParseExplainWhatIf(text).ok()) << text;
  EXPECT_EQ(ParseExplainWhatIf("a/b=2x")->node, "a");
  EXPECT_EQ(ParseExplainWhatIf("/cart=2x")->name, "/cart");
}

TEST(Explain, NoCausalPath) {
  const auto x = Build(ParseEvents("INS a X 0..1\nINS b X 1..2\n"));
  ExplainOptions options;
  options.from = 0;
  options.to = 1;
  const auto explanation = Explain(*x, options);
  ASSERT_FALSE(explanation.ok());
  EXPECT_EQ(explanation.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(explanation.error().message, "no causal path from a to b");
}

TEST(Explain, FromMayBeTo) {
  const Answer answer = Ask("INS a X 0..3", "a", "a");
  EXPECT_EQ(answer.explanation.delay_ns, 30);
  EXPECT_EQ(answer.Self("a"), 30);
}

// The random executions are worth something only if what is difficult comes up in them.
TEST(RandomExecutions, HaveWhatIsDifficult) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    const testing::RandomCase c = testing::AnyExecution(seed, 4 + static_cast<int>(seed % 21));
    const auto x = Build(c.list);
    ASSERT_TRUE(x.ok());
    ExplainOptions options;
    options.from = x->Find(c.from);
    options.to = x->Find(c.to);
    const auto merged = Explain(*x, options);
    for (const ExplanationEdge& e : merged->edges) {
      if (e.kind == ExplanationEdgeKind::kSequencing) ++seen["waits"];
      if (e.to <= e.from) ++seen["merged cycle"];
    }
    for (const ExplanationVertex& v : merged->vertices) {
      if (v.members.size() > 1) ++seen["merged"];
    }
    options.view = ExplanationView::kPruned;
    const auto pruned = Explain(*x, options);
    for (const ExplanationVertex& v : pruned->vertices) {
      if (v.intervals.size() > 1) ++seen["several intervals"];
      for (uint32_t h = x->holds_begin[v.members[0]]; h < x->holds_begin[v.members[0] + 1]; ++h) {
        if (!v.functional && x->servers[x->holds[h].resource] > 1) ++seen["pool"];
        if (x->holds[h].server > 0) ++seen["second server"];
      }
    }
  }
  for (const auto& [what, times] : seen) RecordProperty(what, times);
  for (const char* what :
       {"waits", "merged", "merged cycle", "several intervals", "pool", "second server"})
    EXPECT_GE(seen[what], 5) << what;  // most come up hundreds of times
}

}  // namespace
}  // namespace wf::provenance
