// Tracepoints located in real programs, and what they see there: the program runs under ptrace with a breakpoint at
// every site, and each value is read by the steps that eBPF would follow. What the program does is known.
#include "weaver/locator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "test_places.h"
#include "weaver/testing/traced_program_test.h"

namespace wf::weaver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Texts = std::vector<std::string>;

std::string Fixture(const std::string& name) {
  return std::string(WHEREFORE_FIXTURES) + "/" + name;
}

TracepointDefinition Define(const std::string& location, const std::string& exports) {
  auto parsed = ParseTracepointFile("{\"name\":\"T\",\"locations\":[{" + location +
                                    "}],\"exports\":{" + exports + "}}");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() ? parsed->front() : TracepointDefinition();
}

struct Seen {
  Texts events;
  LocatedTracepoint located;
};

// `exports`: "a":"arg a", …
Seen Watch(const std::string& fixture, const std::string& location, const std::string& exports) {
  TracedProgram program(Fixture(fixture));
  const auto definition = Define(location, exports);
  auto located = Locate(definition, {program.pid(), {}});
  EXPECT_TRUE(located.ok()) << located.error().message << "; " << located.error().hint;
  if (!located.ok()) return {};
  program.throws_happen_ = definition.locations[0].at != At::kExit;
  Seen out{program.Run(*located), *located};
  EXPECT_EQ(program.exit_status(), 0) << fixture;
  return out;
}

Texts Events(const std::string& fixture, const std::string& function, const std::string& exports,
             const std::string& more = {}) {
  return Watch(fixture, "\"exe\":\"shop*\",\"function\":\"" + function + "\"" + more, exports)
      .events;
}

Error Refusal(const std::string& fixture, const std::string& location, const std::string& exports) {
  auto located = Locate(Define(location, exports), {0, Fixture(fixture)});
  EXPECT_FALSE(located.ok()) << location << " " << exports;
  return located.ok() ? Error() : located.error();
}

class Locator : public ::testing::TestWithParam<const char*> {
 protected:
  bool optimised() const { return std::string(GetParam()).find("O0") == std::string::npos; }
};

TEST_P(Locator, IntegerArgumentsKeepTheirSigns) {
  EXPECT_THAT(Events(GetParam(), "shop::Add", R"j("a":"arg a","b":"arg b")j",
                     R"j(,"signature":"int, long")j"),
              UnorderedElementsAre("41 1000000000000", "-1 -5", "11 40"));
  EXPECT_THAT(Events(GetParam(), "shop::Flags",
                     R"j("a":"arg on","b":"arg small","c":"arg wide","d":"arg kind")j"),
              ElementsAre("true -3 65535 -7"));
}

TEST_P(Locator, MembersAlongPaths) {
  EXPECT_THAT(
      Events(
          GetParam(), "shop::Handle",
          R"j("a":"arg request.size","b":"arg request->user.id","c":"arg request.user.name","d":"arg request.user.tag",
                "e":"arg request.path","f":"arg request.flags","g":"arg request.level","h":"arg request.delta")j"),
      ElementsAre(
          "512 17 'a user whose name is longer than sixteen bytes' 'tag1' '/etc/shop' 5 19 -100"));
  EXPECT_THAT(
      Events(
          GetParam(), "shop::Handle",
          R"j("a":"arg request.price","b":"arg request.urgent","c":"arg request.kind","d":"arg request.next->size",
                "e":"arg request.owner->id","f":"arg request.guest->name","g":"arg request.tries","h":"arg request.as_int",
                "i":"arg request.seen","j":"arg limit","k":"arg request.user.tag[3] as uint8","l":"'text'","m":"-4",
                "n":"arg request.path as string(2)","o":"arg request.path[1]")j"),
      ElementsAre("2.5 true -7 99 23 'guest' 9 4711 77 7 49 'text' -4 '/e' 101"));
}

TEST_P(Locator, StringsOfEveryKind) {
  EXPECT_THAT(
      Events(GetParam(), "shop::Texts",
             R"j("a":"arg view","b":"arg text","c":"arg raw","d":"arg copy")j"),
      ElementsAre("'a view' 'a user whose name is longer than sixteen bytes' 'raw text' 'short'"));
}

TEST_P(Locator, ArgumentsOnTheStackAndInPieces) {
  EXPECT_THAT(
      Events(GetParam(), "shop::Many", R"j("a":"arg a","f":"arg f","g":"arg g","h":"arg h")j"),
      ElementsAre("1 6 8 80"));
  EXPECT_THAT(
      Events(
          GetParam(), "shop::Structs",
          R"j("x":"arg pair.x","y":"arg pair.y","n":"arg mixed.count","c":"arg big.c","l":"arg last")j"),
      ElementsAre("-3 33 44 3 55"));
}

TEST_P(Locator, ArgumentsBesideUnusualOnes) {
  EXPECT_THAT(Events(GetParam(), "shop::Packed", R"j("a":"arg first")j"), ElementsAre("1"));
  EXPECT_THAT(Events(GetParam(), "shop::LongDouble", R"j("a":"arg after")j"), ElementsAre("7"));
}

TEST_P(Locator, OverloadsByParameterTypes) {
  EXPECT_THAT(
      Events(GetParam(), "shop::Overload", R"j("n":"arg number")j", R"j(,"signature":"int")j"),
      ElementsAre("13"));
  EXPECT_THAT(Events(GetParam(), "shop::Overload", R"j("n":"arg text")j",
                     R"j(,"signature":"const std::string &")j"),
              ElementsAre("'four'"));
  EXPECT_THAT(Events(GetParam(), "shop::Overload", R"j("n":"arg second")j",
                     R"j(,"signature":"(long int, shop::Bytes)")j"),
              ElementsAre("5"));
  EXPECT_THAT(Events(GetParam(), "shop::Overload", ""), ::testing::SizeIs(3));
}

TEST_P(Locator, TemplatesLambdasAndUnnamedNamespaces) {
  EXPECT_THAT(Events(GetParam(), "shop::Twice<int>", R"j("v":"arg value")j"), ElementsAre("21"));
  EXPECT_THAT(Events(GetParam(), "shop::Twice", R"j("v":"1")j"), ElementsAre("1", "1"));
  EXPECT_THAT(Events(GetParam(), "shop::Hidden", R"j("v":"arg value")j"), ElementsAre("8"));
  // Each compiler names lambdas as it likes.
  const bool other = std::string(GetParam()).find("other") != std::string::npos;
  EXPECT_THAT(Events(GetParam(), "shop::CallLambda(int)::*::operator()", R"j("v":"arg inner")j"),
              ElementsAre("9"));
  if (other) return;
  EXPECT_THAT(Events(GetParam(), "shop::CallLambda(int)::{lambda(int)#1}::operator()",
                     R"j("v":"arg inner")j"),
              ElementsAre("9"));
  EXPECT_THAT(Events(GetParam(), "shop::*lambda*", R"j("v":"arg inner")j"), ElementsAre("9"));
}

TEST_P(Locator, MethodsAndOverriders) {
  EXPECT_THAT(Events(GetParam(), "shop::Server::Id", R"j("i":"arg this.id_","p":"arg plus")j"),
              ElementsAre("1 5", "2 5", "3 5"));
  // Cache::Serve calls Server::Serve, and its `this` lies further on in the object than the caller's pointer.
  EXPECT_THAT(Events(GetParam(), "shop::Server::Serve", R"j("d":"arg depth")j"),
              ElementsAre("10", "10", "10", "10"));
  EXPECT_THAT(Events(GetParam(), "shop::Server::Serve", R"j("i":"arg this->id_")j",
                     R"j(,"overriders":false)j"),
              ElementsAre("1", "2"));
  EXPECT_THAT(
      Events(GetParam(), "shop::Cache::Serve", R"j("i":"arg this->id_","p":"arg this->padding")j"),
      ElementsAre("2 5"));
  // A pure virtual method has no code of its own.
  EXPECT_THAT(Events(GetParam(), "shop::Clock::Now", R"j("z":"arg zone")j"), ElementsAre("3"));
}

TEST_P(Locator, ReturnValues) {
  const std::string exit = R"j(,"at":"exit")j";
  EXPECT_THAT(Events(GetParam(), "shop::Add", R"j("r":"retval","a":"arg a")j", exit),
              UnorderedElementsAre("1000000000041 41", "-6 -1", "51 11"));
  EXPECT_THAT(Events(GetParam(), "shop::IsOdd", R"j("r":"retval")j", exit),
              ElementsAre("true", "false"));
  EXPECT_THAT(Events(GetParam(), "shop::Name", R"j("r":"retval","n":"arg number")j", exit),
              ElementsAre("'name-42' 42"));
  EXPECT_THAT(Events(GetParam(), "shop::View", R"j("r":"retval","from":"arg from")j", exit),
              ElementsAre("'ewed text' 2"));
  EXPECT_THAT(Events(GetParam(), "shop::MakePair", R"j("x":"retval.x","y":"retval.y")j", exit),
              ElementsAre("7 70"));
}

TEST_P(Locator, EveryReturnOfAFunction) {
  const std::string exit = R"j(,"at":"exit")j";
  EXPECT_THAT(Events(GetParam(), "shop::Describe",
                     R"j("r":"retval","n":"arg number","e":"elapsed")j", exit),
              ElementsAre("'zero' 0 elapsed", "'one' 1 elapsed", "'two' 2 elapsed",
                          "'three' 3 elapsed", "'four' 4 elapsed", "'five' 5 elapsed",
                          "'six' 6 elapsed", "'seven' 7 elapsed", "'many' 8 elapsed"));
  EXPECT_THAT(Events(GetParam(), "shop::Early", R"j("r":"retval")j", exit), ElementsAre("-1", "5"));
  EXPECT_THAT(Events(GetParam(), "shop::Early", R"j("p":"arg pointer as bool")j"),
              ::testing::SizeIs(2));
}

TEST_P(Locator, RecursionPairsEntryAndEnd) {
  const Texts events =
      Events(GetParam(), "shop::Fibonacci", R"j("n":"arg n","r":"retval")j", R"j(,"at":"exit")j");
  // Optimised, some of the recursion becomes a loop; what is left is still paired.
  if (!optimised()) {
    EXPECT_EQ(events.size(), 15u);
  }
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back(), "5 5");
}

TEST_P(Locator, ATailCallEndsTheCaller) {
  const std::string location = R"j("exe":"shop*","function":"shop::TailCaller","at":"exit")j";
  if (!optimised()) {
    EXPECT_THAT(Watch(GetParam(), location, R"j("a":"arg a","r":"retval")j").events,
                ElementsAre("10 51"));
    return;
  }
  const Seen seen = Watch(GetParam(), location, R"j("a":"arg a","b":"arg b")j");
  EXPECT_THAT(seen.events, ElementsAre("10 20"));
  ASSERT_FALSE(seen.located.functions.empty());
  EXPECT_EQ(seen.located.functions[0].sites.back().kind, SiteKind::kTailJump);
  EXPECT_THAT(Refusal(GetParam(), location, R"j("r":"retval")j").message,
              HasSubstr("ends by calling another function"));
}

TEST_P(Locator, AnExceptionEndsWhatItPasses) {
  // Catcher(3), Catcher(-1) → PassThrough throws; CleanupOnly(-1) → WithCleanup throws; CleanupOnly(2).
  EXPECT_THAT(Events(GetParam(), "shop::PassThrough", R"j("n":"arg n")j", R"j(,"at":"throw")j"),
              ElementsAre("throw -1"));
  EXPECT_THAT(Events(GetParam(), "shop::PassThrough", R"j("n":"arg n","e":"elapsed")j",
                     R"j(,"at":"leave")j"),
              ElementsAre("3 elapsed", "throw -1 elapsed"));
  EXPECT_THAT(Events(GetParam(), "shop::WithCleanup", R"j("n":"arg n","r":"retval")j",
                     R"j(,"at":"leave")j"),
              ElementsAre("3 43", "throw -1 null", "2 42"));
  EXPECT_THAT(Events(GetParam(), "shop::Thrower", R"j("n":"arg n")j", R"j(,"at":"throw")j"),
              ElementsAre("throw -1", "throw -1"));
  EXPECT_THAT(Events(GetParam(), "shop::Catcher", R"j("n":"arg n")j", R"j(,"at":"throw")j"),
              ElementsAre());
}

TEST_P(Locator, LinesOfTheSource) {
  std::ifstream source(std::string(WHEREFORE_SOURCE_DIR) + "/src/weaver/testdata/shop.cc");
  int loop = 0, inlined = 0, number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.find("// LINE loop") != std::string::npos) loop = number;
    if (line.find("// LINE inlined") != std::string::npos) inlined = number;
  }
  const auto at = [&](int line) {
    return R"j("exe":"shop*","file":"testdata/shop.cc","line":)j" + std::to_string(line);
  };
  const Seen copies = Watch(GetParam(), at(inlined), "");
  EXPECT_EQ(copies.located.functions.size(), 2u);
  EXPECT_EQ(copies.events.size(), 2u);
  const Seen looped = Watch(GetParam(), at(loop), R"j("t":"local total")j");
  EXPECT_EQ(looped.events.size(), 3u);
  if (!optimised()) {
    EXPECT_THAT(looped.events, ElementsAre("2", "6", "12"));
  }
  EXPECT_THAT(Refusal(GetParam(), at(1), "").message, HasSubstr("has no code"));
}

TEST_P(Locator, FunctionsOfLibraries) {
  const auto in = [&](const std::string& function, const std::string& exports) {
    return Watch(GetParam(),
                 R"j("exe":"shop*","library":"libshop.so","function":")j" + function + "\"",
                 exports)
        .events;
  };
  EXPECT_THAT(in("shop::LibraryAdd", R"j("a":"arg a","b":"arg b")j"), ElementsAre("7 1"));
  EXPECT_THAT(in("library_read", R"j("p":"arg path","n":"arg count")j"), ElementsAre("'file' 4"));
}

TEST_P(Locator, TheProbeStandsOnACheapInstructionIfThereIsOne) {
  size_t cheap = 0, all = 0;
  for (const char* name :
       {"shop::Many", "shop::Catcher", "shop::WithCleanup", "shop::Name", "shop::CleanupOnly"}) {
    auto located = Locate(Define(std::string(R"j("exe":"shop*","function":")j") + name + "\"", ""),
                          {0, Fixture(GetParam())});
    ASSERT_TRUE(located.ok());
    const ProbeSite& site = located->functions[0].sites[0];
    ++all;
    cheap += site.cost == CostClass::kEmulated ? 1 : 0;
    if (site.cost == CostClass::kEmulated) {
      EXPECT_THAT(site.instruction, ::testing::AnyOf(HasSubstr("push"), HasSubstr("nop"),
                                                     HasSubstr("call"), HasSubstr("j")));
    }
  }
  EXPECT_GE(cheap, all - 1);
}

TEST_P(Locator, DoublesInRegistersAreRefused) {
  EXPECT_THAT(
      Refusal(GetParam(), R"j("exe":"shop*","function":"shop::Scale")j", R"j("f":"arg factor")j")
          .message,
      HasSubstr("in a register cannot be read"));
  EXPECT_THAT(Refusal(GetParam(), R"j("exe":"shop*","function":"shop::Scale","at":"exit")j",
                      R"j("f":"retval")j")
                  .message,
              HasSubstr("in a register cannot be read"));
  EXPECT_THAT(Refusal(GetParam(), R"j("exe":"shop*","function":"shop::Structs")j",
                      R"j("f":"arg mixed.weight")j")
                  .message,
              HasSubstr("in a register cannot be read"));
  EXPECT_THAT(Events(GetParam(), "shop::Scale", R"j("c":"arg count")j"), ElementsAre("5"));
}

TEST_P(Locator, WhatIsNotThereIsRefusedWithWhatIs) {
  const auto exe = [](const std::string& function) {
    return R"j("exe":"shop*","function":")j" + function + "\"";
  };
  Error error = Refusal(GetParam(), exe("shop::Add"), R"j("x":"arg c")j");
  EXPECT_THAT(error.message, HasSubstr("no argument 'c'"));
  EXPECT_THAT(error.hint, HasSubstr("a, b"));
  error = Refusal(GetParam(), exe("shop::Handle"), R"j("x":"arg request.sise")j");
  EXPECT_THAT(error.message, HasSubstr("no member 'sise'"));
  EXPECT_THAT(error.hint, HasSubstr("size"));
  EXPECT_THAT(Refusal(GetParam(), exe("shop::Handle"), R"j("x":"arg request")j").message,
              HasSubstr("is a class"));
  EXPECT_THAT(Refusal(GetParam(), exe("shop::Inlined"), "").message,
              HasSubstr("was inlined in 2 place(s)"));
  error = Refusal(GetParam(), exe("Overload"), "");
  EXPECT_THAT(error.message, HasSubstr("no function Overload"));
  EXPECT_THAT(error.hint, HasSubstr("shop::Overload"));
  EXPECT_THAT(
      Refusal(GetParam(), R"j("exe":"shop*","function":"shop::Overload","signature":"char")j", "")
          .hint,
      HasSubstr("Overload(int)"));
  EXPECT_THAT(Refusal(GetParam(), R"j("exe":"other","function":"shop::Add")j", "").message,
              HasSubstr("is not other"));
  EXPECT_THAT(Refusal(GetParam(), R"j("library":"libnone","function":"f")j", "").message,
              HasSubstr("has not loaded"));
}

INSTANTIATE_TEST_SUITE_P(Programs, Locator,
                         ::testing::Values("shop_O0", "shop_O2", "shop_fixed", "shop_endbr",
                                           "shop_split"
#ifdef WHEREFORE_OTHER_FIXTURES
                                           ,
                                           "shop_other_O0", "shop_other_O2"
#endif
                                           ));

TEST(LocatorOfStripped, OnlyNumberedArgumentsWithoutDebugInformation) {
  EXPECT_THAT(Events("shop_no_dwarf", "shop::Add", R"j("a":"arg0 as int32","b":"arg1")j"),
              ElementsAre("41 1000000000000", "-1 -5", "11 40"));
  EXPECT_THAT(Events("shop_no_dwarf", "shop::Add", R"j("r":"retval")j", R"j(,"at":"exit")j"),
              ElementsAre("1000000000041", "-6", "51"));
  EXPECT_THAT(Events("shop_no_dwarf", "shop::PassThrough", R"j("n":"arg0 as int32")j",
                     R"j(,"at":"throw")j"),
              ElementsAre("throw -1"));
  EXPECT_THAT(Events("shop_no_dwarf", "shop::WithCleanup", R"j("n":"arg0 as int32")j",
                     R"j(,"at":"leave")j"),
              ElementsAre("3", "throw -1", "2"));
  EXPECT_THAT(
      Refusal("shop_no_dwarf", R"j("exe":"shop*","function":"shop::Add")j", R"j("a":"arg a")j")
          .message,
      HasSubstr("only arg0 to arg5 and retval"));
  auto located = Locate(Define(R"j("exe":"shop*","function":"shop::Add")j", ""),
                        {0, Fixture("shop_no_dwarf")});
  ASSERT_TRUE(located.ok());
  EXPECT_THAT(located->functions[0].notes, ::testing::Contains(HasSubstr("no debug information")));
}

TEST(LocatorOfStripped, AnUnwinderWithoutAName) {
  EXPECT_THAT(Events("shop_own_unwinder", "shop::PassThrough", R"j("n":"arg0 as int32")j",
                     R"j(,"at":"leave")j"),
              ElementsAre("3", "throw -1"));
  EXPECT_THAT(Events("shop_own_unwinder", "shop::WithCleanup", R"j("n":"arg0 as int32")j",
                     R"j(,"at":"throw")j"),
              ElementsAre("throw -1"));
}

TEST(LocatorOfStripped, AProgramWithoutSymbolsSaysSo) {
  const Error error = Refusal("shop_stripped", R"j("exe":"shop*","function":"shop::Add")j", "");
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.hint, HasSubstr("stripped"));
}

TEST(LocatorOfLibc, FunctionsOfTheCLibraryByNumber) {
  auto located = Locate(Define(R"j("library":"libc.so.6","function":"read")j",
                               R"j("fd":"arg0 as int32","n":"arg2")j"),
                        {getpid(), {}});
  ASSERT_TRUE(located.ok()) << located.error().message;
  ASSERT_EQ(located->functions.size(), 1u);
  EXPECT_FALSE(located->functions[0].sites.empty());
  const auto chosen =
      Locate(Define(R"j("library":"libc.so.6","function":"memcpy")j", ""), {getpid(), {}});
  // An old version of it may be a plain function; the one that programs use is chosen when they start.
  if (!chosen.ok()) {
    EXPECT_THAT(chosen.error().message, HasSubstr("IFUNC"));
  }
}

TEST(LocatorOfProcess, ThereIsNone) {
  const auto located = Locate(Define(R"j("exe":"x","function":"f")j", ""), {999999999, {}});
  ASSERT_FALSE(located.ok());
  EXPECT_EQ(located.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace wf::weaver
