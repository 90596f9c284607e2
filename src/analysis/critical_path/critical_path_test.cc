#include "analysis/critical_path/critical_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "analysis/critical_path/path_cases.h"
#include "test_places.h"

namespace wf::critical_path {
namespace {

using testing::EventLines;
using testing::PathOptions;
using testing::PathText;

struct Case {
  std::string title, events, question, expected;
};

std::vector<Case> ReadCases(const std::filesystem::path& path, std::string& preamble) {
  std::ifstream in(path);
  std::vector<Case> cases;
  bool expected = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("== ", 0) == 0) {
      cases.push_back({line.substr(3), "", "", ""});
      expected = false;
    } else if (cases.empty()) {
      preamble += line + "\n";
    } else if (line == "--") {
      expected = true;
    } else if (expected) {
      if (!line.empty()) cases.back().expected += line + "\n";
    } else if (line.rfind("path", 0) == 0) {
      cases.back().question = line;
    } else {
      cases.back().events += line + "\n";
    }
  }
  return cases;
}

std::vector<std::filesystem::path> CaseFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           WHEREFORE_SOURCE_DIR "/src/analysis/critical_path/testdata")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Answer(const Case& c, uint32_t shuffle) {
  EventLines lines(c.events);
  std::vector<uint32_t> rows(lines.batch.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::mt19937 random(shuffle);
  if (shuffle != 0) std::shuffle(rows.begin(), rows.end(), random);
  const Trace trace = BuildTrace(lines.batch, rows, lines.options);
  const auto options = PathOptions(trace, lines.words, c.question);
  return PathText(trace, lines.words, FindCriticalPath(trace, options));
}

class CriticalPathData : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(CriticalPathData, EventsGiveThePath) {
  const bool update = std::getenv("WHEREFORE_UPDATE_TESTDATA") != nullptr;
  std::string preamble;
  const auto cases = ReadCases(GetParam(), preamble);
  ASSERT_FALSE(cases.empty());
  std::string rewritten = preamble;
  for (const Case& c : cases) {
    rewritten += "== " + c.title + "\n" + c.events + c.question + "\n--\n" + Answer(c, 0) + "\n";
    if (update) continue;
    for (uint32_t shuffle = 0; shuffle < 5; ++shuffle)
      EXPECT_EQ(Answer(c, shuffle), c.expected) << c.title << ", shuffled " << shuffle;
  }
  if (update) std::ofstream(GetParam()) << rewritten;
}

INSTANTIATE_TEST_SUITE_P(Rules, CriticalPathData, ::testing::ValuesIn(CaseFiles()),
                         [](const auto& info) { return "Rule" + info.param.stem().string(); });

TEST(CriticalPath, AnEmptyTraceHasNone) {
  EventBatch none;
  const auto path = FindCriticalPath(BuildTrace(none), {});
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.error().code, ErrorCode::kNotFound);
}

// No recursion and no quadratic search: each of these takes milliseconds, or minutes if that is lost.
TEST(CriticalPath, ADeepChainOfAHundredThousandBlocks) {
  constexpr int kDeep = 100'000;
  std::string text = "span 1 0..400000\n";
  for (int i = 2; i <= kDeep; ++i)
    text += fmt::format("span {:x} parent={:x} {}..{}\n", i, i - 1, i, 400'000 - i);
  EventLines lines(text);
  const Trace trace = BuildTrace(lines.batch);
  const auto path = FindCriticalPath(trace, {});
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path->segments.size(), 2u * kDeep - 1);
  CriticalPathOptions options;
  options.to = testing::PlaceOf(trace, lines.words, fmt::format("{:x}", kDeep), "end");
  const auto down = FindCriticalPath(trace, options);
  ASSERT_TRUE(down.ok());
  EXPECT_EQ(down->segments.size(), static_cast<size_t>(kDeep));
}

TEST(CriticalPath, AHundredThousandSiblingsThatOverlapALittle) {
  constexpr int kWide = 100'000;
  std::string text = fmt::format("span 1 0..{}\n", kWide * 1000);
  for (int i = 2; i <= kWide; ++i)
    text += fmt::format("span {:x} parent=1 {}..{}\n", i, i * 1000 - 2000, i * 1000 - 990);
  EventLines lines(text);
  const Trace trace = BuildTrace(lines.batch);
  const auto path = FindCriticalPath(trace, {});
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path->segments.size(), static_cast<size_t>(kWide));  // and the root's end
}

TEST(CriticalPath, AHundredThousandParallelSiblingsAreAlternativesOnce) {
  constexpr int kWide = 100'000;
  std::string text =
      fmt::format("span 1 0..{}\nspan 2 parent=1 {}..{}\n", 4 * kWide, 2 * kWide, 3 * kWide);
  for (int i = 3; i < kWide; ++i)
    text += fmt::format("span {:x} parent=1 {}..{}\n", i, i % 100, kWide + i);
  EventLines lines(text);
  const Trace trace = BuildTrace(lines.batch);
  const auto path = FindCriticalPath(trace, {});
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path->alternatives.size(), static_cast<size_t>(kWide) - 4);
}

TEST(CriticalPath, TimesAtTheEndsOfTheRange) {
  EventLines lines(
      "span a -9223372036854775808..9223372036854775807\n"
      "span b parent=a -9223372036854775808..9223372036854775806\n"
      "span c parent=a 9223372036854775806..9223372036854775807\n");
  const Trace trace = BuildTrace(lines.batch);
  const auto path = FindCriticalPath(trace, {});
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path->segments.size(), 2u);
}

}  // namespace
}  // namespace wf::critical_path
