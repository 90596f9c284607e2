// Walks testdata/*.txt: a program over tiny events gives the expected table, or the expected diagnostics.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "lang/feature/dataset_plan.h"
#include "lang/feature/element_keys.h"
#include "model/event_lines.h"
#include "test_places.h"

namespace wf::feature {
namespace {

using Parts = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::string title;
  Parts parts;  // in order, so that a file can be written again
  const std::string* Find(const std::string& name) const {
    for (const auto& [part, text] : parts) {
      if (part == name) return &text;
    }
    return nullptr;
  }
  std::string Text(const std::string& name) const {
    const std::string* text = Find(name);
    return text == nullptr ? "" : *text;
  }
};

std::vector<Case> ReadCases(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("== ", 0) == 0) {
      cases.push_back({line.substr(3), {}});
    } else if (line.rfind("-- ", 0) == 0) {
      cases.back().parts.emplace_back(line.substr(3), "");
    } else if (!cases.empty() && !cases.back().parts.empty()) {
      cases.back().parts.back().second += line + "\n";
    }
  }
  for (Case& c : cases) {
    for (auto& [name, text] : c.parts) {
      while (text.size() > 1 && text.substr(text.size() - 2) == "\n\n") text.pop_back();
      if (text == "\n") text.clear();
    }
  }
  return cases;
}

std::string ValueAt(const TableColumn& column, size_t row) {
  if (!column.valid[row]) return "-";
  switch (column.definition.type) {
    case ColumnType::kBool:
      return column.numbers[row] != 0 ? "true" : "false";
    case ColumnType::kInt:
      return std::to_string(column.numbers[row]);
    case ColumnType::kDouble:
      return feature::NumberText(column.doubles[row]);
    default: {
      std::string text = column.texts[row];
      for (size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, "\\n");
      return text;
    }
  }
}

std::string RunCase(const Case& c, const std::string& default_events) {
  DatasetText text{c.Text("filter"), c.Text("row"), c.Text("columns"), {}};
  for (const auto& [name, part] : c.parts) {
    if (name == "include") text.include.push_back(part);
  }
  const FeatureLibrary library = [&](std::string_view name) -> std::optional<std::string> {
    const std::string* found = c.Find("use " + std::string(name));
    return found == nullptr ? std::nullopt : std::optional<std::string>(*found);
  };
  const DatasetPlan::Compiled compiled = DatasetPlan::Compile(text, library);
  std::string out;
  for (const DatasetDiagnostic& d : compiled.diagnostics) {
    const std::string* part = c.Find(d.part);
    if (part == nullptr) part = c.Find("use " + d.part);
    if (part == nullptr) part = c.Find("include");
    out += d.part + "\n" + lang::RenderDiagnostic(part == nullptr ? "" : *part, d.diagnostic);
  }
  if (!compiled.plan) return out;
  const std::string* events = c.Find("events");
  const testing::EventLines lines(events == nullptr ? default_events : *events);
  const Trace trace = BuildTrace(lines.batch, lines.options);
  DatasetTable table = compiled.plan->NewTable();
  const ExtractOutcome outcome = compiled.plan->Extract(trace, table);
  static constexpr const char* kReasons[] = {"", "filtered", "unusable", "over budget"};
  if (outcome.kind != ExtractOutcome::Kind::kExtracted)
    return std::string("no rows: ") + kReasons[static_cast<size_t>(outcome.kind)] + "\n";
  EXPECT_EQ(outcome.rows, table.rows());
  const size_t first = c.Find("keys") != nullptr ? 2 : FixedDatasetColumns().size();
  for (size_t i = first; i < table.columns.size(); ++i) {
    const ColumnDefinition& definition = table.columns[i].definition;
    out += (i > first ? " | " : "") + definition.name + ":" +
           std::string(ColumnTypeName(definition.type));
    EXPECT_EQ(table.columns[i].size(), table.rows());
  }
  out += "\n";
  for (size_t row = 0; row < table.rows(); ++row) {
    for (size_t i = first; i < table.columns.size(); ++i)
      out += (i > first ? " | " : "") + ValueAt(table.columns[i], row);
    out += "\n";
  }
  return out;
}

std::vector<std::filesystem::path> CaseFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(WHEREFORE_SOURCE_DIR "/src/lang/feature/testdata")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class FeatureData : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(FeatureData, TheProgramGivesWhatIsExpected) {
  std::vector<Case> cases = ReadCases(GetParam());
  ASSERT_FALSE(cases.empty());
  const std::string events = cases[0].Text("events");
  for (Case& c : cases) {
    std::string* expected = nullptr;
    for (auto& [name, text] : c.parts) {
      if (name == "expect") expected = &text;
    }
    ASSERT_NE(expected, nullptr) << c.title;
    const std::string got = RunCase(c, events);
    if (std::getenv("WHEREFORE_UPDATE_TESTDATA") != nullptr)
      *expected = got;
    else
      EXPECT_EQ(got, *expected) << "in the case: " << c.title;
  }
  if (std::getenv("WHEREFORE_UPDATE_TESTDATA") == nullptr) return;
  std::ofstream out(GetParam());
  for (size_t i = 0; i < cases.size(); ++i) {
    out << (i > 0 ? "\n" : "") << "== " << cases[i].title << "\n";
    for (const auto& [name, text] : cases[i].parts) out << "-- " << name << "\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Testdata, FeatureData, ::testing::ValuesIn(CaseFiles()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace wf::feature
