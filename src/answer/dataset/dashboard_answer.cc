#include "answer/dataset/dashboard_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "answer/frame/text_table.h"
#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

constexpr char kKind[] = "dashboard";
constexpr size_t kMaxName = 64;
constexpr size_t kMaxTitle = 200;
constexpr size_t kMaxCharts = 200;
constexpr size_t kMaxQuery = 8192;  // of a chart; longer addresses do not survive being passed on

struct Chart {
  std::string title, dataset, query;
  bool wide = false;
};

struct Dashboard {
  std::string title;
  std::vector<Chart> charts;
  std::optional<std::string> expected;  // the revision that a save says it changes
};

// Names stand in links.
Status CheckName(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  if (name.empty() || name.size() > kMaxName || !plain)
    return BadInput(fmt::format("dashboard \"{}\": not a valid name", Printable(name)),
                    "up to 64 letters, digits, - and _; its title may be anything");
  return {};
}

Result<std::string> Text(const JsonValue& object, std::string_view key, const std::string& place,
                         size_t longest) {
  const JsonValue value = object.Get(key);
  if (!value.IsString() || value.String().size() > longest)
    return BadInput(fmt::format("{}: {} must be a text of at most {} bytes", place, key, longest),
                    "api/openapi.yaml describes a dashboard");
  return std::string(value.String());
}

Result<Dashboard> ParseDashboard(std::string_view json, const std::string& place) {
  JsonParser parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(json));
  Dashboard out;
  WF_ASSIGN(out.title, Text(root, "title", place, kMaxTitle));
  if (out.title.empty()) return BadInput(place + ": it has no title", "give it one");
  if (root.Get("revision").IsString()) out.expected = root.Get("revision").String();
  const JsonValue charts = root.Get("charts");
  if (!charts.IsArray() || charts.size() > kMaxCharts)
    return BadInput(fmt::format("{}: charts must be an array of at most {}", place, kMaxCharts),
                    "api/openapi.yaml describes a dashboard");
  for (const JsonValue value : charts.Elements()) {
    const std::string chart_place = fmt::format("{}: chart {}", place, out.charts.size() + 1);
    Chart chart;
    WF_ASSIGN(chart.title, Text(value, "title", chart_place, kMaxTitle));
    WF_ASSIGN(chart.dataset, Text(value, "dataset", chart_place, kMaxTitle));
    WF_ASSIGN(chart.query, Text(value, "query", chart_place, kMaxQuery));
    chart.wide = value.Get("wide").Bool();
    out.charts.push_back(std::move(chart));
  }
  return out;
}

void WriteDashboard(const Dashboard& dashboard, JsonWriter& json) {
  json.Field("title", dashboard.title).Key("charts").BeginArray();
  for (const Chart& chart : dashboard.charts) {
    json.BeginObject()
        .Field("title", chart.title)
        .Field("dataset", chart.dataset)
        .Field("query", chart.query)
        .Field("wide", chart.wide)
        .EndObject();
  }
  json.EndArray();
}

Answer DashboardJson(const store::Document& document, const Dashboard& dashboard) {
  JsonWriter json;
  json.BeginObject().Field("name", document.name);
  WriteDashboard(dashboard, json);
  json.Field("changed_ns", document.written_ns)
      .Field("revision", RevisionOf(document.text))
      .EndObject();
  return JsonAnswer(json.Take());
}

Error NoDashboard(const std::string& name) {
  return NotFound(fmt::format("dashboard {}: no such dashboard", Printable(name)),
                  "it may have been deleted; GET /api/v1/dashboards lists them");
}

Result<store::Document> Find(const AnswerContext& context, const std::string& name) {
  WF_ASSIGN(const auto document, FindDocument(context, {kKind, name}));
  if (!document) return NoDashboard(name);
  return *document;
}

}  // namespace

Result<Answer> AnswerDashboards(const AnswerContext& context) {
  WF_ASSIGN(const auto documents, context.store.ReadDocuments(context.tenant, kKind));
  JsonWriter json;
  json.BeginObject().Key("dashboards").BeginArray();
  for (const store::Document& document : documents) {
    WF_ASSIGN(const Dashboard dashboard,
              ParseDashboard(document.text, "dashboard " + document.name));
    json.BeginObject()
        .Field("name", document.name)
        .Field("title", dashboard.title)
        .Field("charts", static_cast<int64_t>(dashboard.charts.size()))
        .Field("changed_ns", document.written_ns)
        .EndObject();
  }
  json.EndArray().EndObject();
  return JsonAnswer(json.Take());
}

Result<Answer> AnswerDashboard(const AnswerContext& context, const std::string& name) {
  WF_ASSIGN(const store::Document document, Find(context, name));
  WF_ASSIGN(const Dashboard dashboard, ParseDashboard(document.text, "dashboard " + name));
  return DashboardJson(document, dashboard);
}

Result<SaveOutcome> SaveDashboard(const AnswerContext& context, const std::string& name,
                                  std::string_view json) {
  WF_TRY(CheckName(name));
  WF_ASSIGN(const Dashboard dashboard, ParseDashboard(json, "dashboard " + name));
  JsonWriter kept;
  kept.BeginObject();
  WriteDashboard(dashboard, kept);
  kept.EndObject();
  WF_ASSIGN(const bool saved,
            PutIfUnchanged(context, {kKind, name}, kept.Take(), dashboard.expected));
  if (!saved) return ConflictOn("dashboard " + name);
  WF_ASSIGN(Answer answer, AnswerDashboard(context, name));
  return SaveOutcome{std::move(answer)};
}

Result<Answer> DeleteDashboard(const AnswerContext& context, const std::string& name) {
  const Status deleted = context.store.DeleteDocument(context.tenant, kKind, name);
  if (!deleted.ok()) {
    if (deleted.error().code == ErrorCode::kNotFound) return NoDashboard(name);
    return deleted.error();
  }
  JsonWriter json;
  json.BeginObject().Field("name", name).Field("deleted", true).EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
