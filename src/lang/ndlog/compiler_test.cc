#include <gtest/gtest.h>

#include "lang/ndlog/ndlog_lab_test.h"
#include "lang/ndlog/program.h"

namespace wf::ndlog {
namespace {

// "line:column message | hint" of each diagnostic.
std::string Wrong(std::string_view text) {
  std::string out;
  for (const lang::Diagnostic& d : Compile(text).diagnostics) {
    out += std::to_string(d.line) + ":" + std::to_string(d.column) + " " + d.message;
    if (!d.hint.empty()) out += " | " + d.hint;
    out += "\n";
  }
  return out;
}

TEST(NdlogCompiler, LibraryProgramsCompile) {
  for (const char* name : {"reachability", "path_vector", "min_cost", "learning_controller"})
    EXPECT_EQ(Wrong(LibraryProgram(name)), "") << name;
}

TEST(NdlogCompiler, SyntaxIsComplainedAboutAtItsPlace) {
  EXPECT_EQ(Wrong("r1 p(@X) :- q(@X)"),
            "1:18 . is missing at the rule's end, here is the end of the program\n");
  EXPECT_EQ(Wrong("r1 p(@X :- q(@X)."),
            "1:9 , is missing between the arguments of p, here is \":-\"\n");
  EXPECT_EQ(Wrong("r1 p(@X) :- q(@X), !r(@X)."),
            "1:20 the language has no negation | derive what is missing from what is there, or "
            "count it\n");
  EXPECT_EQ(Wrong("r1 p(@X,MIM<C>) :- q(@X,C)."),
            "1:9 MIM is not an aggregate | did you mean MIN?\n");
  EXPECT_EQ(Wrong("r1 p(@X,SUM<*>) :- q(@X,C)."), "1:13 only COUNT can be of *\n");
  EXPECT_EQ(
      Wrong("materialize(p, infinty, infinity, keys(1)).\nr1 p(@X) :- q(@X)."),
      "1:16 the lifetime is a number or infinity, not \"infinty\" | did you mean infinity?\n");
  EXPECT_EQ(Wrong("/* no end"), "1:1 unclosed comment | close it with */\n");
  EXPECT_NE(Wrong("r1 p(@X) :- q(@X), X $ 5.").find("is not expected here"), std::string::npos);
  // One mistake does not hide the next.
  EXPECT_EQ(Wrong("r1 p(@X :- q(@X).\nr2 p(@X) :- .\n"),
            "1:9 , is missing between the arguments of p, here is \":-\"\n2:13 a value stands "
            "here, not \".\"\n");
}

TEST(NdlogCompiler, NamesAndShapesMustAgree) {
  EXPECT_EQ(Wrong("r1 p(@X) :- q(@X).\nr1 p(@X) :- r(@X)."),
            "2:4 the rule of line 1 is called r1 too | costs and provenance name rules, so each "
            "has a name of its own\n");
  EXPECT_EQ(Wrong("r1 p(@X) :- q(@X,Y).\nr2 p(@X) :- q(@X)."),
            "2:13 q has 1 arguments here and 2 elsewhere\n");
  EXPECT_EQ(Wrong("r1 p(@X,Y) :- q(@X,Y).\nr2 p(X,@Y) :- q(@X,Y)."),
            "2:9 elsewhere, argument 1 of p names the node\n");
  EXPECT_EQ(Wrong("r1 p(X) :- q(@X)."),
            "1:4 p does not say on which node it is | write @ before the argument that names the "
            "node: p(@X, …)\n");
  EXPECT_EQ(Wrong("materialize(p, infinity, infinity, keys(1,3)).\nr1 p(@X,Y) :- q(@X,Y)."),
            "1:43 p has 2 attributes\n");
  EXPECT_EQ(Wrong("r1 p(@X,Y) :- q(@X), Y := f_sise(X)."),
            "1:27 there is no function f_sise | did you mean f_size?\n");
  EXPECT_EQ(Wrong("r1 p(@X,Y) :- q(@X), Y := f_size(X,X)."),
            "1:27 f_size takes 1 arguments, not 2\n");
  EXPECT_EQ(Wrong("p(@X)."), "1:4 a fact has no variables | a rule goes on with :-\n");
}

TEST(NdlogCompiler, VariablesNeedValues) {
  EXPECT_EQ(
      Wrong("r1 p(@X,Y) :- q(@X)."),
      "1:9 Y has no value | each variable stands in an atom of the body, or is assigned by :=\n");
  EXPECT_EQ(
      Wrong("r1 p(@X) :- q(@X), Z > 1."),
      "1:20 Z has no value | each variable stands in an atom of the body, or is assigned by :=\n");
  // An equation with one unknown is solved.
  EXPECT_EQ(Wrong("r1 p(@X,Y) :- q(@X,Z), Z == 3*Y + 1."), "");
  EXPECT_NE(Wrong("r1 p(@X,Y) :- q(@X,Z), Z == Y*Y."), "");
}

TEST(NdlogCompiler, PlacesAndEvents) {
  EXPECT_EQ(Wrong("materialize(q,infinity,infinity).materialize(r,infinity,infinity).\nr1 p(@X) :- "
                  "q(@X), r(@Y)."),
            "2:4 no tuple of this body says where the others are: its places are not connected | "
            "some atom must name "
            "the place of another, as link(@X,Y) names Y\n");
  EXPECT_EQ(Wrong("r1 p(@X) :- q(@X), r(@X)."),
            "1:20 q and r are both events, and two events are never there at once | materialize "
            "one of them: "
            "materialize(r, infinity, infinity, keys(…)).\n");
  EXPECT_EQ(Wrong("materialize(link,infinity,infinity).materialize(t,infinity,infinity).\n"
                  "r1 t(@Z,Y) :- #link(@X,Y), t(@Y,Z)."),
            "2:4 the rule is link-restricted, and t is at neither end of the link | its place is X "
            "or Y; or leave the "
            "# away\n");
}

TEST(NdlogCompiler, OnlyExtremesMayRecur) {
  const std::string tables =
      "materialize(n,infinity,infinity,keys(1)).materialize(m,infinity,infinity,keys(1,2)).\n";
  EXPECT_EQ(Wrong(tables + "r1 n(@X,COUNT<*>) :- m(@X,Y).\nr2 m(@X,Y) :- n(@X,Y)."),
            "2:9 what is aggregated here depends on the result | only MIN and MAX may stand in a "
            "recursion\n");
  EXPECT_EQ(Wrong(tables + "r1 n(@X,MIN<Y>) :- m(@X,Y).\nr2 m(@X,Y) :- n(@X,Y)."), "");
}

TEST(NdlogCompiler, TheErrorShowsTheLine) {
  const std::string text = "r1 p(@X,Y) :- q(@X).";
  const Compiled compiled = Compile(text);
  const Error error = ProgramError(text, "a.ndlog", compiled.diagnostics);
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_EQ(error.message.substr(0, 27), "a.ndlog:1:9: Y has no value");
  EXPECT_NE(error.message.find("1 | r1 p(@X,Y) :- q(@X).\n  |         ^\n"), std::string::npos)
      << error.message;
}

}  // namespace
}  // namespace wf::ndlog
