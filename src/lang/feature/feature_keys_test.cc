// The properties that docs/reference/feature-language.md names are those there are, and each gives a value on each element it is said of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "lang/feature/dataset_plan.h"
#include "lang/feature/element_keys.h"
#include "model/event_lines.h"
#include "test_places.h"

namespace wf::feature {
namespace {

using Keys = std::vector<std::string>;

// The rows of the page's tables whose first cell is `title`: the names in `quotes` of the second.
Keys Documented(const std::string& title) {
  std::ifstream in(WHEREFORE_SOURCE_DIR "/docs/reference/feature-language.md");
  EXPECT_TRUE(in.good());
  Keys keys;
  const std::regex name("`([^`]+)`");
  for (std::string line; std::getline(in, line);) {
    const std::string start = "| " + title + " | ";
    if (line.rfind(start, 0) != 0) continue;
    const std::string cell = line.substr(start.size());
    for (std::sregex_iterator at(cell.begin(), cell.end(), name), end; at != end; ++at)
      keys.push_back((*at)[1]);
  }
  EXPECT_FALSE(keys.empty()) << title;
  return keys;
}

// PASS and WHAT stand for a kind each.
Keys Expanded(const Keys& keys) {
  Keys out;
  for (const std::string& key : keys) {
    const size_t dot = key.find('.');
    if (dot == std::string::npos) {
      out.push_back(key);
      continue;
    }
    for (const std::string& kind : Documented("`" + key + "`"))
      out.push_back(key.substr(0, dot + 1) + kind);
  }
  return out;
}

const std::map<std::string, Keys>& Page() {
  static const std::map<std::string, Keys> page = [] {
    std::map<std::string, Keys> out;
    for (const char* title : {"every element", "units, blocks", "points, the trace", "blocks",
                              "points, edges", "edges", "segments", "the trace"})
      out[title] = Expanded(Documented(title));
    return out;
  }();
  return page;
}

// What Label(key) is on each element of the source; null: "-".
std::vector<std::string> ValuesOf(const Trace& trace, const std::string& source,
                                  const std::string& key) {
  const DatasetPlan::Compiled compiled =
      DatasetPlan::Compile({"", source, "Row | Label(\"" + key + "\") | RecordAs(\"v\")", {}}, {});
  EXPECT_TRUE(compiled.plan.has_value()) << source << " " << key;
  if (!compiled.plan) return {};
  DatasetTable table = compiled.plan->NewTable();
  compiled.plan->Extract(trace, table);
  std::vector<std::string> out;
  const TableColumn& column = table.columns.back();
  for (size_t row = 0; row < column.size(); ++row)
    out.push_back(column.valid[row] ? column.texts[row] : "-");
  return out;
}

// A trace that has one of everything, and lacks a parent: b's.
class FeatureKeys : public ::testing::Test {
 protected:
  FeatureKeys()
      : lines_(
            "span root 0..100 name=GET kind=server process=web@h1 thread=7 status=error\n"
            "span a parent=root 10..40 name=call kind=client process=web@h1 thread=7 "
            "event=flush@20\n"
            "span s parent=a 15..35 name=serve kind=server process=db@h2 thread=8\n"
            "span b parent=lost 50..90 name=orphan process=web@h1 thread=7\n") {
    lines_.batch.status_message[0] = lines_.batch.strings.Intern("no cart");
    trace_ = BuildTrace(lines_.batch, lines_.options);
  }
  void EachHasAValue(const std::string& title, const std::vector<std::string>& sources) {
    for (const std::string& source : sources) {
      for (const std::string& key : Page().at(title)) {
        const auto values = ValuesOf(trace_, source, key);
        EXPECT_TRUE(std::any_of(values.begin(), values.end(),
                                [](const std::string& v) { return v != "-"; }))
            << key << " of " << source << ": " << ::testing::PrintToString(values);
      }
    }
  }
  testing::EventLines lines_;
  Trace trace_;
};

TEST_F(FeatureKeys, EveryKeyOnThePageGivesAValueWhereThePageSaysSo) {
  EachHasAValue("every element", {"Trace", "ExecUnits", "Blocks", "Points", "Edges"});
  EachHasAValue("units, blocks", {"ExecUnits", "Blocks"});
  EachHasAValue("points, the trace", {"Points", "Trace"});
  EachHasAValue("blocks", {"Blocks"});
  EachHasAValue("points, edges", {"Points", "Edges"});
  EachHasAValue("edges", {"Edges"});
  EachHasAValue("segments", {"CriticalPath | Segments"});
  EachHasAValue("the trace", {"Trace"});
}

TEST_F(FeatureKeys, CountsOfATraceAreThoseOfTheModel) {
  using ::testing::ElementsAre;
  EXPECT_THAT(ValuesOf(trace_, "Trace", "repairs.missing_parent"), ElementsAre("1"));
  EXPECT_THAT(ValuesOf(trace_, "Trace", "missing.parent"), ElementsAre("1"));
  EXPECT_THAT(ValuesOf(trace_, "Trace", "missing.callee"), ElementsAre("0"));
  EXPECT_THAT(ValuesOf(trace_, "Trace", "missing"),
              ElementsAre(std::to_string(trace_.missing.size())));
  EXPECT_THAT(ValuesOf(trace_, "Trace", "complete"), ElementsAre("false"));
  int64_t repairs = 0;
  for (const auto n : trace_.repair_counts) repairs += n;
  EXPECT_GE(repairs, 1);
  EXPECT_THAT(ValuesOf(trace_, "Trace", "repairs"), ElementsAre(std::to_string(repairs)));
  // Each pass and each kind sums up to the whole.
  int64_t by_pass = 0, by_what = 0;
  for (const std::string& key : Page().at("the trace")) {
    const int64_t value = std::atoll(ValuesOf(trace_, "Trace", key).at(0).c_str());
    by_pass += key.rfind("repairs.", 0) == 0 ? value : 0;
    by_what += key.rfind("missing.", 0) == 0 ? value : 0;
  }
  EXPECT_EQ(by_pass, repairs);
  EXPECT_EQ(by_what, static_cast<int64_t>(trace_.missing.size()));
}

TEST(FeatureKeysPage, NamesEveryPropertyThereIs) {
  std::set<int> documented;
  for (const auto& [title, keys] : Page()) {
    for (const std::string& key : keys) {
      EXPECT_GE(feature::PropertyIndex(key), 0) << key;
      documented.insert(feature::PropertyIndex(key));
    }
  }
  // Numbers are dense: a property without name on the page leaves a hole, or the last ones are missing.
  EXPECT_EQ(static_cast<int>(documented.size()), feature::PropertyCount());
}

}  // namespace
}  // namespace wf::feature
