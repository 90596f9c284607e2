// Properties of the feature language that hold for every trace and every program.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "lang/feature/dataset_plan.h"
#include "lang/feature/feature_functions.h"
#include "model/event_lines.h"

namespace wf::feature {
namespace {

using testing::EventLines;

// A tree of spans over three services: nested, touching, of no length; those of their parent's service may outlive it
// (across services the answer would come before it was sent, which makes a trace unusable).
rc::Gen<std::string> AnyTrace() {
  return rc::gen::exec([] {
    struct Span {
      int start, end;
      std::string service;
    };
    std::vector<Span> spans = {{0, 80, "web@h1"}};
    std::string events = "span 1 0..80 name=n0 kind=server process=web@h1\n";
    const int count = *rc::gen::inRange(0, 25);
    for (int i = 0; i < count; ++i) {
      const int parent = *rc::gen::inRange(0, static_cast<int>(spans.size()));
      const Span above = spans[static_cast<size_t>(parent)];
      Span span;
      span.service = *rc::gen::elementOf(
          std::vector<std::string>{above.service, "web@h1", "db@h2", "cache@h1"});
      span.start = *rc::gen::inRange(above.start, above.end + 1);
      const bool outlives = span.service == above.service && *rc::gen::inRange(0, 5) == 0;
      span.end = *rc::gen::inRange(span.start, above.end + (outlives ? 30 : 1));
      events += fmt::format(
          "span {:x} parent={:x} {}..{} name=n{} kind={} process={}", i + 2, parent + 1, span.start,
          span.end, *rc::gen::inRange(0, 4),
          outlives ? "internal" : *rc::gen::element<std::string>("client", "server", "internal"),
          span.service);
      if (*rc::gen::inRange(0, 4) == 0) events += fmt::format(" event=e@{}", span.start);
      events += "\n";
      spans.push_back(span);
    }
    return events;
  });
}

class Extracted {
 public:
  Extracted(const std::string& events, const std::string& program, const std::string& row = "")
      : lines_(events), trace(BuildTrace(lines_.batch, lines_.options)) {
    const DatasetPlan::Compiled compiled = DatasetPlan::Compile({"", row, program, {}}, {});
    RC_ASSERT(compiled.diagnostics.empty());
    table = compiled.plan->NewTable();
    outcome = compiled.plan->Extract(trace, table);
    RC_PRE(outcome.kind == ExtractOutcome::Kind::kExtracted);
  }
  const TableColumn& column(const std::string& name) const {
    for (const TableColumn& c : table.columns) {
      if (c.definition.name == name) return c;
    }
    RC_FAIL("no such column");
    return table.columns[0];
  }
  int64_t number(const std::string& name) const { return column(name).numbers.at(0); }

 private:
  EventLines lines_;

 public:
  Trace trace;
  DatasetTable table;
  ExtractOutcome outcome;
};

// "[1,2]" → {"1", "2"}
std::vector<std::string> Items(const TableColumn& column) {
  std::vector<std::string> out;
  if (!column.valid.at(0)) return out;
  std::string text = column.texts[0].substr(1, column.texts[0].size() - 2);
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    out.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

TEST(FeatureProperties, SequencesAreOrderedByStartAndIdWithoutDuplicates) {
  EXPECT_TRUE(rc::check("whatever leads to a sequence", [] {
    const std::string events = *AnyTrace();
    std::string pipeline = *rc::gen::element<std::string>("ExecUnits", "Blocks", "Points", "Edges",
                                                          "CriticalPath | Blocks");
    const bool edges = pipeline == "Edges";
    const int stages = *rc::gen::inRange(0, 3);
    for (int i = 0; i < stages; ++i) {
      pipeline += " | " + *rc::gen::element<std::string>(
                              "Blocks", "Points", "Edges", "ExecUnits",
                              edges && i == 0 ? "In | Blocks" : "Blocks | Ancestors",
                              "Blocks | Descendants", "Blocks | Children", "Blocks | Parent",
                              "Map(It | Blocks)", "Where(It | Exists)", "Blocks | Out");
    }
    const Extracted got(events, pipeline + " | Timestamp | List | RecordAs(\"t\")\n" + pipeline +
                                    " | Label(id) | List | RecordAs(\"i\")\n" + pipeline +
                                    " | Count | RecordAs(\"n\")\n");
    const auto starts = Items(got.column("t")), ids = Items(got.column("i"));
    RC_ASSERT(starts.size() == ids.size());
    RC_ASSERT(static_cast<int64_t>(starts.size()) == got.number("n"));
    std::vector<std::pair<int64_t, std::string>> order;
    for (size_t i = 0; i < starts.size(); ++i) order.emplace_back(std::stoll(starts[i]), ids[i]);
    RC_ASSERT(std::is_sorted(order.begin(), order.end()));
    RC_ASSERT(std::adjacent_find(order.begin(), order.end()) == order.end());
  }));
}

TEST(FeatureProperties, TheCriticalPathIsPartitionedByItsSegmentsAndByItsBlocks) {
  EXPECT_TRUE(rc::check("of the whole trace, and of each block", [] {
    const std::string events = *AnyTrace();
    const Extracted got(events, R"(
      P = CriticalPath
      P | Duration | RecordAs("path")
      P | Segments | Duration | Sum | RecordAs("segments")
      P | Blocks | Duration | Sum | RecordAs("blocks")
      P | Blocks | Count | RecordAs("count")
      P | Segments | Blocks | Count | RecordAs("distinct")
    )");
    RC_ASSERT(got.number("segments") == got.number("path"));
    RC_ASSERT(got.number("blocks") == got.number("path"));
    RC_ASSERT(got.number("count") == got.number("distinct"));
    const Extracted rows(events, R"(
      P = CriticalPath(Row->Row)
      P | Duration | RecordAs("path")
      P | Segments | Duration | Sum | RecordAs("segments")
      Row | Duration | RecordAs("block")
    )",
                         "Blocks");
    RC_ASSERT(rows.table.rows() == rows.trace.blocks.size());
    RC_ASSERT(rows.column("path").numbers == rows.column("segments").numbers);
    RC_ASSERT(rows.column("path").numbers == rows.column("block").numbers);
  }));
}

TEST(FeatureProperties, DescendantsAndAncestorsAreWhatParentsSay) {
  EXPECT_TRUE(rc::check("by walking parents one at a time", [] {
    const std::string events = *AnyTrace();
    const Extracted got(events, R"(
      Row | Ancestors | Count | RecordAs("above")
      Row | Descendants | Count | RecordAs("below")
      Row | Blocks | Descendants | Duration | Sum | RecordAs("below_time")
    )",
                        "Blocks");
    const Trace& t = got.trace;
    std::vector<int64_t> above(t.blocks.size()), below(t.blocks.size()), time(t.blocks.size());
    for (size_t b = 0; b < t.blocks.size(); ++b) {
      for (uint32_t p = t.blocks[b].parent; p != kNone; p = t.blocks[p].parent) {
        ++above[b];
        ++below[p];
        time[p] += t.blocks[b].duration();
      }
    }
    RC_ASSERT(got.column("above").numbers == above);
    RC_ASSERT(got.column("below").numbers == below);
    RC_ASSERT(got.column("below_time").numbers == time);
  }));
}

TEST(FeatureProperties, GapsAndWhatRunsFillTheTrace) {
  EXPECT_TRUE(rc::check("counted nanosecond by nanosecond", [] {
    const std::string events = *AnyTrace();
    const Extracted got(events,
                        "Trace | Gaps | Duration | Sum | RecordAs(\"idle\")\n"
                        "Trace | Gaps | Duration | Min | RecordAs(\"shortest\")\n");
    int64_t idle = 0;
    for (Nanos at = got.trace.start_ns; at < got.trace.end_ns; ++at) {
      const bool runs = std::any_of(
          got.trace.blocks.begin(), got.trace.blocks.end(),
          [&](const Block& b) { return !b.stand_in() && b.start_ns <= at && at < b.end_ns; });
      idle += runs ? 0 : 1;
    }
    RC_ASSERT(got.number("idle") == idle);
    RC_ASSERT(idle == 0 || got.number("shortest") > 0);
  }));
}

TEST(FeatureProperties, PercentilesAreNearestRank) {
  EXPECT_TRUE(rc::check("by sorting", [] {
    const std::string events = *AnyTrace();
    const int percent = *rc::gen::inRange(0, 101);
    const Extracted got(events, fmt::format("D = Blocks | Duration\n"
                                            "D | Percentile({}) | RecordAs(\"p\")\n"
                                            "D | Min | RecordAs(\"least\")\n"
                                            "D | Max | RecordAs(\"most\")\n",
                                            percent));
    std::vector<int64_t> sorted;
    for (const Block& b : got.trace.blocks) sorted.push_back(b.duration());
    std::sort(sorted.begin(), sorted.end());
    // The smallest value that at least so many percent do not exceed.
    int64_t expected = sorted.back();
    for (size_t i = sorted.size(); i-- > 0;) {
      if ((i + 1) * 100 >= static_cast<size_t>(percent) * sorted.size()) expected = sorted[i];
    }
    RC_ASSERT(got.number("p") == expected);
    RC_ASSERT(got.number("least") == sorted.front());
    RC_ASSERT(got.number("most") == sorted.back());
  }));
}

TEST(FeatureProperties, FiltersInOneAndInSeveralStagesAgreeWithWhere) {
  EXPECT_TRUE(rc::check("three ways to say it", [] {
    const std::string events = *AnyTrace();
    const int limit = *rc::gen::inRange(0, 60);
    const Extracted got(events, fmt::format(R"(
      Blocks | Filter(duration > {0}, name = "n1") | Name | List | RecordAs("one")
      Blocks | Filter(duration > {0}) | Filter(name = "n1") | Name | List | RecordAs("two")
      Blocks | Where(It | Duration | Gt({0}) | And(It | Name | Eq("n1"))) | Name | List | RecordAs("where")
      Blocks | Filter(not duration > {0}) | Count | Add(Blocks | Filter(duration > {0}) | Count) | RecordAs("all")
    )",
                                            limit));
    RC_ASSERT(got.column("one").texts == got.column("two").texts);
    RC_ASSERT(got.column("one").texts == got.column("where").texts);
    RC_ASSERT(got.number("all") == static_cast<int64_t>(got.trace.blocks.size()));
  }));
}

// Words of the language in any order: either a plan that runs, or diagnostics that point into the text.
TEST(FeatureProperties, AnyProgramGivesRowsOrDiagnosticsThatPointIntoIt) {
  const std::vector<std::string> functions = feature::FunctionNames();
  EXPECT_TRUE(rc::check("words in any order", [&] {
    std::string program;
    const int words = *rc::gen::inRange(0, 25);
    for (int i = 0; i < words; ++i) {
      const int what = *rc::gen::inRange(0, 10);
      if (what < 4) {
        program += *rc::gen::elementOf(functions) + " ";
      } else if (what < 7) {
        program += "| ";
      } else {
        program += *rc::gen::element<std::string>(
                       "(", ")", ",", "->", "=", "name", "\"x\"", "5ms", "A", "\n", "def ", "not ",
                       "exists ", "in (", "~", "| Count | RecordAs(\"c\")\n", "It", "use \"x\"") +
                   " ";
      }
    }
    const EventLines lines("span 1 0..9 name=a\nspan 2 parent=1 2..4 name=b");
    const Trace trace = BuildTrace(lines.batch, lines.options);
    const DatasetPlan::Compiled compiled = DatasetPlan::Compile({"", "", program, {}}, {});
    RC_ASSERT(compiled.plan.has_value() == compiled.diagnostics.empty());
    const int line_count = 1 + static_cast<int>(std::count(program.begin(), program.end(), '\n'));
    for (const DatasetDiagnostic& d : compiled.diagnostics) {
      RC_ASSERT(d.part == "columns");
      RC_ASSERT(d.diagnostic.line >= 1);
      RC_ASSERT(d.diagnostic.line <= line_count);
      RC_ASSERT(d.diagnostic.column >= 1);
      RC_ASSERT(d.diagnostic.length >= 1);
      RC_ASSERT(!d.diagnostic.message.empty());
      RC_ASSERT(!lang::RenderDiagnostic(program, d.diagnostic).empty());
    }
    if (!compiled.plan) return;
    DatasetTable table = compiled.plan->NewTable();
    RC_ASSERT(compiled.plan->Extract(trace, table).kind == ExtractOutcome::Kind::kExtracted);
    RC_ASSERT(table.rows() == 1u);
  }));
}

std::string ManySpans(int spans) {
  std::string events = "span root 0..1000000 name=root\n";
  for (int i = 0; i < spans; ++i)
    events += fmt::format("span {:x} parent=root {}..{} name=n\n", i + 0x1000, i, i + 5);
  return events;
}

TEST(FeatureBounds, WhatNeedsTooMuchGivesNoRowsAndSaysSo) {
  const EventLines lines(ManySpans(3000));
  const Trace trace = BuildTrace(lines.batch, lines.options);
  const auto extract = [&](const std::string& program) {
    const DatasetPlan::Compiled compiled = DatasetPlan::Compile({"", "Blocks", program, {}}, {});
    EXPECT_TRUE(compiled.plan.has_value());
    DatasetTable table = compiled.plan->NewTable();
    const ExtractOutcome outcome = compiled.plan->Extract(trace, table);
    EXPECT_EQ(outcome.rows, table.rows());
    return outcome;
  };
  // Each row looks at every block that looks at every block.
  const ExtractOutcome cubic = extract(
      "def Later(e, t) = e | Where(It | Timestamp | Gt(t)) | Count\n"
      "Blocks | Map(Blocks | Later(It | Timestamp | Add(Row | Timestamp))) | Sum | "
      "RecordAs(\"n\")");
  EXPECT_EQ(cubic.kind, ExtractOutcome::Kind::kOverBudget);
  EXPECT_EQ(cubic.rows, 0u);
  const ExtractOutcome linear = extract("Row | Duration | RecordAs(\"d\")");
  EXPECT_EQ(linear.kind, ExtractOutcome::Kind::kExtracted);
  EXPECT_EQ(linear.rows, 3001u);
  EXPECT_LT(linear.cost, 20'000);
}

TEST(FeatureBounds, DefsThatDoubleAtEachStepAreRefused) {
  std::string program = "def F0(x) = x | Add(x)\n";
  for (int i = 1; i < 40; ++i)
    program += fmt::format("def F{}(x) = F{}(x) | Add(F{}(x))\n", i, i - 1, i - 1);
  program += "F39(Blocks | Count) | RecordAs(\"n\")\n";
  const DatasetPlan::Compiled compiled = DatasetPlan::Compile({"", "", program, {}}, {});
  ASSERT_EQ(compiled.diagnostics.size(), 1u);
  EXPECT_NE(compiled.diagnostics[0].diagnostic.message.find("too large"), std::string::npos);
}

TEST(FeatureBounds, DefsNestedWithoutEndAreRefused) {
  std::string program = "def F0(x) = x\n";
  for (int i = 1; i < 2000; ++i) program += fmt::format("def F{}(x) = F{}(x)\n", i, i - 1);
  program += "F1999(1) | RecordAs(\"n\")\n";
  const DatasetPlan::Compiled compiled = DatasetPlan::Compile({"", "", program, {}}, {});
  ASSERT_EQ(compiled.diagnostics.size(), 1u);
  EXPECT_NE(compiled.diagnostics[0].diagnostic.message.find("too deeply"), std::string::npos);
}

// Two columns that say the same thing, by other words, cost no more than one.
TEST(FeaturePlan, EqualExpressionsAreOneOperator) {
  const std::string one =
      "CriticalPath | Blocks | Filter(name=\"a\") | Duration | Sum | RecordAs(\"a\")\n";
  const std::string two =
      "P = CriticalPath | Blocks\ndef Time(e) = e | Filter(name = \"a\") | Duration | Sum\n"
      "Time(P) | RecordAs(\"b\")\n";
  const auto operators = [](const std::string& program) {
    return DatasetPlan::Compile({"", "", program, {}}, {}).plan->operators();
  };
  EXPECT_EQ(operators(one), operators(two));
  EXPECT_EQ(operators(one), operators(one + two));
}

}  // namespace
}  // namespace wf::feature
