// The programs of config/ndlog on a small network, with what they must give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lang/ndlog/ndlog_lab_test.h"

namespace wf::ndlog {
namespace {

using testing::ElementsAre;

// a – b – c in a row, and a longer way from a to c over d.
const char kSquare[] =
    "{\"node\":\"a\"}\n{\"node\":\"b\"}\n{\"node\":\"c\"}\n{\"node\":\"d\"}\n"
    "{\"link\":[\"a\",\"b\"],\"delay_ns\":1000}\n{\"link\":[\"b\",\"c\"],\"delay_ns\":1000}\n"
    "{\"link\":[\"a\",\"d\"],\"delay_ns\":1000}\n{\"link\":[\"d\",\"c\"],\"delay_ns\":1000}\n";

std::vector<Change> SquareLinks(const char* verb, Nanos at) {
  std::vector<Change> out;
  const auto both = [&](const std::string& x, const std::string& y, const std::string& cost) {
    out.push_back({at, verb, "link(@" + x + "," + y + "," + cost + ")"});
    out.push_back({at, verb, "link(@" + y + "," + x + "," + cost + ")"});
  };
  both("a", "b", "1");
  both("b", "c", "1");
  both("a", "d", "5");
  both("d", "c", "5");
  return out;
}

TEST(NdlogLibrary, Reachability) {
  const std::string inputs = Inputs(
      {{0, "insert", "link(@a,b)"}, {0, "insert", "link(@b,c)"}, {0, "insert", "link(@d,a)"}});
  EXPECT_THAT(TableAfter(LibraryProgram("reachability"), kSquare, inputs, "reachable"),
              ElementsAre("reachable(@a,b)", "reachable(@a,c)", "reachable(@b,c)",
                          "reachable(@d,a)", "reachable(@d,b)", "reachable(@d,c)"));
}

TEST(NdlogLibrary, PathVector) {
  std::vector<Change> changes = SquareLinks("insert", 0);
  EXPECT_THAT(
      TableAfter(LibraryProgram("path_vector"), kSquare, Inputs(changes), "bestPath"),
      ElementsAre("bestPath(@a,b,1,[a,b])", "bestPath(@a,c,2,[a,b,c])", "bestPath(@a,d,5,[a,d])",
                  "bestPath(@b,a,1,[b,a])", "bestPath(@b,c,1,[b,c])", "bestPath(@b,d,6,[b,a,d])",
                  "bestPath(@c,a,2,[c,b,a])", "bestPath(@c,b,1,[c,b])", "bestPath(@c,d,5,[c,d])",
                  "bestPath(@d,a,5,[d,a])", "bestPath(@d,b,6,[d,a,b])", "bestPath(@d,c,5,[d,c])"));
  changes.push_back({1'000'000, "delete", "link(@b,c,1)"});
  changes.push_back({1'000'000, "delete", "link(@c,b,1)"});
  EXPECT_THAT(TableAfter(LibraryProgram("path_vector"), kSquare, Inputs(changes), "bestPath"),
              testing::IsSupersetOf({"bestPath(@a,c,10,[a,d,c])", "bestPath(@b,c,11,[b,a,d,c])"}));
}

TEST(NdlogLibrary, MinimumCost) {
  std::vector<Change> changes = SquareLinks("insert", 0);
  EXPECT_THAT(
      TableAfter(LibraryProgram("min_cost"), kSquare, Inputs(changes), "minCost"),
      ElementsAre("minCost(@a,b,1)", "minCost(@a,c,2)", "minCost(@a,d,5)", "minCost(@b,a,1)",
                  "minCost(@b,c,1)", "minCost(@b,d,6)", "minCost(@c,a,2)", "minCost(@c,b,1)",
                  "minCost(@c,d,5)", "minCost(@d,a,5)", "minCost(@d,b,6)", "minCost(@d,c,5)"));
  // The destination is cut off: nobody counts to infinity.
  for (const char* gone : {"link(@a,d,5)", "link(@d,a,5)", "link(@c,d,5)", "link(@d,c,5)"})
    changes.push_back({1'000'000, "delete", gone});
  EXPECT_THAT(TableAfter(LibraryProgram("min_cost"), kSquare, Inputs(changes), "minCost"),
              ElementsAre("minCost(@a,b,1)", "minCost(@a,c,2)", "minCost(@b,a,1)",
                          "minCost(@b,c,1)", "minCost(@c,a,2)", "minCost(@c,b,1)"));
}

// Two switches, two hosts. The first packet is flooded; the answer goes by what was learned from it.
TEST(NdlogLibrary, LearningController) {
  const std::string topology =
      Nodes({"c", "h1", "h2", "s1", "s2"}) +
      "{\"link\":[\"s1\",\"s2\"],\"delay_ns\":1000}\n{\"link\":[\"h1\",\"s1\"],\"delay_ns\":100}\n"
      "{\"link\":[\"h2\",\"s2\"],\"delay_ns\":100}\n{\"link\":[\"c\",\"s1\"],\"delay_ns\":500}\n"
      "{\"link\":[\"c\",\"s2\"],\"delay_ns\":500}\n";
  std::vector<Change> changes;
  for (const char* tuple :
       {"controller(@s1,c)", "controller(@s2,c)", "uplink(@h1,s1)", "uplink(@h2,s2)",
        "port(@s1,h1,host)", "port(@s1,s2,switch)", "port(@s2,h2,host)", "port(@s2,s1,switch)",
        "flow(@s1,any,0,c)", "flow(@s2,any,0,c)", "nextHop(@c,s1,s2,s2)", "nextHop(@c,s2,s1,s1)"})
    changes.push_back({0, "insert", tuple});
  changes.push_back({10'000, "insert", "send(@h1,h2,1)"});
  changes.push_back({50'000, "insert", "send(@h2,h1,2)"});
  const std::string program = LibraryProgram("learning_controller");
  EXPECT_THAT(TableAfter(program, topology, Inputs(changes), "received"),
              ElementsAre("received(@h1,h2,2)", "received(@h2,h1,1)"));
  EXPECT_THAT(TableAfter(program, topology, Inputs(changes), "location"),
              ElementsAre("location(@c,h1,s1)"));
  EXPECT_THAT(TableAfter(program, topology, Inputs(changes), "flow"),
              ElementsAre("flow(@s1,any,0,c)", "flow(@s1,h1,10,h1)", "flow(@s2,any,0,c)",
                          "flow(@s2,h1,10,s1)"));
  // The controller saw the first packet (from both switches), not the answer.
  int asked = 0;
  RunOptions options;
  options.provenance = [&](const ProvenanceEvent& event) -> Status {
    if (event.type == ProvenanceType::kReceive && event.tuple.rfind("+packetIn(", 0) == 0) ++asked;
    return {};
  };
  ASSERT_TRUE(RunFromTexts({program, topology, Inputs(changes)}, options).ok());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace wf::ndlog
