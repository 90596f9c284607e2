#include "answer/explain/explain_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/testing/explain_graphs.h"

namespace wf::answer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

size_t Times(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(ExplainSvg, ThePapersExample) {
  const std::string svg = ExplainSvg(PaperExample().g);
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_EQ(Times(svg, "class=\"box\""), 5u);
  EXPECT_EQ(Times(svg, "<g class=\"off\""), 1u);
  EXPECT_EQ(Times(svg, "class=\"link"), 4u);
  EXPECT_EQ(Times(svg, "class=\"edge\""), 1u);  // sequencing, told without colour
  EXPECT_THAT(svg, HasSubstr("58 × rewrite"));
  EXPECT_THAT(svg, HasSubstr("behind, on storage"));
}

TEST(ExplainSvg, NeedsNothingElse) {
  const std::string svg = ExplainSvg(PaperExample().g);
  for (const char* foreign : {"<script", "href", "url(", "@import", "<foreignObject", "onload"})
    EXPECT_THAT(svg, Not(HasSubstr(foreign)));
  EXPECT_EQ(Times(svg, "http"), 1u);  // the namespace
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
}

TEST(ExplainSvg, MarkupInNamesStaysText) {
  GraphMaker m;
  m.g.root = m.On("<b>", "x</text><script>&\"'\x01(1)", 4 * kSecond, 4 * kSecond);
  m.g.delay_ns = 4 * kSecond;
  const std::string svg = ExplainSvg(m.g);
  EXPECT_THAT(svg, HasSubstr("x&lt;/text&gt;&lt;script&gt;&amp;&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, Not(HasSubstr("\x01")));
}

TEST(ExplainSvg, CausesWithoutDelayAreCountedNotDrawn) {
  GraphMaker m = PaperExample();
  for (int i = 0; i < 1000; ++i) m.Causal(m.On("a", "idle", 0, 0), 4, 0);
  const std::string svg = ExplainSvg(m.g);
  EXPECT_EQ(Times(svg, "class=\"box\""), 5u);
  EXPECT_THAT(svg, HasSubstr("Not drawn: 1000 with less than 1% of the delay."));
}

TEST(ExplainSvg, NoMoreThanCanBeRead) {
  GraphMaker m = PaperExample();
  for (int i = 0; i < 2000; ++i) {
    const uint32_t v =
        m.Off("a", "small", "o" + std::to_string(i), 1, 130 * kMs + i, 130 * kMs + i);
    m.Behind(v, 2, 130 * kMs + i);
  }
  const std::string svg = ExplainSvg(m.g);
  EXPECT_EQ(Times(svg, "class=\"box\""), 300u);
  EXPECT_THAT(svg, HasSubstr("Not drawn: 1705 with less delay."));
}

TEST(ExplainSvg, OneVertexAndNoTime) {
  GraphMaker m;
  m.g.root = m.g.from = m.On("a", "x(1)", 0, 0);
  EXPECT_EQ(Times(ExplainSvg(m.g), "class=\"box\""), 1u);
}

}  // namespace
}  // namespace wf::answer
