#include "answer/explain/explain_dot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/testing/explain_graphs.h"

namespace wf::answer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ExplainDot, EveryVertexAndEdge) {
  const std::string dot = ExplainDot(PaperExample().g);
  EXPECT_THAT(dot, StartsWith("digraph explain {\n  label=\"11.0 s of 12.0 s: waited on storage"));
  for (const char* part : {"v0 [", "v1 [", "v2 [", "v3 [", "v4 [", "v1 -> v0 [", "v2 -> v1 [",
                           "v3 -> v2 [", "v4 -> v2 ["})
    EXPECT_THAT(dot, HasSubstr(part));
  EXPECT_THAT(dot, HasSubstr("58 × rewrite on storage, from maintenance\\n11.0 s, own 11.0 s"));
  EXPECT_THAT(
      dot, HasSubstr("v4 -> v2 [penwidth=7.4, label=\"behind on storage  11.0 s\", style=dashed]"));
  EXPECT_THAT(dot, HasSubstr("v3 -> v2 [penwidth=1.1, label=\"200 ms\"]"));
}

TEST(ExplainDot, QuotesBackslashesAndControlCharactersStayInTheirLabel) {
  GraphMaker m;
  m.g.root = m.On("a\"; evil [", "x\\\n\"(1)", 4 * kSecond, 4 * kSecond);
  m.g.delay_ns = 4 * kSecond;
  const std::string dot = ExplainDot(m.g);
  EXPECT_THAT(dot, HasSubstr("label=\"x\\\\?\\\"(1) on a\\\"; evil [\\n4.00 s"));
  EXPECT_THAT(dot, Not(HasSubstr("a\"; evil")));
}

}  // namespace
}  // namespace wf::answer
