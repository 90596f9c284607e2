#include "lang/ndlog/simulation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "lang/ndlog/ndlog_lab_test.h"

namespace wf::ndlog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTwo = FullMesh({"a", "b"}, 5);

// A program's events, one line each: "DRV a p(@a) 5-7 <e1,e2".
std::vector<std::string> EventsOf(const std::string& program, const std::string& topology,
                                  const std::string& inputs, RunOptions options = {}) {
  std::vector<std::string> out;
  options.provenance = [&](const ProvenanceEvent& event) -> Status {
    std::string line = event.id + " " + std::string(ProvenanceTypeName(event.type)) + " " +
                       event.node + " " + event.tuple + " " + std::to_string(event.start_ns) + "-" +
                       std::to_string(event.end_ns);
    for (const std::string& cause : event.causes) line += " <" + cause;
    if (event.ready_ns) line += " ready " + std::to_string(*event.ready_ns);
    out.push_back(line);
    return {};
  };
  const auto result = RunFromTexts({program, topology, inputs}, options);
  if (!result.ok()) out.push_back(result.error().message);
  return out;
}

TEST(NdlogRun, TheExampleOfThePaper) {  // Zeno §3.1: A(@L,P) :- B(@L,Q), Q=3*P
  const std::string program =
      "materialize(b,infinity,infinity,keys(1,2)).materialize(a,infinity,infinity,keys(1,2)).\n"
      "r a(@L,P) :- b(@L,Q), Q=3*P.";
  EXPECT_THAT(TableAfter(program, Nodes({"n"}),
                         Inputs({{0, "insert", "b(@n,6)"}, {0, "insert", "b(@n,7)"}}), "a"),
              ElementsAre("a(@n,2)"));
}

TEST(NdlogRun, EventsFollowEachOtherOnANodeAndCostTime) {
  const std::string program =
      "materialize(t,infinity,infinity,keys(1,2)).\n"
      "r1 x(@A,V) :- in(@A,V).\n"
      "r2 t(@B,V) :- x(@A,V), B := b.\n";
  const std::string topology =
      kTwo + "{\"rule\":\"r1\",\"cost_ns\":10}\n{\"rule\":\"r2\",\"cost_ns\":3}\n";
  EXPECT_THAT(EventsOf(program, topology,
                       Inputs({{100, "insert", "in(@a,1)"}, {104, "insert", "in(@a,2)"}})),
              ElementsAre("e1 INS a in(@a,1) 100-100 ready 100", "e2 DRV a x(@a,1) 100-110 <e1",
                          "e3 INS a in(@a,2) 110-110 ready 104", "e4 DRV a t(@b,1) 110-113 <e2",
                          "e5 DRV a x(@a,2) 113-123 <e3", "e6 SND a +t(@b,1) 123-123 <e4",
                          "e7 DRV a t(@b,2) 123-126 <e5", "e8 SND a +t(@b,2) 126-126 <e7",
                          "e9 RCV b +t(@b,1) 128-128 <e6 ready 128",
                          "e10 RCV b +t(@b,2) 131-131 <e8 ready 131"));
}

TEST(NdlogRun, ANodeIsBusyWhileItSends) {
  const std::string program = "materialize(t,infinity,infinity).\nr1 t(@b,V) :- in(@A,V).";
  const std::string topology =
      Nodes({"a", "b"}) + "{\"link\":[\"a\",\"b\"],\"delay_ns\":7,\"bits_per_s\":1000000000}\n";
  const auto events = EventsOf(program, topology, Inputs({{0, "insert", "in(@a,1)"}}));
  // "+t(@b,1)": 8 bytes, 64 bits at one a nanosecond.
  EXPECT_THAT(events,
              ElementsAre("e1 INS a in(@a,1) 0-0 ready 0", "e2 DRV a t(@b,1) 0-0 <e1",
                          "e3 SND a +t(@b,1) 0-64 <e2", "e4 RCV b +t(@b,1) 71-71 <e3 ready 71"));
}

TEST(NdlogRun, SimultaneousOnesByNodeNameThenArrival) {
  const std::string program = "r1 x(@A,V) :- in(@A,V).";
  EXPECT_THAT(EventsOf(program, Nodes({"b", "a"}),
                       Inputs({{5, "insert", "in(@b,1)"},
                               {5, "insert", "in(@a,2)"},
                               {5, "insert", "in(@a,1)"}})),
              ElementsAre("e1 INS a in(@a,2) 5-5 ready 5", "e2 INS a in(@a,1) 5-5 ready 5",
                          "e3 DRV a x(@a,2) 5-5 <e1", "e4 DRV a x(@a,1) 5-5 <e2",
                          "e5 INS b in(@b,1) 5-5 ready 5", "e6 DRV b x(@b,1) 5-5 <e5"));
}

TEST(NdlogRun, DeletionTravels) {
  const std::string program =
      "materialize(s,infinity,infinity).materialize(t,infinity,infinity).\nr1 t(@b,V) :- s(@A,V).";
  const auto events =
      EventsOf(program, kTwo, Inputs({{0, "insert", "s(@a,1)"}, {20, "delete", "s(@a,1)"}}));
  ASSERT_EQ(events.size(), 8u);
  EXPECT_EQ(events[4], "e5 DEL a s(@a,1) 20-20 ready 20");
  EXPECT_EQ(events[5], "e6 UDRV a t(@b,1) 20-20 <e5");
  EXPECT_EQ(events[6], "e7 SND a -t(@b,1) 20-20 <e6");
  EXPECT_EQ(events[7], "e8 RCV b -t(@b,1) 25-25 <e7 ready 25");
}

TEST(NdlogRun, ReplacementCascades) {
  const std::string program =
      "materialize(site,infinity,infinity,keys(1)).materialize(via,infinity,infinity,keys(1,2)).\n"
      "r1 via(@b,S) :- site(@A,S).";
  const std::string inputs = Inputs({{0, "insert", "site(@a,x)"}, {50, "insert", "site(@a,y)"}});
  EXPECT_THAT(TableAfter(program, kTwo, inputs, "via"), ElementsAre("via(@b,y)"));
  EXPECT_THAT(TableAfter(program, kTwo, inputs, "site"), ElementsAre("site(@a,y)"));
}

TEST(NdlogRun, SizeBoundsATableAndTheOldestGoes) {
  const std::string program =
      "materialize(t,infinity,2,keys(1,2)).materialize(u,infinity,infinity).\nr1 u(@A,V) :- "
      "t(@A,V).";
  const std::string inputs =
      Inputs({{0, "insert", "t(@a,1)"}, {1, "insert", "t(@a,2)"}, {2, "insert", "t(@a,3)"}});
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), inputs, "t"), ElementsAre("t(@a,2)", "t(@a,3)"));
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), inputs, "u"), ElementsAre("u(@a,2)", "u(@a,3)"));
}

TEST(NdlogRun, SoftStateExpiresUnlessRenewed) {
  const std::string program =
      "materialize(t,10,infinity,keys(1,2)).materialize(u,infinity,infinity).\nr1 u(@A,V) :- "
      "t(@A,V).";
  const auto at = [](int64_t seconds) { return Nanos{seconds * kSecond}; };
  const std::string inputs = Inputs({{at(0), "insert", "t(@a,1)"},
                                     {at(0), "insert", "t(@a,2)"},
                                     {at(6), "insert", "t(@a,1)"},
                                     {at(12), "insert", "t(@a,3)"}});
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), inputs, "u"), ElementsAre("u(@a,1)", "u(@a,3)"));
  RunOptions options;
  options.until = at(17);
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), inputs, "u", options), ElementsAre("u(@a,3)"));
  const auto events = EventsOf(program, Nodes({"a"}), inputs, options);
  EXPECT_THAT(events, testing::Contains(
                          HasSubstr("DEL a t(@a,2) 10000000000-10000000000 ready 10000000000")));
}

TEST(NdlogRun, SoftStateDerivedFromSoftStateIsRenewedWithIt) {
  const std::string program =
      "materialize(t,10,infinity,keys(1,2)).materialize(u,10,infinity).\nr1 u(@b,V) :- t(@A,V).";
  const std::string inputs = Inputs({{0, "insert", "t(@a,1)"}, {6 * kSecond, "insert", "t(@a,1)"}});
  RunOptions options;
  options.until = 15 * kSecond;
  EXPECT_THAT(TableAfter(program, kTwo, inputs, "u", options), ElementsAre("u(@b,1)"));
  options.until = 17 * kSecond;
  EXPECT_THAT(TableAfter(program, kTwo, inputs, "u", options), ElementsAre());
}

TEST(NdlogRun, SoftStateThatExpiredComesBackWhenItsPremiseIsRenewed) {
  const std::string program =
      "materialize(t,30,infinity,keys(1,2)).materialize(u,10,infinity).\nr1 u(@A,V) :- t(@A,V).";
  const std::string inputs =
      Inputs({{0, "insert", "t(@a,1)"}, {15 * kSecond, "insert", "t(@a,1)"}});
  RunOptions options;
  options.until = 12 * kSecond;
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), inputs, "u", options), ElementsAre());
  options.until = 16 * kSecond;
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), inputs, "u", options), ElementsAre("u(@a,1)"));
}

TEST(NdlogRun, AggregatesFollowTheirSupport) {
  const std::string program =
      "materialize(t,infinity,infinity,keys(1,2,3)).materialize(r,infinity,infinity,keys(1,2)).\n";
  const std::string rules =
      "least r(@A,min,MIN<V>) :- t(@A,K,V).\nmost r(@A,max,MAX<V>) :- t(@A,K,V).\n"
      "n r(@A,count,COUNT<*>) :- t(@A,K,V).\ntotal r(@A,sum,SUM<V>) :- t(@A,K,V).\nall "
      "r(@A,list,LIST<V>) :- t(@A,K,V).";
  std::vector<Change> changes = {
      {0, "insert", "t(@a,x,5)"}, {1, "insert", "t(@a,y,2)"}, {2, "insert", "t(@a,z,2)"}};
  const auto run = [&] { return TableAfter(program + rules, Nodes({"a"}), Inputs(changes), "r"); };
  EXPECT_THAT(run(), ElementsAre("r(@a,count,3)", "r(@a,list,[2,2,5])", "r(@a,max,5)",
                                 "r(@a,min,2)", "r(@a,sum,9)"));
  changes.push_back({3, "delete", "t(@a,y,2)"});
  changes.push_back({4, "delete", "t(@a,x,5)"});
  EXPECT_THAT(run(), ElementsAre("r(@a,count,1)", "r(@a,list,[2])", "r(@a,max,2)", "r(@a,min,2)",
                                 "r(@a,sum,2)"));
  changes.push_back({5, "delete", "t(@a,z,2)"});
  EXPECT_THAT(run(), ElementsAre());
}

TEST(NdlogRun, AggregatesOfAnEventAreOverWhatItMatches) {
  const std::string program =
      "materialize(t,infinity,infinity).materialize(r,infinity,infinity).\n"
      "r1 r(@A,E,MAX<V>) :- ask(@A,E,Most), t(@A,V), V <= Most.";
  EXPECT_THAT(TableAfter(program, Nodes({"a"}),
                         Inputs({{0, "insert", "t(@a,1)"},
                                 {0, "insert", "t(@a,4)"},
                                 {0, "insert", "t(@a,9)"},
                                 {1, "insert", "ask(@a,first,5)"},
                                 {2, "insert", "ask(@a,second,100)"},
                                 {3, "insert", "ask(@a,third,0)"}}),
                         "r"),
              ElementsAre("r(@a,first,4)", "r(@a,second,9)"));
}

TEST(NdlogRun, RangesFunctionsAndIntervals) {
  const std::string program =
      "materialize(r,infinity,infinity).\n"
      "r1 r(@A,I,L) :- ask(@A,N), range(I,1,N), I % 2 == 1 || I in (3,4], L := f_concat(I, "
      "f_append(A), [x]).\n";
  EXPECT_THAT(
      TableAfter(program, Nodes({"a"}), Inputs({{0, "insert", "ask(@a,5)"}}), "r"),
      ElementsAre("r(@a,1,[1,a,x])", "r(@a,3,[3,a,x])", "r(@a,4,[4,a,x])", "r(@a,5,[5,a,x])"));
  const std::string ring =
      "materialize(r,infinity,infinity).\nr1 r(@A,I) :- ask(@A), range(I,0,9), I in (7,2].";
  EXPECT_THAT(TableAfter(ring, Nodes({"a"}), Inputs({{0, "insert", "ask(@a)"}}), "r"),
              ElementsAre("r(@a,0)", "r(@a,1)", "r(@a,2)", "r(@a,8)", "r(@a,9)"));
}

TEST(NdlogRun, ClocksStrike) {
  const std::string program =
      "materialize(t,infinity,infinity).\nr1 t(@A,N) :- periodic(@A,E,0.5,3), N := f_now() / "
      "1000000.";
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), "", "t"),
              ElementsAre("t(@a,1000)", "t(@a,1500)", "t(@a,500)"));
  const std::string endless = "materialize(t,infinity,infinity).\nr1 t(@A,E) :- periodic(@A,E,1).";
  RunOptions options;
  options.until = 3 * kSecond;
  EXPECT_EQ(TableAfter(endless, Nodes({"a", "b"}), "", "t", options).size(), 6u);
  EXPECT_EQ(TableAfter(endless, Nodes({"a"}), "", "t").size(), 0u);
}

TEST(NdlogRun, FactsAndConstants) {
  const std::string program =
      "materialize(t,infinity,infinity).materialize(u,infinity,infinity).\n"
      "t(@a,1). t(@a,\"two words\").\nr1 u(@A,x) :- t(@A,1).";
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), "", "t"),
              ElementsAre("t(@a,\"two words\")", "t(@a,1)"));
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), "", "u"), ElementsAre("u(@a,x)"));
}

TEST(NdlogRun, ATupleTwiceInABodyIsOneDerivation) {
  const std::string program =
      "materialize(t,infinity,infinity).materialize(n,infinity,infinity,keys(1)).\nr1 "
      "n(@A,COUNT<*>) :- t(@A,X), t(@A,Y).";
  EXPECT_THAT(TableAfter(program, Nodes({"a"}),
                         Inputs({{0, "insert", "t(@a,1)"}, {1, "insert", "t(@a,2)"}}), "n"),
              ElementsAre("n(@a,4)"));
}

TEST(NdlogRun, ThreePlacesInOneBody) {
  const std::string program =
      "materialize(p,infinity,infinity).materialize(q,infinity,infinity).materialize(r,infinity,"
      "infinity).\n"
      "materialize(out,infinity,infinity).\nr1 out(@X,V,W) :- p(@X,Y), q(@Y,Z,V), r(@Z,W), W > V.";
  const std::string topology = FullMesh({"a", "b", "c"}, 3);
  std::vector<Change> changes = {{0, "insert", "p(@a,b)"},
                                 {0, "insert", "q(@b,c,1)"},
                                 {0, "insert", "r(@c,5)"},
                                 {0, "insert", "r(@c,0)"}};
  EXPECT_THAT(TableAfter(program, topology, Inputs(changes), "out"), ElementsAre("out(@a,1,5)"));
  changes.push_back({100, "delete", "p(@a,b)"});
  EXPECT_THAT(TableAfter(program, topology, Inputs(changes), "out"), ElementsAre());
}

TEST(NdlogRun, MessagesFindAWayOverOtherNodes) {
  const std::string program = "materialize(t,infinity,infinity).\nr1 t(@c,V) :- in(@A,V).";
  const std::string chain = Nodes({"a", "b", "c"}) + "{\"link\":[\"a\",\"b\"],\"delay_ns\":5}\n" +
                            "{\"link\":[\"b\",\"c\"],\"delay_ns\":6}\n";
  EXPECT_THAT(EventsOf(program, chain, Inputs({{0, "insert", "in(@a,1)"}})),
              testing::Contains("e4 RCV c +t(@c,1) 11-11 <e3 ready 11"));
  EXPECT_THAT(TableAfter(program, Nodes({"a", "c"}), Inputs({{0, "insert", "in(@a,1)"}}), "t"),
              ElementsAre("a has t(@c,1) for c, and no link leads there"));
}

TEST(NdlogRun, FaultsOfTheProgramNameTheRule) {
  const std::string program =
      "materialize(t,infinity,infinity).\nr1 t(@A,V) :- in(@A,X), V := X / 0.";
  EXPECT_THAT(TableAfter(program, Nodes({"a"}), Inputs({{0, "insert", "in(@a,1)"}}), "t"),
              ElementsAre("rule r1 (line 2, column 32): division by zero"));
  EXPECT_THAT(
      TableAfter("r1 t(@B) :- in(@A,B).", Nodes({"a"}), Inputs({{0, "insert", "in(@a,z)"}}), "t"),
      ElementsAre("rule r1 (line 1, column 4): derives t(@z) for z, which is not a node"));
  RunOptions options;
  options.most_events = 1000;
  EXPECT_THAT(TableAfter("r1 n(@A,M) :- n(@A,N), M := N + 1.", Nodes({"a"}),
                         Inputs({{0, "insert", "n(@a,0)"}}), "n", options),
              ElementsAre("the program still runs after 1000 events"));
}

TEST(NdlogRun, JitterIsSeededAndReplayed) {
  const std::string program = "materialize(t,infinity,infinity).\nr1 t(@b,V) :- in(@A,V).";
  const std::string topology = Nodes({"a", "b"}) +
                               "{\"link\":[\"a\",\"b\"],\"delay_ns\":5,\"jitter_ns\":1000}\n"
                               "{\"rule\":\"r1\",\"cost_ns\":100,\"jitter_ns\":50}\n";
  std::vector<Change> changes;
  for (int i = 0; i < 20; ++i)
    changes.push_back({i * 10, "insert", "in(@a," + std::to_string(i) + ")"});
  Recording recording{program, topology, Inputs(changes), 7, std::nullopt, {}};
  const auto times = [&](uint64_t seed) {
    RunOptions options;
    options.seed = seed;
    return EventsOf(program, topology, recording.inputs, options);
  };
  EXPECT_EQ(times(7), times(7));
  EXPECT_NE(times(7), times(8));

  RunOptions options;
  options.seed = 7;
  options.record = &recording.events;
  const auto recorded = RunFromTexts({program, topology, recording.inputs}, options);
  ASSERT_TRUE(recorded.ok());
  auto read = ReadRecording(WriteRecording(recording), "file");
  ASSERT_TRUE(read.ok()) << read.error().message;
  read->seed = 99;  // times come from the recording, not from the seed
  std::vector<std::string> replayed;
  const auto again = Replay(*read, [&](const ProvenanceEvent& event) -> Status {
    replayed.push_back(event.tuple + " " + std::to_string(event.start_ns) + "-" +
                       std::to_string(event.end_ns));
    return {};
  });
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->tables, recorded->tables);
  ASSERT_EQ(replayed.size(), recording.events.size());
  const auto direct = times(7);
  for (size_t i = 0; i < direct.size(); ++i) EXPECT_THAT(direct[i], HasSubstr(replayed[i]));
}

TEST(NdlogRun, AReplayThatDiffersIsReported) {
  const std::string program = "materialize(t,infinity,infinity).\nr1 t(@b,V) :- in(@A,V).";
  Recording recording{program, kTwo, Inputs({{0, "insert", "in(@a,1)"}}), 1, std::nullopt, {}};
  RunOptions options;
  options.record = &recording.events;
  ASSERT_TRUE(RunFromTexts({program, kTwo, recording.inputs}, options).ok());
  ASSERT_EQ(recording.events.size(), 4u);
  const auto error = [](const Recording& changed) {
    const auto result = Replay(changed, {});
    return result.ok() ? std::string("no error") : result.error().message;
  };
  EXPECT_EQ(error(recording), "no error");
  Recording changed = recording;
  changed.events[3].start += 1;
  EXPECT_EQ(
      error(changed),
      "the replay differs at event 4: recorded was RCV on b at 6 ns, now comes RCV on b at 5 ns");
  changed = recording;
  changed.events[1].tuple += 1;
  EXPECT_THAT(error(changed), HasSubstr("event 2: recorded was DRV on a at 0 ns of another tuple"));
  changed = recording;
  changed.events.pop_back();
  EXPECT_THAT(error(changed), HasSubstr("event 4: recorded was nothing more"));
  changed = recording;
  changed.events.push_back(changed.events.back());
  EXPECT_THAT(error(changed), HasSubstr("5 events were recorded, 4 happen now"));
  changed = recording;
  changed.inputs = Inputs({{0, "insert", "in(@a,2)"}});
  EXPECT_THAT(error(changed), HasSubstr("the replay differs at event 1"));
}

TEST(NdlogNetwork, BadLinesAreNamed) {
  const std::string program = "r1 p(@X) :- q(@X).";
  const auto topology = [&](const std::string& text) {
    const auto result = RunFromTexts({program, text, "", "p", "net", "in"}, {});
    return result.ok() ? "" : result.error().message + " | " + result.error().hint;
  };
  EXPECT_THAT(topology(""), HasSubstr("net: no node"));
  EXPECT_THAT(topology("{\"node\":\"a\"}\n{\"node\":\"a\"}"),
              HasSubstr("net:2: the node a is there twice"));
  EXPECT_THAT(topology("{\"node\":\"alpha\"}\n{\"link\":[\"alpha\",\"alpja\"]}"),
              HasSubstr("net:2: alpja is not a node | did you mean alpha?"));
  EXPECT_THAT(topology("{\"node\":\"a\",\"delay\":5}"),
              HasSubstr("net:1: delay is not known here"));
  EXPECT_THAT(topology("{\"node\":\"a\"}\n{\"rule\":\"r2\",\"cost_ns\":1}"),
              HasSubstr("net:2: the program has no rule r2 | did you mean r1?"));
  EXPECT_THAT(topology("{\"node\":\"a\"}\n{\"rule\":\"r1\",\"cost_ns\":-1}"),
              HasSubstr("net:2: cost_ns is not a duration"));
  EXPECT_THAT(topology("{\"node\":\"a\"}\n{"), HasSubstr("net:2: "));
  const auto inputs = [&](const std::string& text) {
    const auto result = RunFromTexts({program, "{\"node\":\"a\"}", text, "p", "net", "in"}, {});
    return result.ok() ? "" : result.error().message + " | " + result.error().hint;
  };
  EXPECT_THAT(inputs("{\"at_ns\":0,\"insert\":\"pq(@a)\"}"),
              HasSubstr("in:1: the program does not know pq | did you mean p"));
  EXPECT_THAT(inputs("{\"at_ns\":0,\"insert\":\"q(@b)\"}"), HasSubstr("in:1: b is not a node"));
  EXPECT_THAT(inputs("{\"at_ns\":0,\"insert\":\"q(@a,1)\"}"),
              HasSubstr("in:1: q has 1 attributes, not 2"));
  EXPECT_THAT(inputs("{\"at_ns\":0,\"delete\":\"q(@a)\"}"), HasSubstr("in:1: q is an event"));
  EXPECT_THAT(inputs("{\"insert\":\"q(@a)\"}"), HasSubstr("in:1: at_ns is missing"));
  EXPECT_THAT(inputs("{\"at_ns\":1.5,\"insert\":\"q(@a)\"}"),
              HasSubstr("in:1: at_ns is missing, or no whole number"));
}

// ---- Programs that grow without end stop with a word, and soon.

std::string FailureOf(const std::string& program, RunOptions options = {},
                      const std::string& input = "x(@a,1)") {
  const auto result =
      RunFromTexts({program, Nodes({"a"}), Inputs({{0, "insert", input}})}, options);
  return result.ok() ? "ran" : result.error().message;
}

TEST(NdlogLimits, AListThatDoublesAtEachStep) {
  // The lists share their halves: 2^60 elements would fit into memory, but not into anything that looks at them.
  EXPECT_THAT(FailureOf("r1 y(@A,[V,V]) :- x(@A,V).\nr2 y(@A,[L,L]) :- y(@A,L)."),
              HasSubstr("a list grows without limit: more than 1048576 elements"));
  EXPECT_THAT(FailureOf("r1 y(@A,[V,V]) :- x(@A,V).\nr2 y(@A,M) :- y(@A,L), M := f_concat(L,L)."),
              HasSubstr("a list grows without limit"));
  EXPECT_THAT(FailureOf("r1 y(@A,T) :- x(@A,V), T := \"ab\".\nr2 y(@A,T+T) :- y(@A,T)."),
              HasSubstr("a text grows without limit"));
  // A list of a few long texts counts as what it is.
  EXPECT_THAT(FailureOf("r1 y(@A,T,[T]) :- x(@A,V), T := \"0123456789abcdef\".\n"
                        "r2 y(@A,T,M) :- y(@A,T,L), M := f_concat(L,L)."),
              HasSubstr("a list grows without limit"));
}

TEST(NdlogLimits, AListThatNestsAtEachStep) {
  EXPECT_THAT(FailureOf("r1 y(@A,[V]) :- x(@A,V).\nr2 y(@A,[L]) :- y(@A,L)."),
              HasSubstr("lists are nested more than 64 deep"));
  const std::string deep = "x(@a," + std::string(64, '[') + "1" + std::string(64, ']') + ")";
  EXPECT_EQ(FailureOf("r1 y(@A,V) :- x(@A,V).", {}, deep), "ran");
  const std::string deeper = "x(@a," + std::string(65, '[') + "1" + std::string(65, ']') + ")";
  EXPECT_THAT(FailureOf("r1 y(@A,V) :- x(@A,V).", {}, deeper), HasSubstr("lists too deep"));
}

TEST(NdlogLimits, OneTupleThatHoldsInTooManyWays) {
  const std::string square = "r1 y(@A,I,J) :- x(@A,V), range(I,1,2000), range(J,1,2000).";
  EXPECT_THAT(FailureOf(square), HasSubstr("one tuple makes its body hold in too many ways"));
  EXPECT_THAT(FailureOf("r1 y(@A,I,T) :- x(@A,V), range(I,1,1000000), "
                        "T := \"0123456789abcdef0123456789abcdef\"."),
              HasSubstr("one tuple makes it derive more than can be held"));
}

TEST(NdlogLimits, ALongListThatIsSortedAgainAndAgain) {
  // Few combinations, each of which sorts half a million numbers.
  std::string program = "r1 y(@A,[1,2,3,4]) :- x(@A,V).\n";
  for (int i = 0; i < 17; ++i) {
    program += fmt::format("s{} y{}(@A,M) :- y{}(@A,L), M := f_concat(L,L).\n", i, i + 1,
                           i == 0 ? "" : std::to_string(i));
  }
  program += "r2 z(@A,I,F) :- y17(@A,L), range(I,1,900000), F := f_first(f_sort(L)).";
  RunOptions options;
  options.most_joins = 1'000'000;
  EXPECT_THAT(FailureOf(program, options), HasSubstr("too many combinations of tuples"));
}

TEST(NdlogLimits, TuplesThatFillTheMemory) {
  RunOptions options;
  options.most_bytes = 4 << 20;
  // A table that grows for ever by one row an event.
  EXPECT_THAT(FailureOf("materialize(t,infinity,infinity,keys(1,2)).\n"
                        "r1 t(@A,V) :- x(@A,V).\nr2 t(@A,V+1) :- t(@A,V).",
                        options),
              HasSubstr("take more than 4 MiB, after "));
  // A count whose every value rests on all that came before.
  EXPECT_THAT(FailureOf("materialize(t,infinity,infinity,keys(1,2)).\n"
                        "materialize(c,infinity,infinity,keys(1)).\n"
                        "r1 t(@A,I) :- x(@A,V), range(I,1,100000).\n"
                        "r2 c(@A,COUNT<V>) :- t(@A,V).",
                        options),
              HasSubstr("take more than 4 MiB, after "));
}

TEST(NdlogLimits, AMessageShowsTheBeginningOfALongValue) {
  const std::string message =
      FailureOf("r1 y(@A,L) :- x(@A,V), L := f_first(T), T := \"" + std::string(5000, 'z') + "\".");
  EXPECT_LT(message.size(), 500u);
}

TEST(NdlogLimits, DelaysBeyondTheEndOfTimeSaturate) {
  // A hundred hops of the longest delay there is, and jitter: more than 64 bits of nanoseconds. What would arrive at the
  // end of time never does.
  std::string topology;
  for (int i = 0; i < 130; ++i) topology += "{\"node\":\"n" + std::to_string(i) + "\"}\n";
  for (int i = 0; i + 1 < 130; ++i) {
    topology += "{\"link\":[\"n" + std::to_string(i) + "\",\"n" + std::to_string(i + 1) +
                "\"],\"delay_ns\":86400000000000000,\"jitter_ns\":86400000000000000}\n";
  }
  const auto result = RunFromTexts(
      {"r1 y(@B,V) :- x(@A,B,V).", topology, Inputs({{0, "insert", "x(@n0,n129,1)"}})}, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->events, 3);  // INS, DRV, SND
}

TEST(NdlogReplay, NegativeTransitAndHashesBeyond32BitsAreRefused) {
  const std::string header = "{\"ndlog_recording\":1,\"seed\":1,\"program\":\"p\"}\n";
  EXPECT_TRUE(ReadRecording(header + "[0,4,7,5,1,3]\n", "f").ok());
  for (const char* event : {"[0,4,7,5,1,-3]", "[0,4,-7,5,1,3]", "[0,4,4294967296,5,1,3]",
                            "[0,4,7,5,-1,3]", "[-1,4,7,5,1]"}) {
    const auto read = ReadRecording(header + event + "\n", "f");
    ASSERT_FALSE(read.ok()) << event;
    EXPECT_EQ(read.error().message, "f:2: no recorded event");
  }
}

}  // namespace
}  // namespace wf::ndlog
