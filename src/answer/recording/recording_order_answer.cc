// `cpg F order A B` and `cpg F races`: what is ordered, and what should have been.
#include <fmt/format.h>

#include "analysis/lineage/order_path.h"
#include "analysis/lineage/races.h"
#include "answer/frame/text_table.h"
#include "answer/recording/recording_answer.h"

namespace wf::answer {
namespace {

constexpr uint64_t kMostRaces = 1'000'000;

std::string_view NameOf(lineage::Relation relation) {
  switch (relation) {
    case lineage::Relation::kSame:
      return "same";
    case lineage::Relation::kBefore:
      return "before";
    case lineage::Relation::kAfter:
      return "after";
    case lineage::Relation::kConcurrent:
      return "concurrent";
  }
  return "";
}

std::string OrderText(OpenedRecording& opened, recorder::SubId a, recorder::SubId b,
                      lineage::Relation relation, const std::vector<recorder::SubId>& path) {
  const std::string x = opened.SubNameOf(a), y = opened.SubNameOf(b);
  if (relation == lineage::Relation::kSame) return x + " is " + y + "\n";
  if (relation == lineage::Relation::kConcurrent)
    return fmt::format("{} and {} are concurrent: no recorded synchronization orders them\n", x, y);
  std::string out = fmt::format("{} happens {} {}\n\n", x, NameOf(relation), y);
  constexpr size_t kMostLines = 60;
  for (size_t i = 0; i < path.size(); ++i) {
    const recorder::SubComputation& sub = opened.recording().subs[path[i]];
    if (path.size() > kMostLines && i == kMostLines / 2) {
      out += fmt::format("  … {} more\n", path.size() - kMostLines);
      i = path.size() - kMostLines / 2;
      continue;
    }
    std::string line = fmt::format("  {}", recorder::SubName(sub));
    if (i + 1 < path.size()) {
      const std::string object = opened.ObjectLabel(sub.object);
      line += fmt::format(" until {}{}{}", opened.OpOf(sub), object.empty() ? "" : " of ", object);
      const std::string site = SiteText(opened.SiteOf(sub));
      if (!site.empty()) line += " in " + site;
    }
    out += CutToWidth(Printable(line), 100) + "\n";
  }
  return out;
}

}  // namespace

Result<std::string> AnswerOrder(OpenedRecording& opened, const std::string& a, const std::string& b,
                                RecordingFormat format) {
  WF_ASSIGN(const recorder::SubId x, opened.FindSub(a));
  WF_ASSIGN(const recorder::SubId y, opened.FindSub(b));
  const lineage::Relation relation = lineage::RelationOf(opened.clocks(), x, y);
  std::vector<recorder::SubId> path;
  if (relation == lineage::Relation::kSame) path = {x};
  if (relation == lineage::Relation::kBefore || relation == lineage::Relation::kAfter) {
    const bool before = relation == lineage::Relation::kBefore;
    path = lineage::PathBetween(opened.recording(), opened.clocks(), opened.sync_edges(),
                                before ? x : y, before ? y : x);
  }
  if (format != RecordingFormat::kJson) return OrderText(opened, x, y, relation, path);
  JsonWriter json;
  json.BeginObject().Field("a", opened.SubNameOf(x)).Field("b", opened.SubNameOf(y));
  json.Field("relation", NameOf(relation)).Key("path").BeginArray();
  for (const recorder::SubId sub : path) json.String(opened.SubNameOf(sub));
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

Result<std::string> AnswerRaces(OpenedRecording& opened, RecordingFormat format) {
  WF_TRY(opened.Require(recorder::kData));
  WF_ASSIGN(const lineage::DataFlow* flow, opened.data_flow());
  const lineage::Races found =
      lineage::FindRaces(opened.recording(), opened.clocks(), flow->pages(), kMostRaces);
  const auto access = [](bool writes) { return writes ? "write" : "read"; };
  if (format == RecordingFormat::kJson) {
    std::string out = "{\"races\":[";
    for (const lineage::Race& race : found.races) {
      JsonWriter json;
      json.BeginObject().Field("page", PageAddress(race.page));
      WriteText(json, "symbol", opened.symbols().VariableOn(race.page));
      json.Field("a", opened.SubNameOf(race.a)).Field("b", opened.SubNameOf(race.b));
      json.Field("a_access", access(race.a_writes)).Field("b_access", access(race.b_writes));
      json.Field("pairs", race.pairs).EndObject();
      if (&race != &found.races.front()) out += ',';
      out += json.Take();
    }
    out += "]";
    if (!found.all) out += ",\"more\":true";
    return out + "}\n";
  }
  if (found.races.empty())
    return std::string(
        "no races: no two threads touched a page, one of them writing, without synchronization\n");
  constexpr size_t kMostLines = 100;
  TextTable table({"page", "a", "does", "b", "does", "pairs", "variable"}, {5});
  for (size_t i = 0; i < found.races.size() && i < kMostLines; ++i) {
    const lineage::Race& race = found.races[i];
    table.Row({PageAddress(race.page), opened.SubNameOf(race.a), access(race.a_writes),
               opened.SubNameOf(race.b), access(race.b_writes), std::to_string(race.pairs),
               opened.symbols().VariableOn(race.page).value_or("")});
  }
  std::string out =
      Wrapped(CountOf(found.races.size(), "race") +
              ": two threads touch one page, one of them writing, and nothing orders them. "
              "They may touch different bytes of it.");
  if (!out.ends_with('\n')) out += '\n';
  out += "\n" + table.Print(TextWidth(), 6);
  if (found.races.size() > kMostLines)
    out += fmt::format("… and {} more: --format json lists all\n", found.races.size() - kMostLines);
  return out;
}

}  // namespace wf::answer
