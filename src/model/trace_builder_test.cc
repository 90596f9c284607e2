#include "model/trace_builder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "model/event_bytes.h"
#include "model/event_lines.h"
#include "test_places.h"

namespace wf {
namespace {

using testing::Dump;
using testing::EventLines;

struct Case {
  std::string title, events, expected;
};

std::vector<Case> ReadCases(const std::filesystem::path& path, std::string& preamble) {
  std::ifstream in(path);
  std::vector<Case> cases;
  bool expected = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("== ", 0) == 0) {
      cases.push_back({line.substr(3), "", ""});
      expected = false;
    } else if (cases.empty()) {
      preamble += line + "\n";
    } else if (line == "--") {
      expected = true;
    } else if (expected) {
      if (!line.empty()) cases.back().expected += line + "\n";
    } else {
      cases.back().events += line + "\n";
    }
  }
  return cases;
}

std::vector<std::filesystem::path> CaseFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(WHEREFORE_SOURCE_DIR "/src/model/testdata")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class TraceBuilderData : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(TraceBuilderData, EventsGiveTheTrace) {
  const bool update = std::getenv("WHEREFORE_UPDATE_TESTDATA") != nullptr;
  std::string preamble;
  const auto cases = ReadCases(GetParam(), preamble);
  ASSERT_FALSE(cases.empty());
  std::string rewritten = preamble;
  for (const Case& c : cases) {
    EventLines lines(c.events);
    const std::string got = Dump(BuildTrace(lines.batch, lines.options), lines.words);
    if (update) {
      rewritten += "== " + c.title + "\n" + c.events + "--\n" + got + "\n";
      continue;
    }
    EXPECT_EQ(got, c.expected) << c.title;
    // The order of arrival changes nothing.
    std::mt19937 random(7);
    for (int round = 0; round < 5; ++round) {
      std::vector<uint32_t> rows(lines.batch.size());
      std::iota(rows.begin(), rows.end(), 0);
      std::shuffle(rows.begin(), rows.end(), random);
      EventLines again(c.events);
      EXPECT_EQ(Dump(BuildTrace(again.batch, rows, again.options), again.words), c.expected)
          << c.title << ", shuffled";
    }
  }
  if (update) std::ofstream(GetParam()) << rewritten;
}

INSTANTIATE_TEST_SUITE_P(Cases, TraceBuilderData, ::testing::ValuesIn(CaseFiles()),
                         [](const auto& info) { return info.param.stem().string(); });

TEST(TraceBuilder, AnEmptyBatchIsAnEmptyTrace) {
  EventBatch none;
  const Trace trace = BuildTrace(none);
  EXPECT_TRUE(trace.blocks.empty());
  EXPECT_FALSE(trace.complete);
  EXPECT_EQ(trace.main_root(), kNone);
}

TEST(TraceBuilder, EqualRowsAreOneEvent) {
  const std::string line = "span a 10..20 name=x\nblock_begin b in=u @10\n";
  EventLines once(line), twice(line + line);
  const Trace a = BuildTrace(once.batch), b = BuildTrace(twice.batch);
  EXPECT_EQ(Dump(a, once.words), Dump(b, twice.words));
  EXPECT_EQ(b.doubles, 2);
  EXPECT_EQ(b.event_count, 2u);
}

TEST(TraceBuilder, AnyEventsGiveASoundTraceInAnyOrder) {
  EXPECT_TRUE(rc::check("structure is sound; arrival order changes nothing", [] {
    const auto bytes =
        *rc::gen::resize(800, rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
    const EventBatch batch = testing::EventsFromBytes(bytes);
    const Trace trace = BuildTrace(batch);
    for (const Violation& violation : trace.violations) {
      RC_ASSERT(violation.invariant == Invariant::kReceiveAfterSend);
    }
    for (const Edge& edge : trace.edges)
      RC_ASSERT(edge.from < trace.points.size() && edge.to < trace.points.size());
    for (const Nanos own : OwnTimes(trace)) RC_ASSERT(own >= 0);
    std::vector<uint32_t> rows(batch.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::reverse(rows.begin(), rows.end());
    testing::Words words, same_words;
    RC_ASSERT(Dump(trace, words) == Dump(BuildTrace(batch, rows), same_words));
  }));
}

TEST(TraceBuilder, OwnTimeIsWhatBlockingChildrenDoNotCover) {
  EventLines lines(
      "span a 0..100\n"
      "span b parent=a 10..30\n"
      "span c parent=a 20..40\n"     // overlaps b: 10..40 is covered once
      "span d follows=a 50..90\n"    // asynchronous: covers nothing
      "span e parent=a 90..120\n");  // outlives its parent: cut
  const Trace trace = BuildTrace(lines.batch);
  const auto own = OwnTimes(trace);
  ASSERT_EQ(trace.blocks[0].id, lines.words.Id("a"));
  EXPECT_EQ(own[0], 100 - 30 - 10);
}

}  // namespace
}  // namespace wf
