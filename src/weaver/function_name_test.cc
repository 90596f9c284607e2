#include "weaver/function_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::weaver {
namespace {

using ::testing::ElementsAre;

struct Taken {
  const char* symbol;
  const char* qualified;
  const char* parameters;  // "-": none known
};

TEST(FunctionName, TakenApart) {
  const Taken all[] = {
      {"main", "main", "-"},
      {"read@@GLIBC_2.2.5", "read", "-"},
      {"_ZN4shop3AddEil", "shop::Add", "int, long"},
      {"_ZN4shop5TwiceIiEET_S1_", "shop::Twice<int>", "int"},  // with its return type in front
      {"_ZNK4shop6Server2IdEi", "shop::Server::Id", "int"},    // const behind
      {"_ZN4shop3AddEil.constprop.0", "shop::Add", "int, long"},
      {"_ZN4shop12_GLOBAL__N_16HiddenEi", "shop::(anonymous namespace)::Hidden", "int"},
      {"_ZZN4shop10CallLambdaEiENKUliE_clEi", "shop::CallLambda(int)::{lambda(int)#1}::operator()",
       "int"},
      {"_ZN1AlsERKS_", "A::operator<<", "A const&"},
      {"_ZN1AcvmEv", "A::operator unsigned long", ""},
      {"_ZN1AcviEv", "A::operator int", ""},
      {"_ZN1AclEv", "A::operator()", ""},
      {"_ZN1AptEv", "A::operator->", ""},
      {"_Znwm", "operator new", "unsigned long"},
      {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back",
       "int&&"},
      {"_Z1fPFviE", "f", "void (*)(int)"},
      {"_Z1gRA3_i", "g", "int (&) [3]"},
      {"_ZN1AC2Ev", "A::A", ""},
      {"_ZN1AD1Ev", "A::~A", ""},
  };
  for (const Taken& taken : all) {
    const FunctionName name = ParseFunctionName(taken.symbol);
    EXPECT_EQ(name.qualified, taken.qualified) << name.demangled;
    EXPECT_EQ(name.has_parameters ? name.parameters : "-", taken.parameters) << name.demangled;
  }
  EXPECT_EQ(ParseFunctionName("_ZN4shop3AddEil.part.0.cold").clone, "part.0.cold");
}

bool Matches(const char* pattern, const char* symbol) {
  const NamePattern compiled(pattern);
  const bool matches = compiled.Matches(symbol, ParseFunctionName(symbol));
  if (matches) {
    EXPECT_TRUE(compiled.MayMatch(symbol)) << pattern << " " << symbol;
  }
  return matches;
}

TEST(NamePattern, NamesAsWritten) {
  EXPECT_TRUE(Matches("shop::Add", "_ZN4shop3AddEil"));
  EXPECT_TRUE(Matches("_ZN4shop3AddEil", "_ZN4shop3AddEil"));
  EXPECT_TRUE(Matches("read", "read@@GLIBC_2.2.5"));
  EXPECT_FALSE(Matches("Add", "_ZN4shop3AddEil"));
  EXPECT_FALSE(Matches("shop::Ad", "_ZN4shop3AddEil"));
  EXPECT_TRUE(Matches("shop::Twice", "_ZN4shop5TwiceIiEET_S1_"));
  EXPECT_TRUE(Matches("shop::Twice<int>", "_ZN4shop5TwiceIiEET_S1_"));
  EXPECT_FALSE(Matches("shop::Twice<long>", "_ZN4shop5TwiceIiEET_S1_"));
  EXPECT_TRUE(Matches("shop::Hidden", "_ZN4shop12_GLOBAL__N_16HiddenEi"));
  EXPECT_TRUE(Matches("shop::(anonymous namespace)::Hidden", "_ZN4shop12_GLOBAL__N_16HiddenEi"));
  EXPECT_TRUE(Matches("std::vector::push_back", "_ZNSt6vectorIiSaIiEE9push_backEOi"));
  EXPECT_TRUE(Matches("std::vector<int, std::allocator<int>>::push_back",
                      "_ZNSt6vectorIiSaIiEE9push_backEOi"));
  EXPECT_TRUE(Matches("A::operator<<", "_ZN1AlsERKS_"));
  EXPECT_TRUE(Matches("A::operator->", "_ZN1AptEv"));
  EXPECT_TRUE(Matches("A::operator unsigned long", "_ZN1AcvmEv"));
  EXPECT_TRUE(Matches("A::~A", "_ZN1AD1Ev"));
  EXPECT_TRUE(Matches("operator new", "_Znwm"));
}

TEST(NamePattern, Globs) {
  EXPECT_TRUE(Matches("shop::*", "_ZN4shop3AddEil"));
  EXPECT_TRUE(Matches("*::Add", "_ZN4shop3AddEil"));
  EXPECT_TRUE(Matches("shop::A??", "_ZN4shop3AddEil"));
  EXPECT_FALSE(Matches("shop::A?", "_ZN4shop3AddEil"));
  EXPECT_TRUE(Matches("*lambda*", "_ZZN4shop10CallLambdaEiENKUliE_clEi"));
  EXPECT_TRUE(
      Matches("shop::CallLambda(int)::*::operator()", "_ZZN4shop10CallLambdaEiENKUliE_clEi"));
  EXPECT_TRUE(GlobMatches("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(GlobMatches("a*b*c", "aXbYbZ"));
  EXPECT_TRUE(GlobMatches("*", ""));
}

TEST(Signature, TypesInOneSpelling) {
  EXPECT_EQ(CanonicalType("const std::string &"),
            CanonicalType("std::__cxx11::basic_string<char, std::char_traits<char>, "
                          "std::allocator<char> > const&"));
  EXPECT_EQ(CanonicalType("unsigned long int"), CanonicalType("size_t"));
  EXPECT_EQ(CanonicalType("uint64_t"), CanonicalType("unsigned long"));
  EXPECT_NE(CanonicalType("long long"), CanonicalType("long"));
  EXPECT_EQ(CanonicalType("const char *"), CanonicalType("char const*"));
  EXPECT_NE(CanonicalType("const char *"), CanonicalType("char*"));
  EXPECT_EQ(CanonicalType("std::string_view"),
            CanonicalType("std::basic_string_view<char, std::char_traits<char> >"));
  EXPECT_EQ(CanonicalType("const std::vector<int>&"), CanonicalType("std::vector<int> const&"));
  EXPECT_EQ(CanonicalType("struct User*"), CanonicalType("User *"));
  EXPECT_EQ(CanonicalType("signed char"), CanonicalType("int8_t"));
  EXPECT_TRUE(SignatureMatches("(int, long)", "int, long"));
  EXPECT_TRUE(SignatureMatches("", ""));
  EXPECT_TRUE(SignatureMatches("void", ""));
  EXPECT_FALSE(SignatureMatches("int", "int, long"));
  EXPECT_THAT(SplitParameters("int, std::map<int, long> const&, void (*)(int, int)"),
              ElementsAre("int", "std::map<int, long> const&", "void (*)(int, int)"));
}

}  // namespace
}  // namespace wf::weaver
