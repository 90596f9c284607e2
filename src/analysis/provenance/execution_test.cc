// What is read, what is refused and how it is named; which server is taken.
#include "analysis/provenance/execution.h"

#include <gtest/gtest.h>

#include "analysis/provenance/event_lines_test.h"

namespace wf::provenance {
namespace {

using testing::Build;
using testing::ParseEvents;

std::string ErrorOf(const std::string& text) {
  const auto x = ReadExecution(text, "f");
  if (x.ok()) return "accepted";
  EXPECT_EQ(x.error().code, ErrorCode::kBadInput);
  EXPECT_FALSE(x.error().hint.empty());
  return x.error().message;
}

constexpr const char* kA =
    R"j({"id":"a","type":"INS","node":"X","tuple":"t(1)","start_ns":0,"end_ns":5})j"
    "\n";

TEST(ReadExecution, Reads) {
  const auto x = ReadExecution(std::string("\xEF\xBB\xBF") + kA +
                                   R"j({"resource":"pool","servers":3}

{"id":"b","type":"SND","node":"X","tuple":"+t(1)","start_ns":7,"end_ns":8,"causes":["a","a"],"rule":"r1","peer":"Y","origin":"o","ready_ns":6,"holds":[{"resource":"pool"},{"resource":"lock","since_ns":-3}],"other":1,"resource":null}
{"id":"c","type":"RCV","node":"Y","tuple":"+t(1)","start_ns":9,"end_ns":9,"causes":["b"],"resource":"pool"}
)j",
                               "f");
  ASSERT_TRUE(x.ok()) << x.error().message;
  ASSERT_EQ(x->size(), 3u);
  const uint32_t b = x->Find("b");
  EXPECT_EQ(b, 1u);
  EXPECT_EQ(x->Find("pool"), kNoEvent);
  EXPECT_EQ(x->Find("nobody"), kNoEvent);
  EXPECT_EQ(x->type[b], ProvenanceType::kSend);
  EXPECT_EQ(x->str(x->tuple[b]), "+t(1)");
  EXPECT_EQ(x->str(x->name[b]), "+t");
  EXPECT_EQ(x->str(x->rule[b]), "r1");
  EXPECT_EQ(x->str(x->peer[b]), "Y");
  EXPECT_EQ(x->str(x->origin[b]), "o");
  EXPECT_EQ(x->ready_ns[b], 6);
  EXPECT_EQ(x->causes_begin[b + 1] - x->causes_begin[b], 1u);  // given twice, it is one cause
  EXPECT_EQ(x->holds_begin[b + 1] - x->holds_begin[b], 2u);
  EXPECT_EQ(x->holds[x->holds_begin[b] + 1].since_ns, -3);
  EXPECT_EQ(x->servers[x->holds[x->holds_begin[b]].resource], 3u);
  EXPECT_EQ(x->ready_ns[x->Find("c")], 9);
  EXPECT_EQ(x->ready_ns[x->Find("a")], 0);
}

TEST(ReadExecution, RefusesWithLineAndIds) {
  const std::string a = kA;
  EXPECT_EQ(ErrorOf(a + "{"), "f: line 2, byte 1: JSON: expected a key in quotes");
  EXPECT_EQ(ErrorOf("[]\n"), "f: line 1: not an object");
  EXPECT_EQ(ErrorOf(R"j({"x":1})j"),
            "f: line 1: neither an event, with an \"id\", nor a resource with \"servers\"");
  EXPECT_EQ(ErrorOf(R"j({"resource":"r","servers":0})j"), "f: line 1: resource r: 0 servers");
  EXPECT_EQ(ErrorOf(R"j({"resource":"r","servers":"2"})j"),
            "f: line 1: \"servers\" is not a whole number of 64 bits");
  EXPECT_EQ(ErrorOf("{\"resource\":\"r\",\"servers\":1}\n{\"resource\":\"r\",\"servers\":2}"),
            "f: line 2: resource r: 2 servers here, 1 before");
  EXPECT_EQ(ErrorOf(a + kA), "f: line 2, event a: the id is taken already, by line 1, event a");
  const auto event = [&](const std::string& rest) {
    return ErrorOf(a + R"j({"id":"b","node":"Y","tuple":"+t(1)",)j" + rest + "}");
  };
  EXPECT_EQ(event(R"j("start_ns":6,"end_ns":7)j"), "f: line 2, event b: \"type\" is missing");
  EXPECT_EQ(event(R"j("type":"XXX","start_ns":6,"end_ns":7)j"),
            "f: line 2, event b: \"XXX\" is not a type; they are INS, DEL, DRV, UDRV, SND and RCV");
  EXPECT_EQ(event(R"j("type":"INS","end_ns":7)j"), "f: line 2, event b: \"start_ns\" is missing");
  EXPECT_EQ(event(R"j("type":"INS","start_ns":6.5,"end_ns":7)j"),
            "f: line 2, event b: \"start_ns\" is not a time in nanoseconds, a 64-bit integer");
  EXPECT_EQ(event(R"j("type":"INS","start_ns":8,"end_ns":7)j"),
            "f: line 2, event b: ends at 7, before it starts at 8");
  EXPECT_EQ(event(R"j("type":"INS","start_ns":6,"end_ns":7,"ready_ns":8)j"),
            "f: line 2, event b: is ready at 8, after its start at 6");
  EXPECT_EQ(
      event(R"j("type":"INS","start_ns":6,"end_ns":7,"holds":[{"resource":"r","since_ns":8}])j"),
      "f: line 2, event b: holds r since 8, after its start at 6");
  EXPECT_EQ(event(R"j("type":"INS","start_ns":6,"end_ns":7,"holds":[{"since_ns":8}])j"),
            "f: line 2, event b: \"holds\" is not a list of {\"resource\",\"since_ns\"?}");
  EXPECT_EQ(event(R"j("type":"INS","start_ns":6,"end_ns":7,"holds":[],"resource":"r")j"),
            "f: line 2, event b: \"resource\" is short for one of \"holds\"; give one of them");
  EXPECT_EQ(event(R"j("type":"INS","start_ns":6,"end_ns":7,"causes":["a"])j"),
            "f: line 2, event b: INS has no cause");
  EXPECT_EQ(event(R"j("type":"DRV","start_ns":6,"end_ns":7)j"),
            "f: line 2, event b: DRV has at least one cause");
  EXPECT_EQ(event(R"j("type":"RCV","start_ns":6,"end_ns":7,"causes":["a","a"])j"),
            "f: line 2, event b: RCV has exactly one cause, its SND");
  EXPECT_EQ(event(R"j("type":"RCV","start_ns":6,"end_ns":7,"causes":["a"])j"),
            "f: line 2, event b: cause a is INS; that of RCV is its SND");
  EXPECT_EQ(event(R"j("type":"DRV","start_ns":6,"end_ns":7,"causes":["q"])j"),
            "f: line 2, event b: cause q is unknown");
  EXPECT_EQ(event(R"j("type":"DRV","start_ns":6,"end_ns":7,"causes":[7])j"),
            "f: line 2, event b: \"causes\" is not a list of ids");
  EXPECT_EQ(event(R"j("type":"DRV","start_ns":4,"end_ns":7,"causes":["a"])j"),
            "f: line 2, event b: cause a ends at 5, after its effect starts at 4");
  EXPECT_EQ(event(R"j("type":"DRV","start_ns":6,"end_ns":7,"causes":["b"])j"),
            "f: line 2, event b: cause b does not precede it (start, then end, then line)");
  EXPECT_EQ(event(R"j("type":"DRV","start_ns":6,"end_ns":7,"causes":["a"],"ready_ns":4)j"),
            "f: line 2, event b: is ready at 4, before its cause a ends at 5");
  EXPECT_EQ(
      ErrorOf(
          a +
          R"j({"id":"b","type":"SND","node":"Y","tuple":"t","start_ns":6,"end_ns":7,"causes":["a"]})j"),
      "f: line 2, event b: the tuple of SND begins with + or -, not as \"t\" does");
  EXPECT_EQ(
      ErrorOf(a + R"j({"id":"b","type":"INS","node":"X","tuple":"t","start_ns":4,"end_ns":7})j"),
      "f: event b: more occupants than servers: takes X at 4, held by a until 5");
}

TEST(ReadExecution, TimesAreSigned64BitIntegers) {
  const auto at = [](const std::string& start) {
    return ErrorOf(R"j({"id":"b","type":"INS","node":"X","tuple":"t","start_ns":)j" + start +
                   R"j(,"end_ns":9223372036854775807})j");
  };
  EXPECT_EQ(at("5"), "accepted");
  EXPECT_EQ(at("-9223372036854775807"), "accepted");
  for (const char* number : {"1e3", "1.0", "1.5", "\"5\"", "true"}) {
    EXPECT_EQ(at(number),
              "f: line 1, event b: \"start_ns\" is not a time in nanoseconds, a 64-bit integer")
        << number;
  }
  EXPECT_EQ(at("9223372036854775808"),
            "f: line 1, event b: \"start_ns\" is not a time: it is beyond 64 bits, signed");
  EXPECT_EQ(at("-9223372036854775808"),
            "f: line 1, event b: \"start_ns\" is not a time: it is the minimum 64-bit integer");
  EXPECT_EQ(at("99999999999999999999"),
            "f: line 1, event b: 99999999999999999999 is beyond 64 bits");
  EXPECT_EQ(at("-9223372036854775809"),
            "f: line 1, event b: -9223372036854775809 is beyond 64 bits");
  // What a text holds is no number, and a line that is wrong for another reason says that.
  EXPECT_EQ(ErrorOf(R"j({"id":"99999999999999999999","tuple":"\"-99999999999999999999"})j"),
            "f: line 1, event 99999999999999999999: \"type\" is missing");
  EXPECT_EQ(ErrorOf(R"j({"id":"b","start_ns":99999999999999999999)j").substr(0, 16),
            "f: line 1, byte ");
  EXPECT_EQ(ErrorOf(R"j({"resource":"r","servers":2.0})j"),
            "f: line 1: \"servers\" is not a whole number of 64 bits");
}

TEST(ExecutionBuilder, TheMarkOfATimeThatIsNotToldIsNoTime) {
  ProvenanceEvent event;
  event.id = "a";
  event.node = "X";
  event.tuple = "t";
  const auto refused = [](const ProvenanceEvent& e) {
    ExecutionBuilder builder;
    const Status added = builder.Add(e);
    return added.ok() ? "accepted" : added.error().message;
  };
  EXPECT_EQ(refused(event), "accepted");
  const std::string why = "event a: the minimum 64-bit integer is not a valid time";
  ProvenanceEvent ready = event, since = event;
  ready.ready_ns = INT64_MIN;
  EXPECT_EQ(refused(ready), why);
  since.holds = {{"r", INT64_MIN}};
  EXPECT_EQ(refused(since), why);
}

TEST(ReadExecution, SimultaneousEventsAreInTheOrderOfLines) {
  const auto lines = [](const char* first, const char* second) {
    std::string text;
    for (const std::string id : {first, second}) {
      text += R"j({"id":")j" + id + R"j(","type":")j" + (id == "a" ? "INS" : "DRV") +
              R"j(","node":"X","tuple":"t","start_ns":5,"end_ns":5)j" +
              (id == "a" ? "" : R"j(,"causes":["a"])j") + "}\n";
    }
    return ErrorOf(text);
  };
  EXPECT_EQ(lines("a", "b"), "accepted");
  EXPECT_EQ(lines("b", "a"),
            "f: line 1, event b: cause a does not precede it (start, then end, then line)");
}

// Which server each event took, in the order of time.
std::string Servers(const std::string& text) {
  const auto x = Build(ParseEvents(text));
  if (!x.ok()) return x.error().message;
  std::string out;
  for (uint32_t h = 0; h < x->holds.size(); ++h) {
    out += (out.empty() ? "" : " ") + std::string(x->str(x->id[x->holder[h]])) + ":" +
           std::to_string(x->holds[h].server);
  }
  return out;
}

TEST(Servers, TheOneFreedLast) {
  EXPECT_EQ(Servers("servers N 2\nINS a N 0..1\nINS b N 0..2\nINS c N 3..4\nINS d N 3..4\n"),
            "a:0 b:1 c:1 d:0");
}

TEST(Servers, TiesGoToTheOneWhoseOccupantComesFirst) {
  EXPECT_EQ(Servers("servers N 2\nINS a N 0..3\nINS b N 1..3\nINS c N 3..4\nINS d N 3..5\n"),
            "a:0 b:1 c:0 d:1");
}

TEST(Servers, AnUnusedOneOnlyIfNoneIsFree) {
  EXPECT_EQ(Servers("servers N 3\nINS a N 0..1\nINS b N 5..6\nINS c N 5..6\n"), "a:0 b:0 c:1");
}

TEST(Servers, AreTakenWhenTheHoldBegins) {
  // b holds since 2, before c comes: it has the server that a left.
  EXPECT_EQ(Servers("servers N 2\nINS a N 0..1\nINS b N 6..7 holds=N@2\nINS c N 5..8\n"),
            "a:0 c:1 b:0");
}

TEST(Servers, AnEventWithoutDurationLeavesAtOnce) {
  EXPECT_EQ(Servers("INS a N 0..2\nINS b N 2..2\nINS c N 2..2\nINS d N 2..3\n"), "a:0 b:0 c:0 d:0");
  EXPECT_EQ(Servers("INS a N 0..2\nINS b N 1..1\n"),
            "event b: more occupants than servers: takes N at 10, held by a until 20");
}

TEST(Servers, OfTwoThatEndAtOnceTheOrderSaysWhoWasFirst) {
  // v comes before u in the order; u holds the server all along, so v finds none.
  EXPECT_EQ(Servers("INS v N 5..5\nINS u N 5..5 holds=N@3\n"),
            "event v: more occupants than servers: takes N at 50, held by u until 50");
  EXPECT_EQ(Servers("INS u N 5..5 holds=N@3\nINS v N 5..5\n"), "u:0 v:0");
}

TEST(ProvenanceLine, RoundTrip) {
  ProvenanceEvent e;
  e.id = "a\"1";
  e.type = ProvenanceType::kUnderive;
  e.node = "X";
  e.tuple = "t(@X,1)";
  e.start_ns = 5;
  e.end_ns = 6;
  e.causes = {"z"};
  e.rule = "r2";
  e.peer = "Y";
  e.origin = "o";
  e.ready_ns = 4;
  e.holds = {{"pool", {}}, {"lock", 3}};
  std::string text;
  AppendProvenanceLine(ResourceServers{"pool", 2}, text);
  AppendProvenanceLine(e, text);
  EXPECT_EQ(
      text,
      "{\"resource\":\"pool\",\"servers\":2}\n"
      "{\"id\":\"a\\\"1\",\"type\":\"UDRV\",\"node\":\"X\",\"tuple\":\"t(@X,1)\",\"start_ns\":5,"
      "\"end_ns\":6,\"causes\":[\"z\"],\"rule\":\"r2\",\"peer\":\"Y\",\"origin\":\"o\","
      "\"ready_ns\":4,\"holds\":[{\"resource\":\"pool\"},{\"resource\":\"lock\",\"since_ns\":3}]}"
      "\n");
  EXPECT_TRUE(ReadExecution(text, "f", 4).ok());
}

}  // namespace
}  // namespace wf::provenance
