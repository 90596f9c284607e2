#include "live/blind_joins.h"

#include <gtest/gtest.h>

#include "lang/query/parser.h"
#include "lang/query/rewrite.h"

namespace wf::live {
namespace {

advice::Program ProgramOf(const char* text) {
  const auto parsed = query::ParseQuery(text);
  EXPECT_TRUE(parsed.ok());
  auto compiled = query::Rewrite(**parsed);
  EXPECT_TRUE(compiled.ok());
  return std::move(compiled->program);
}

constexpr const char* kJoin = "From b In B Join a In A On a -> b GroupBy a.x Select a.x, COUNT";

TEST(BlindJoins, CompiledInPacksAreNotSeenByWovenAdvice) {
  const auto told = BlindJoins(ProgramOf(kJoin), {"B"}, {"A"});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0],
            "A packs tuples that B cannot read: one is compiled in, the other woven by eBPF, which "
            "does not see baggage; compile both in, or weave both");
}

TEST(BlindJoins, AllOthersFindWhatWasPacked) {
  const advice::Program program = ProgramOf(kJoin);
  EXPECT_TRUE(BlindJoins(program, {"A"}, {"B"}).empty());
  EXPECT_TRUE(BlindJoins(program, {"A", "B"}, {}).empty());
  EXPECT_TRUE(BlindJoins(program, {}, {"A", "B"}).empty());
  EXPECT_TRUE(BlindJoins(program, {"B"}, {"A", "B"}).empty());
  EXPECT_TRUE(BlindJoins(ProgramOf("From b In B Select COUNT"), {"B"}, {"A"}).empty());
}

}  // namespace
}  // namespace wf::live
