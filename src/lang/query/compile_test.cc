#include "lang/query/compile.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lang/query/explain.h"
#include "lang/query/parser.h"
#include "lang/query/rewrite.h"

namespace wf::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Lines(const ExplainedPlan& plan) {
  std::vector<std::string> lines;
  for (const ExplainedAdvice& advice : plan.advice)
    lines.push_back(fmt::format("{} at {}: {}", advice.name, fmt::join(advice.tracepoints, ", "),
                                fmt::join(advice.steps, "; ")));
  return lines;
}

std::vector<std::string> Plain(const std::string& text) {
  const auto query = ParseQuery(text);
  if (!query) return {query.error().message};
  const auto compiled = Compile(**query);
  return compiled ? Lines(ExplainPlan(*compiled)) : std::vector{compiled.error().message};
}

std::vector<std::string> Rewritten(const std::string& text) {
  const auto query = ParseQuery(text);
  if (!query) return {query.error().message};
  const auto compiled = Rewrite(**query);
  return compiled ? Lines(ExplainPlan(*compiled)) : std::vector{compiled.error().message};
}

// ---- the queries of the paper, verbatim

const char* const kQ8 =
    "From response In SendResponse Join request In MostRecent(ReceiveRequest) On request -> "
    "response Select response.time - request.time";

TEST(PaperQueries, Q1) {
  const char* text = R"(Q1: From incr In DataNodeMetrics.incrBytesRead
GroupBy incr.host
Select incr.host, SUM(incr.delta))";
  const auto lines = ElementsAre(
      "A1 at DataNodeMetrics.incrBytesRead: OBSERVE host, delta; EMIT host, SUM(delta)");
  EXPECT_THAT(Plain(text), lines);
  EXPECT_THAT(Rewritten(text), lines);
}

TEST(PaperQueries, Q2) {
  const char* text = R"(Q2: From incr In DataNodeMetrics.incrBytesRead
    Join cl In First(ClientProtocols) On cl -> incr
    GroupBy cl.procName
    Select cl.procName, SUM(incr.delta))";
  const auto lines = ElementsAre(
      "A1 at ClientProtocols: OBSERVE procName; PACK-FIRST procName",
      "A2 at DataNodeMetrics.incrBytesRead: OBSERVE delta; UNPACK procName; EMIT procName, "
      "SUM(delta)");
  EXPECT_THAT(Plain(text), lines);
  EXPECT_THAT(Rewritten(text), lines);
}

TEST(PaperQueries, Q3) {
  EXPECT_THAT(
      Rewritten(
          "Q3: From dnop In DN.DataTransferProtocol GroupBy dnop.host Select dnop.host, COUNT"),
      ElementsAre("A1 at DN.DataTransferProtocol: OBSERVE host; EMIT host, COUNT"));
}

TEST(PaperQueries, Q4) {
  EXPECT_THAT(Rewritten(R"(Q4: From getloc In NN.GetBlockLocations
    Join st In StressTest.DoNextOp On st -> getloc
    GroupBy st.host, getloc.src
    Select st.host, getloc.src, COUNT)"),
              ElementsAre("A1 at StressTest.DoNextOp: OBSERVE host; PACK host",
                          "A2 at NN.GetBlockLocations: OBSERVE src; UNPACK host; EMIT host, src, "
                          "COUNT"));
}

TEST(PaperQueries, Q5) {
  EXPECT_THAT(Rewritten(R"(Q5: From getloc In NN.GetBlockLocations
    Join st In StressTest.DoNextOp On st -> getloc
    GroupBy st.host, getloc.replicas
    Select st.host, getloc.replicas, COUNT)"),
              ElementsAre("A1 at StressTest.DoNextOp: OBSERVE host; PACK host",
                          "A2 at NN.GetBlockLocations: OBSERVE replicas; UNPACK host; EMIT host, "
                          "replicas, COUNT"));
}

TEST(PaperQueries, Q6) {
  EXPECT_THAT(Rewritten(R"(Q6: From DNop In DN.DataTransferProtocol
Join st In StressTest.DoNextOp On st -> DNop
GroupBy st.host, DNop.host
Select st.host, DNop.host, COUNT)"),
              ElementsAre("A1 at StressTest.DoNextOp: OBSERVE st.host; PACK st.host",
                          "A2 at DN.DataTransferProtocol: OBSERVE DNop.host; UNPACK st.host; EMIT "
                          "st.host, DNop.host, COUNT"));
}

TEST(PaperQueries, Q7) {
  const char* text = R"(Q7: From DNop In DN.DataTransferProtocol
Join getloc In NN.GetBlockLocations
On getloc -> DNop
Join st In StressTest.DoNextOp On st -> getloc
Where st.host != DNop.host
GroupBy DNop.host, getloc.replicas
Select DNop.host, getloc.replicas, COUNT)";
  EXPECT_THAT(
      Rewritten(text),
      ElementsAre("A1 at StressTest.DoNextOp: OBSERVE st.host; PACK st.host",
                  "A2 at NN.GetBlockLocations: OBSERVE replicas; UNPACK st.host; PACK replicas, "
                  "st.host",
                  "A3 at DN.DataTransferProtocol: OBSERVE DNop.host; UNPACK replicas, st.host; "
                  "FILTER st.host != DNop.host; EMIT DNop.host, replicas, COUNT"));
}

TEST(PaperQueries, Q8) {
  const auto lines = ElementsAre(
      "A1 at ReceiveRequest: OBSERVE request.time; PACK-RECENT request.time",
      "A2 at SendResponse: OBSERVE response.time; UNPACK request.time; EMIT response.time - "
      "request.time");
  EXPECT_THAT(Plain(kQ8), lines);
  EXPECT_THAT(Rewritten(kQ8), lines);
}

TEST(PaperQueries, Q9) {
  const std::string text = std::string("Q8: ") + kQ8 +
                           ";\nQ9: From job In JobComplete Join latencyMeasurement In Q8 On "
                           "latencyMeasurement -> job Select job.id, AVERAGE(latencyMeasurement)";
  EXPECT_THAT(
      Plain(text),
      ElementsAre("A1 at ReceiveRequest: OBSERVE request.time; PACK-RECENT request.time",
                  "A2 at SendResponse: OBSERVE response.time; UNPACK request.time; PACK "
                  "response.time, request.time",
                  "A3 at JobComplete: OBSERVE id; UNPACK response.time, request.time; EMIT id, "
                  "AVERAGE(response.time - request.time)"));
  EXPECT_THAT(
      Rewritten(text),
      ElementsAre("A1 at ReceiveRequest: OBSERVE request.time; PACK-RECENT request.time",
                  "A2 at SendResponse: OBSERVE response.time; UNPACK request.time; PACK "
                  "AVERAGE(response.time - request.time)",
                  "A3 at JobComplete: OBSERVE id; UNPACK AVERAGE(response.time - request.time); "
                  "EMIT id, AVERAGE(response.time - request.time)"));
}

// ---- where things are put

TEST(Compile, ThePlainPlanPacksEverythingAndFiltersInFromsAdvice) {
  EXPECT_THAT(Plain("From q In Q Join p In P On p -> q Where p.a > 1 && q.b = 2 GroupBy p.k Select "
                    "p.k, SUM(p.c)"),
              ElementsAre("A1 at P: OBSERVE a, k, c; PACK a, k, c",
                          "A2 at Q: OBSERVE b; UNPACK a, k, c; FILTER a > 1; FILTER b = 2; EMIT k, "
                          "SUM(c)"));
}

TEST(Rewrite, SelectionsProjectionsAndAggregatesGoToTheSource) {
  EXPECT_THAT(Rewritten("From q In Q Join p In P On p -> q Where p.a > 1 && q.b = 2 GroupBy p.k "
                        "Select p.k, SUM(p.c), SUM(q.b)"),
              ElementsAre("A1 at P: OBSERVE a, k, c; FILTER a > 1; PACK k, SUM(c)",
                          "A2 at Q: OBSERVE b; FILTER b = 2; UNPACK k, SUM(c); EMIT k, SUM(c), "
                          "SUM(b)"));
}

TEST(Rewrite, NoSelectionIsPushedBelowFirst) {
  EXPECT_THAT(Rewritten("From q In Q Join p In First(P) On p -> q Where p.a > 1 Select COUNT"),
              ElementsAre("A1 at P: OBSERVE a; PACK-FIRST a > 1",
                          "A2 at Q: UNPACK a > 1; FILTER a > 1; EMIT COUNT"));
}

TEST(Rewrite, NoSelectionFromOutsideEntersAPickedSubquery) {
  EXPECT_THAT(
      Rewritten("From q In Q Join s In MostRecent((From e In E Join f In F On f -> e Where f.v > 0 "
                "Select f.v As v)) On s -> q Where s.v < 5 Select s.v"),
      ElementsAre("A1 at F: OBSERVE v; FILTER v > 0; PACK v",
                  "A2 at E: UNPACK v; REQUIRE TUPLES; PACK-RECENT v",
                  "A3 at Q: UNPACK v; FILTER v < 5; EMIT v"));
}

TEST(Rewrite, JoinsOnAPickedAliasComeAfterThePick) {
  EXPECT_THAT(
      Rewritten("From q In Q Join p In First(P) On p -> q Join r In R On r -> p Where r.v > "
                "0 Select p.a, r.v"),
      ElementsAre("A1 at R: OBSERVE v; FILTER v > 0; PACK v",
                  "A2 at P: OBSERVE a; UNPACK v; PACK-FIRST a, v",
                  "A3 at Q: UNPACK a, v; EMIT a, v"));
}

TEST(Rewrite, ExpressionsOfOneSideAreComputedThere) {
  EXPECT_THAT(
      Rewritten("From q In Q Join p In P On p -> q GroupBy Bucket(p.time, 1s) Select COUNT"),
      ElementsAre("A1 at P: OBSERVE time; PACK Bucket(time, 1000000000)",
                  "A2 at Q: UNPACK Bucket(time, 1000000000); EMIT COUNT BY Bucket(time, "
                  "1000000000)"));
}

TEST(Rewrite, WhatTravelsAnywayNeedsNoState) {
  EXPECT_THAT(Rewritten("From q In Q Join p In P On p -> q Select SUM(p.a), MAX(p.a + q.b)"),
              ElementsAre("A1 at P: OBSERVE a; PACK a",
                          "A2 at Q: OBSERVE b; UNPACK a; EMIT SUM(a), MAX(a + b)"));
}

TEST(Rewrite, AggregatedSubqueriesAreFinishedWhereTheyAreJoined) {
  EXPECT_THAT(
      Rewritten("From q In Q Join s In (From e In E GroupBy e.k Select e.k As k, COUNT As n, "
                "SUM(e.v) As unread) On s -> q Where s.k = 'a' && s.n > 1 Select s.n"),
      ElementsAre("A1 at E: OBSERVE k, v; FILTER k = 'a'; PACK k, COUNT",
                  "A2 at Q: UNPACK COUNT; FILTER COUNT > 1; EMIT COUNT"));
}

TEST(Rewrite, AListThatIsReadMultipliesEvenIfItDoesNotTravel) {
  EXPECT_THAT(Rewritten("From q In Q Join p In (From e In E Select e.l As l, e.k As k) On p -> q "
                        "Select p.k"),
              ElementsAre("A1 at E: OBSERVE l, k; PACK k", "A2 at Q: UNPACK k; EMIT k"));
}

TEST(Rewrite, TheWindowIsTheFirstKey) {
  EXPECT_THAT(Rewritten("From q In Q Window 1s GroupBy q.k Select COUNT, q.k"),
              ElementsAre("A1 at Q: OBSERVE k, time; EMIT Bucket(time, 1000000000), COUNT, k"));
}

TEST(Rewrite, EqualAliasesOfSubqueriesAreToldApart) {
  EXPECT_THAT(Rewritten("From e In E Join s In (From e In F Select e.k As k) On s -> e Select "
                        "e.k, s.k"),
              ElementsAre("A1 at F: OBSERVE s.e.k; PACK s.e.k",
                          "A2 at E: OBSERVE e.k; UNPACK s.e.k; EMIT e.k, s.e.k"));
}

// ---- what weaver and server ask

TEST(ReadsOf, EveryTracepointWithItsVariables) {
  const auto query =
      ParseQuery("From q In A, B Join p In First(A) On p -> q Where p.x = q.y Select q.z, p.time");
  ASSERT_TRUE(query.ok());
  const auto compiled = Rewrite(**query);
  ASSERT_TRUE(compiled.ok());
  const auto reads = ReadsOf(compiled->program);
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(reads[0].tracepoint, "A");
  EXPECT_THAT(reads[0].variables, ElementsAre("x", "time", "y", "z"));
  EXPECT_EQ(reads[1].tracepoint, "B");
  EXPECT_THAT(reads[1].variables, ElementsAre("y", "z"));
}

// ---- hostile queries

std::string RewriteError(const std::string& text) {
  const auto query = ParseQuery(text);
  if (!query) return query.error().message;
  const auto plain = Compile(**query);
  const auto rewritten = Rewrite(**query);
  EXPECT_EQ(plain.ok(), rewritten.ok());
  return rewritten ? "" : rewritten.error().message;
}

TEST(HostileQueries, ThousandsOfJoins) {
  std::string text = "From q In Q";
  for (int i = 0; i < 2000; ++i) text += fmt::format(" Join p{} In P On p{} -> q", i, i);
  EXPECT_NE(RewriteError(text + " Select COUNT"), "");
}

TEST(HostileQueries, SubqueriesThatDouble) {
  std::string text = "Q0: From e In E Select e.x As x;";
  for (int i = 1; i < 40; ++i)
    text += fmt::format("Q{}: From a In Q{} Join b In Q{} On b -> a Select a.x + b.x As x;", i,
                        i - 1, i - 1);
  EXPECT_NE(RewriteError(text + "From a In Q39 Select a.x"), "");
}

TEST(HostileQueries, ColumnsThatDouble) {
  std::string text = "Q0: From e In E Select e.x As x;";
  for (int i = 1; i < 40; ++i)
    text += fmt::format("Q{}: From a In Q{} Select a.x + a.x As x;", i, i - 1);
  EXPECT_THAT(RewriteError(text + "From a In Q39 Select a.x"), HasSubstr("too large"));
}

TEST(HostileQueries, HundredsOfConditions) {
  std::string text = "From q In Q Join p In P On p -> q Where p.x > q.x";
  for (int i = 0; i < 600; ++i) text += fmt::format(" && p.x + q.y != {}", i);
  EXPECT_EQ(RewriteError(text + " Select COUNT"), "");
}

TEST(HostileQueries, AHugeFirstN) {
  EXPECT_EQ(RewriteError("From q In Q Join p In FirstN(1000000, P) On p -> q Select p.x"), "");
  EXPECT_NE(RewriteError("From q In Q Join p In FirstN(4000000000, P) On p -> q Select p.x"), "");
}

}  // namespace
}  // namespace wf::query
