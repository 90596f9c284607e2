#include "answer/explain/explain_sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/testing/explain_graphs.h"

namespace wf::answer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ExplainSentence, ThePapersExample) {
  EXPECT_EQ(ExplainSentence(PaperExample().g),
            "11.0 s of 12.0 s: waited on storage behind 58 requests from maintenance (rewrite)");
}

TEST(ExplainSentence, ItsPartsAddUpToTheDelay) {
  const ExplainGraph graph = PaperExample().g;
  Nanos sum = 0;
  for (const ExplainPart& part : ExplainParts(graph)) sum += part.time_ns;
  EXPECT_EQ(sum, graph.delay_ns);
}

TEST(ExplainSentence, NothingOffItsPath) {
  GraphMaker m;
  const uint32_t root = m.On("frontend", "response(1)", 10 * kSecond, 1 * kSecond);
  const uint32_t scan = m.On("storage", "scan(4)", 9 * kSecond, 9 * kSecond);
  m.Causal(scan, root, 9 * kSecond);
  m.g.delay_ns = 10 * kSecond, m.g.root = root;
  EXPECT_EQ(
      ExplainSentence(m.g),
      "10.0 s of 10.0 s: the request's own work, most of it in scan on storage; no other work "
      "held it up");
}

TEST(ExplainSentence, OwnWorkOfOneVertexIsNamedWithoutMostOfIt) {
  GraphMaker m;
  m.g.root = m.On("storage", "scan(4)", 9 * kMs, 9 * kMs);
  m.g.delay_ns = 9 * kMs;
  EXPECT_EQ(
      ExplainSentence(m.g),
      "9.00 ms of 9.00 ms: the request's own work, in scan on storage; no other work held it up");
}

TEST(ExplainSentence, OthersHadASmallPartOnly) {
  GraphMaker m;
  const uint32_t root = m.On("frontend", "response(1)", 10 * kSecond, 9500 * kMs);
  const uint32_t other = m.Off("frontend", "ping", "monitor", 2, 500 * kMs, 500 * kMs);
  m.Behind(other, root, 500 * kMs);
  m.g.delay_ns = 10 * kSecond, m.g.root = root;
  EXPECT_EQ(ExplainSentence(m.g),
            "9.50 s of 10.0 s: the request's own work, in response on frontend; 500 ms: waited on "
            "frontend behind 2 requests from monitor (ping)");
}

TEST(ExplainSentence, SeveralComparableCulpritsAreAllNamed) {
  GraphMaker m;
  const uint32_t root = m.On("frontend", "response(1)", 12 * kSecond, 0);
  const uint32_t work = m.On("storage", "read(1)", 5 * kSecond, 0);
  const uint32_t compute = m.On("compute", "price(1)", 7 * kSecond, 0);
  m.Causal(compute, root, 12 * kSecond);
  m.Causal(work, compute, 5 * kSecond);
  m.Behind(m.Off("storage", "rewrite", "maintenance", 58, 5 * kSecond, 5 * kSecond), work,
           5 * kSecond);
  m.Behind(m.Off("compute", "sum", "reports", 1, 4 * kSecond, 4 * kSecond), compute, 4 * kSecond);
  m.Behind(m.Off("compute", "ping", "monitor", 9, 3 * kSecond, 3 * kSecond), compute, 3 * kSecond);
  m.g.delay_ns = 12 * kSecond, m.g.root = root;
  EXPECT_EQ(ExplainSentence(m.g),
            "5.00 s of 12.0 s: waited on storage behind 58 requests from maintenance (rewrite); "
            "4.00 s: waited on compute behind 1 request from reports (sum); "
            "3.00 s: waited on compute behind 9 requests from monitor (ping)");
}

TEST(ExplainSentence, OneRequest) {
  GraphMaker m;
  m.g.root = m.On("storage", "read(1)", 2 * kSecond, 100 * kMs);
  m.Behind(m.Off("storage", "backup(7)", "cron", 1, 1900 * kMs, 1900 * kMs), m.g.root, 1900 * kMs);
  m.g.delay_ns = 2 * kSecond;
  EXPECT_EQ(ExplainSentence(m.g),
            "1.90 s of 2.00 s: waited on storage behind 1 request from cron (backup)");
}

TEST(ExplainSentence, SegmentsOfOneSpanAreOneRequest) {
  GraphMaker m;
  m.g.root = m.On("storage", "read(1)", 2 * kSecond, 0);
  const uint32_t off = m.Off("storage", "page", "cron", 40, 2 * kSecond, 2 * kSecond);
  m.g.nodes[off].requests = 10;
  m.Behind(off, m.g.root, 2 * kSecond);
  m.g.delay_ns = 2 * kSecond;
  EXPECT_EQ(ExplainSentence(m.g),
            "2.00 s of 2.00 s: waited on storage behind 10 requests from cron (page)");
}

TEST(ExplainSentence, SeveralSortsOfOneCulpritCountTogether) {
  GraphMaker m;
  m.g.root = m.On("storage", "read(1)", 2 * kSecond, 0);
  m.Behind(m.Off("storage", "scan", "maintenance", 8, 1800 * kMs, 1800 * kMs), m.g.root,
           1800 * kMs);
  m.Behind(m.Off("storage", "put", "maintenance", 2, 200 * kMs, 200 * kMs), m.g.root, 200 * kMs);
  m.g.delay_ns = 2 * kSecond;
  EXPECT_EQ(
      ExplainSentence(m.g),
      "2.00 s of 2.00 s: waited on storage behind 10 requests from maintenance (mostly scan)");
}

TEST(ExplainSentence, RequestsOfTheSameOriginAreOthers) {
  GraphMaker m;
  m.g.root = m.On("storage", "read(1)", 2 * kSecond, 0);
  m.Behind(m.Off("storage", "read", "frontend", 12, 2 * kSecond, 2 * kSecond), m.g.root,
           2 * kSecond);
  m.g.delay_ns = 2 * kSecond;
  EXPECT_EQ(ExplainSentence(m.g),
            "2.00 s of 2.00 s: waited on storage behind 12 other requests from frontend (read)");
}

TEST(ExplainSentence, WithoutAnOriginTheirNameSpeaks) {
  GraphMaker m;
  m.g.root = m.On("s1", "forward(1)", 2 * kSecond, 0);
  m.Behind(m.Off("s1", "+flowMod", "", 300, 2 * kSecond, 2 * kSecond), m.g.root, 2 * kSecond);
  m.g.delay_ns = 2 * kSecond;
  EXPECT_EQ(ExplainSentence(m.g), "2.00 s of 2.00 s: waited on s1 behind 300 × flowMod");
}

TEST(ExplainSentence, ALockIsNamedWithItsNode) {
  GraphMaker m;
  m.g.root = m.On("storage", "read(1)", 2 * kSecond, 0);
  m.Behind(m.Off("storage", "audit", "cron", 3, 2 * kSecond, 2 * kSecond), m.g.root, 2 * kSecond,
           "accounts");
  m.g.delay_ns = 2 * kSecond;
  EXPECT_EQ(ExplainSentence(m.g),
            "2.00 s of 2.00 s: waited on accounts at storage behind 3 requests from cron (audit)");
}

TEST(ExplainSentence, WorkersOfAServiceAreTheService) {
  GraphMaker m;
  m.g.root = m.On("storage", "read(1)", 2 * kSecond, 0);
  m.Behind(m.Off("storage", "audit", "cron", 3, 2 * kSecond, 2 * kSecond), m.g.root, 2 * kSecond,
           "workers of storage/storage-0");
  m.g.delay_ns = 2 * kSecond;
  EXPECT_EQ(ExplainSentence(m.g),
            "2.00 s of 2.00 s: waited on storage behind 3 requests from cron (audit)");
  m.g.links[0].resource = "lock accounts of storage/storage-0";
  EXPECT_EQ(ExplainSentence(m.g),
            "2.00 s of 2.00 s: waited on lock accounts of storage/storage-0 behind 3 requests from "
            "cron (audit)");
}

// Its receive, its work and the disk it waited for are one reason.
TEST(ExplainSentence, OneCulpritsStepsAreOneReason) {
  GraphMaker m;
  m.g.root = m.On("storage", "read(1)", 10 * kSecond, 1 * kSecond);
  const uint32_t work = m.Off("storage", "rewrite", "maintenance", 5, 9 * kSecond, 2 * kSecond);
  const uint32_t reply = m.Off("storage", "+reply", "maintenance", 5, 7 * kSecond, 1 * kSecond);
  const uint32_t disk = m.Off("disk", "write", "maintenance", 5, 6 * kSecond, 6 * kSecond);
  m.Behind(work, m.g.root, 9 * kSecond);
  m.Causal(reply, work, 7 * kSecond);
  m.Causal(disk, reply, 6 * kSecond);
  m.g.delay_ns = 10 * kSecond;
  EXPECT_EQ(ExplainSentence(m.g),
            "9.00 s of 10.0 s: waited on storage behind 5 requests from maintenance (write)");
}

TEST(ExplainSentence, WhomItWaitedForWaitedItself) {
  GraphMaker m;
  m.g.root = m.On("compute", "price(1)", 10 * kSecond, 1 * kSecond);
  const uint32_t waited = m.Off("compute", "sum", "reports", 3, 9 * kSecond, 0);
  const uint32_t scan = m.Off("storage", "scan", "reports", 3, 9 * kSecond, 1 * kSecond);
  const uint32_t rewrite = m.Off("storage", "rewrite", "maintenance", 58, 8 * kSecond, 8 * kSecond);
  m.Behind(waited, m.g.root, 9 * kSecond);
  m.Causal(scan, waited, 9 * kSecond);
  m.Behind(rewrite, scan, 8 * kSecond);
  m.g.delay_ns = 10 * kSecond;
  EXPECT_EQ(
      ExplainSentence(m.g),
      "8.00 s of 10.0 s: waited on compute behind 3 requests from reports (sum), which waited "
      "on storage behind 58 requests from maintenance (rewrite)");
}

// The same culprit in two places: the place that is named is the one whose time is told.
TEST(ExplainSentence, TwoPlacesAreTwoReasons) {
  GraphMaker m;
  const uint32_t root = m.On("frontend", "response(1)", 10 * kSecond, 0);
  const uint32_t read = m.On("storage", "read(1)", 10 * kSecond, 0);
  const uint32_t price = m.On("compute", "price(1)", 4 * kSecond, 0);
  m.Causal(read, root, 10 * kSecond);
  m.Causal(price, read, 4 * kSecond);
  m.Behind(m.Off("storage", "rewrite", "maintenance", 6, 6 * kSecond, 6 * kSecond), read,
           6 * kSecond);
  m.Behind(m.Off("compute", "rebuild", "maintenance", 4, 4 * kSecond, 4 * kSecond), price,
           4 * kSecond);
  m.g.delay_ns = 10 * kSecond, m.g.root = root;
  EXPECT_THAT(ExplainSentence(m.g),
              StartsWith("6.00 s of 10.0 s: waited on storage behind 6 requests from maintenance "
                         "(rewrite); 4.00 s: waited on compute behind 4 requests"));
}

TEST(ExplainSentence, MessagesOnTheirWay) {
  GraphMaker m;
  m.g.root = m.On("a", "+pong(1)", 3 * kSecond, 3 * kSecond, 3 * kSecond, ProvenanceType::kReceive);
  m.g.delay_ns = 3 * kSecond;
  EXPECT_EQ(ExplainSentence(m.g),
            "3.00 s of 3.00 s: its message pong was in transit to a; no other work held it up");
}

TEST(ExplainSentence, AGapNobodyRecorded) {
  GraphMaker m;
  m.g.root = m.On("a", "retry(1)", 3 * kSecond, 3 * kSecond, 2900 * kMs);
  m.g.delay_ns = 3 * kSecond;
  EXPECT_THAT(ExplainSentence(m.g),
              StartsWith("2.90 s of 3.00 s: waited for something not recorded, before retry on a"));
}

TEST(ExplainSentence, ExpiredInputIsSaid) {
  GraphMaker m = PaperExample();
  m.g.nodes[4].expired = true;
  EXPECT_EQ(
      ExplainSentence(m.g),
      "11.0 s of 12.0 s: waited on storage behind 58 requests from maintenance (rewrite) (earlier "
      "events are no longer kept)");
}

TEST(ExplainSentence, NoTimePassed) {
  GraphMaker m;
  m.g.root = m.g.from = m.On("a", "x(1)", 0, 0);
  EXPECT_EQ(ExplainSentence(m.g), "no time passed between start and end");
}

TEST(ExplainSentence, MergedGraphsMayHaveCycles) {
  GraphMaker m;
  m.g.root = m.On("a", "x(1)", 4 * kSecond, 0);
  const uint32_t p = m.Off("a", "p", "one", 2, 4 * kSecond, 3 * kSecond);
  const uint32_t q = m.Off("b", "q", "two", 2, 3 * kSecond, 1 * kSecond);
  m.Behind(p, m.g.root, 1 * kSecond);
  m.Behind(q, p, 3 * kSecond);
  m.Behind(p, q, 2 * kSecond);
  m.g.delay_ns = 4 * kSecond;
  EXPECT_THAT(ExplainSentence(m.g), StartsWith("3.00 s of 4.00 s: waited"));
}

TEST(ExplainSentence, NamesCannotDriveTheTerminal) {
  GraphMaker m;
  m.g.root = m.On("a", "x(1)", 4 * kSecond, 0);
  m.Behind(m.Off("a", "\x1b[31mred", "ev\nil", 2, 4 * kSecond, 4 * kSecond), m.g.root, 4 * kSecond);
  m.g.delay_ns = 4 * kSecond;
  EXPECT_THAT(ExplainSentence(m.g), Not(HasSubstr("\x1b")));
  EXPECT_THAT(ExplainSentence(m.g), HasSubstr("ev?il"));
}

// What-if, and only what-if, says what one would save.
TEST(ExplainSentence, WhatIf) {
  GraphMaker m = PaperExample();
  EXPECT_EQ(ExplainWhatIfSentence(m.g), "");
  m.g.what_if = {58, 6500 * kMs};
  EXPECT_EQ(ExplainWhatIfSentence(m.g),
            "what if: 6.50 s instead of 12.0 s, 46% less (58 events matched)");
  m.g.what_if = {1, 13 * kSecond};
  EXPECT_EQ(ExplainWhatIfSentence(m.g),
            "what if: 13.0 s instead of 12.0 s, 8% more (1 event matched)");
  m.g.what_if = {1, 12 * kSecond};
  EXPECT_EQ(ExplainWhatIfSentence(m.g),
            "what if: 12.0 s instead of 12.0 s, no change (1 event matched)");
  m.g.what_if = {0, 12 * kSecond};
  EXPECT_EQ(ExplainWhatIfSentence(m.g), "what if: no match, so no change");
}

}  // namespace
}  // namespace wf::answer
