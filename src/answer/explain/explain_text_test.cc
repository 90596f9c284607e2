#include "answer/explain/explain_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "answer/frame/text_table.h"
#include "answer/testing/explain_graphs.h"

namespace wf::answer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(ExplainText, ThePapersExample) {
  EXPECT_EQ(ExplainText(PaperExample().g),
            R"(11.0 s of 12.0 s: waited on storage behind 58 requests from maintenance (rewrite)

  time     own  what
12.0 s          response(1) on frontend
12.0 s          │ receive +reply(1) on frontend
12.0 s  800 ms  │ read(1) on storage
200 ms  200 ms  │  ├─ receive +call(1) on storage
11.0 s  11.0 s  ╎ behind 58 × rewrite on storage, from maintenance

│ caused by   ╎ waited behind, on the same resource   own: time that nothing earlier explains
to see what a change would save: --what-if NODE/NAME=0.5x
)");
}

TEST(ExplainText, StepsWithoutTimeOfTheirOwnAreCounted) {
  GraphMaker m;
  m.g.root = m.On("n0", "t0", 5 * kSecond);
  uint32_t last = m.g.root;
  for (int i = 1; i < 20; ++i) {
    const uint32_t next =
        m.On("n" + std::to_string(i), "t", 5 * kSecond, i == 19 ? 5 * kSecond : 0);
    m.Causal(next, last, 5 * kSecond);
    last = next;
  }
  m.g.delay_ns = 5 * kSecond;
  const std::string text = ExplainText(m.g);
  EXPECT_THAT(text, HasSubstr("⋮ 18 steps with no time of their own"));
  EXPECT_THAT(text, HasSubstr("│ t on n19"));
  EXPECT_THAT(text, Not(HasSubstr("on n7")));
}

TEST(ExplainText, TriflesAreCountedNotListed) {
  GraphMaker m = PaperExample();
  for (int i = 0; i < 7; ++i) {
    const uint32_t v = m.On("frontend", "trifle", 5 * kMs, 5 * kMs);
    m.Causal(v, 0, 5 * kMs);
  }
  const std::string text = ExplainText(m.g);
  EXPECT_THAT(text, HasSubstr("7 more with less than 1% each"));
  EXPECT_THAT(text, Not(HasSubstr("trifle")));
}

TEST(ExplainText, FitsHundredColumnsAndAScreenOrTwo) {
  GraphMaker m;
  m.g.root = m.On("n0", std::string(300, 'x'), 500 * kSecond, 0);
  uint32_t last = m.g.root;
  for (int i = 1; i < 300; ++i) {
    const uint32_t off = m.Off(std::string(80, 'n'), std::string(200, 'y'), std::string(90, 'o'), 3,
                               kSecond, kSecond);
    m.Behind(off, last, kSecond, std::string(120, 'r'));
    const uint32_t next = m.On("node" + std::to_string(i), "t", (500 - i) * kSecond, 1 * kMs);
    m.Causal(next, i % 3 == 0 ? off : last, (500 - i) * kSecond);
    last = i % 2 == 0 ? next : off;
  }
  m.g.delay_ns = 500 * kSecond;
  m.g.notes = {std::string(150, 'w') + " " + std::string(40, 'v')};
  const std::string text = ExplainText(m.g);
  for (const std::string& line : LinesOf(text)) EXPECT_LE(DisplayWidth(line), 100u) << line;
  EXPECT_LE(LinesOf(text).size(), 80u);
  EXPECT_THAT(text, HasSubstr("more: --format json lists all"));
}

TEST(ExplainText, ASharedCauseIsToldOnce) {
  GraphMaker m;
  m.g.root = m.On("a", "root", 4 * kSecond, 0);
  const uint32_t left = m.On("a", "left", 2 * kSecond, 1 * kSecond);
  const uint32_t right = m.On("a", "right", 2 * kSecond, 1 * kSecond);
  const uint32_t both = m.On("a", "both", 2 * kSecond, 2 * kSecond);
  m.Causal(left, m.g.root, 2 * kSecond);
  m.Causal(right, m.g.root, 2 * kSecond);
  m.Causal(both, left, 1 * kSecond);
  m.Causal(both, right, 1 * kSecond);
  m.g.delay_ns = 4 * kSecond;
  const std::string text = ExplainText(m.g);
  EXPECT_THAT(text, HasSubstr("both on a (above)"));
  size_t rows = 0;
  for (const std::string& line : LinesOf(text))
    rows += line.ends_with(" on a") || line.ends_with(" on a (above)");
  EXPECT_EQ(rows, 5u);
}

TEST(ExplainText, TheResourceIsNamedWhereItIsNotTheNode) {
  GraphMaker m;
  m.g.root = m.On("storage", "read(1)", 2 * kSecond, 0);
  m.Behind(m.Off("storage", "audit", "cron", 3, 2 * kSecond, 2 * kSecond), m.g.root, 2 * kSecond,
           "accounts");
  m.g.delay_ns = 2 * kSecond;
  EXPECT_THAT(ExplainText(m.g),
              HasSubstr("╎ behind, on accounts at storage: 3 × audit on storage, from cron"));
}

TEST(ExplainText, WhatIfUsualTimesNotesAndExpiredCauses) {
  GraphMaker m = PaperExample();
  m.g.what_if = {58, 6500 * kMs};
  m.g.nodes[2].baseline_ns = 40 * kMs;
  m.g.nodes[4].baseline_ns = 0;
  m.g.nodes[4].expired = true;
  m.g.notes = {"storage was taken for a synchronous server."};
  const std::string text = ExplainText(m.g);
  EXPECT_THAT(text, HasSubstr("what if: 6.50 s instead of 12.0 s"));
  EXPECT_THAT(text, Not(HasSubstr("--what-if")));
  EXPECT_THAT(text, HasSubstr("  time     own    usual  what\n"));
  EXPECT_THAT(text, HasSubstr("40.0 ms  │ read(1)"));
  EXPECT_THAT(text, HasSubstr("earlier causes of 1 event were deleted"));
  EXPECT_THAT(text, HasSubstr("from maintenance, expired"));
  EXPECT_THAT(text, HasSubstr("storage was taken for a synchronous server.\n"));
}

// The raw view tells no time of edges; what goes through the causes decides.
TEST(ExplainText, TheRawViewFollowsTheVertices) {
  GraphMaker m = PaperExample();
  for (ExplainLink& link : m.g.links) link.delay_ns = 0;
  EXPECT_THAT(ExplainText(m.g), HasSubstr("╎ behind 58 × rewrite"));
}

TEST(ExplainText, CyclesEnd) {
  GraphMaker m;
  m.g.root = m.On("a", "x(1)", 4 * kSecond, 0);
  const uint32_t p = m.Off("a", "p", "one", 2, 4 * kSecond, 3 * kSecond);
  const uint32_t q = m.Off("b", "q", "two", 2, 3 * kSecond, 1 * kSecond);
  m.Behind(p, m.g.root, 4 * kSecond);
  m.Behind(q, p, 3 * kSecond);
  m.Behind(p, q, 2 * kSecond);
  m.g.delay_ns = 4 * kSecond;
  EXPECT_THAT(ExplainText(m.g), HasSubstr("2 × p on a, from one (above)"));
}

}  // namespace
}  // namespace wf::answer
