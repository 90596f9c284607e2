#include "answer/paths/convolution_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/paths/convolution_text.h"
#include "answer/paths/paths_dot.h"
#include "answer/paths/paths_svg.h"

namespace wf::answer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Found {
  Found() {
    result.quantum_ns = 5 * kSecond;
    result.quantum_why = "as given";
    result.messages = 900;
    result.vertices = {nodes.Intern("in"), nodes.Intern("a \"relay\" <1>"), nodes.Intern("box")};
    result.roots = {0};
    result.edges = {{0, 1, 500, {}}, {1, 2, 400, {{0, 300}, {10 * kSecond, 100}}}};
  }
  StringTable nodes;
  paths::ConvolutionResult result;
};

TEST(ConvolutionJson, HasTheKeysOfTheContractInTheirOrder) {
  const Found found;
  EXPECT_THAT(
      ConvolutionJson(found.result, found.nodes, "asked for"),
      StartsWith(
          "{\"algorithm\":\"convolution\",\"why\":\"asked for\",\"quantum_ns\":5000000000,"
          "\"vertices\":[{\"id\":0,\"node\":\"in\"},{\"id\":1,\"node\":\"a \\\"relay\\\" "
          "<1>\"},{\"id\":2,\"node\":\"box\"}],\"edges\":[{\"from\":0,\"to\":1,\"count\":500,"
          "\"delays_ns\":[]},{\"from\":1,\"to\":2,\"count\":400,\"delays_ns\":[{\"delay\":0,"
          "\"count\":300},{\"delay\":10000000000,\"count\":100}]}]"));
}

TEST(ConvolutionText, IsATreeWithDelaysByFallingCount) {
  const Found found;
  const std::string text = ConvolutionText(found.result, found.nodes, "asked for");
  EXPECT_THAT(text, HasSubstr("└ box"));
  EXPECT_THAT(text, HasSubstr("×300, 10.0 s ×100"));
}

TEST(PathsDot, HasDelaysAndCountOnTheArrow) {
  const Found found;
  const std::string dot = PathsDot(DrawConvolution(found.result, found.nodes));
  EXPECT_THAT(dot, StartsWith("digraph paths {\n"));
  EXPECT_THAT(dot, HasSubstr("v1 [label=\"a \\\"relay\\\" <1>\"]"));
  EXPECT_THAT(dot, HasSubstr("v0 -> v1 [label=\"500×\""));
  EXPECT_THAT(dot, HasSubstr(", 10.0 s\\n400×\""));
}

TEST(PathsSvg, NeedsNothingElseAndEscapes) {
  const Found found;
  const std::string svg = PathsSvg(DrawConvolution(found.result, found.nodes));
  EXPECT_THAT(svg, HasSubstr("a &quot;relay&quot; &lt;1&gt;"));
  EXPECT_THAT(svg, HasSubstr(">400×</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
}

TEST(PathsSvg, DrawsAnEmptyResult) {
  const StringTable nodes;
  paths::ConvolutionResult result;
  result.quantum_ns = 1;
  EXPECT_THAT(PathsSvg(DrawConvolution(result, nodes)), HasSubstr("</svg>"));
  EXPECT_THAT(PathsDot(DrawConvolution(result, nodes)), HasSubstr("}\n"));
}

}  // namespace
}  // namespace wf::answer
