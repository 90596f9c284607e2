#include "answer/dataset/dataset_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "answer/dataset/dataset_rows_output.h"
#include "answer/frame/text_table.h"
#include "json/json_writer.h"
#include "pipeline/dataset_catalog.h"

namespace wf::answer {

Result<store::TimeRange> ParseTimeRange(const Params& params, Nanos now) {
  store::TimeRange time;
  WF_ASSIGN(const auto since, params.Instant("since", now));
  WF_ASSIGN(const auto until, params.Instant("until", now));
  if (since) time.from = *since;
  if (until) time.until = *until;
  if (since && until && *since > *until)
    return BadInput("--since is after --until", "swap them, or leave one out");
  return time;
}

namespace {

// A dataset as listed: what was defined, and what is stored of it; each may be there without the other.
struct Listed {
  const pipeline::DatasetDefinition* definition = nullptr;
  const store::DatasetStatus* status = nullptr;
  const Error* fault = nullptr;
  std::optional<Nanos> cost_ns;
};

std::string ListText(const std::map<std::string, Listed>& datasets) {
  TextTable table({"dataset", "owner", "rows", "MB", "newest row", "note"}, {2, 3});
  for (const auto& [name, one] : datasets) {
    std::string note = one.definition == nullptr  ? "no definition any more"
                       : one.definition->standing ? "standing"
                                                  : "";
    if (one.fault != nullptr) note = one.fault->message;
    const bool rows = one.status != nullptr && one.status->rows != 0;
    table.Row({name, one.definition != nullptr ? one.definition->owner : "",
               one.status != nullptr ? std::to_string(one.status->rows) : "0",
               one.status != nullptr
                   ? fmt::format("{:.1f}", static_cast<double>(one.status->bytes) / 1e6)
                   : "",
               rows ? FormatInstant(one.status->newest_ns).substr(0, 19) : "", note});
  }
  return table.Print(TextWidth(), 5);
}

void ListJson(const std::string& name, const Listed& one, JsonWriter& json) {
  const store::DatasetStatus none;
  const store::DatasetStatus& status = one.status != nullptr ? *one.status : none;
  json.BeginObject().Field("dataset", name);
  json.Field("owner", one.definition != nullptr ? one.definition->owner : "");
  json.Field("standing", one.definition != nullptr && one.definition->standing);
  json.Field("definition", one.definition != nullptr ? one.definition->source : "");
  json.Field("rows", status.rows).Field("bytes", status.bytes);
  json.Field("oldest_ns", status.oldest_ns).Field("newest_ns", status.newest_ns);
  json.Key("subsampled_before_ns");
  status.sampled_before ? json.Int(*status.sampled_before) : json.Null();
  json.Key("cost_ns_per_trace");
  one.cost_ns ? json.Int(*one.cost_ns) : json.Null();
  json.Field("fault", one.fault != nullptr ? one.fault->message : "");
  json.EndObject();
}

}  // namespace

Result<Answer> AnswerDatasetList(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(const pipeline::DatasetCatalog catalog,
            pipeline::DatasetCatalog::Load(context.store, context.tenant));
  WF_ASSIGN(const auto stored, context.store.ReadDatasets(context.tenant));
  std::map<std::string, Listed> datasets;
  for (const pipeline::DatasetDefinition& one : catalog.definitions())
    datasets[one.name].definition = &one;
  for (const auto& [name, error] : catalog.faults()) datasets[name].fault = &error;
  for (const store::DatasetStatus& one : stored) datasets[one.name].status = &one;
  WF_ASSIGN(const auto costs, ReadDatasetCosts(context));
  for (const auto& [name, cost] : costs) {
    if (const auto found = datasets.find(name); found != datasets.end())
      found->second.cost_ns = cost.cost_ns;
  }
  if (WantsText(question)) return TextAnswer(ListText(datasets));
  JsonWriter json;
  json.BeginObject().Key("datasets").BeginArray();
  for (const auto& [name, one] : datasets) ListJson(name, one, json);
  json.EndArray().EndObject();
  return JsonAnswer(json.Take());
}

Result<Answer> AnswerDatasetColumns(const AnswerContext& context, const Question& question) {
  const std::string& dataset = question.argument;
  WF_ASSIGN(const auto stored, context.store.ReadDatasets(context.tenant));
  std::vector<store::StoredColumn> columns;
  const auto found = std::find_if(stored.begin(), stored.end(),
                                  [&](const store::DatasetStatus& s) { return s.name == dataset; });
  if (found != stored.end()) columns = found->columns;
  WF_ASSIGN(const pipeline::DatasetCatalog catalog,
            pipeline::DatasetCatalog::Load(context.store, context.tenant));
  // Columns that are defined but have no rows yet.
  const auto definition = catalog.Get(dataset);
  if (definition.ok()) {
    WF_ASSIGN(const feature::DatasetPlan plan, catalog.Compile(*definition, dataset));
    std::vector<ColumnDefinition> defined = FixedDatasetColumns();
    defined.insert(defined.end(), plan.columns().begin(), plan.columns().end());
    for (const ColumnDefinition& column : defined) {
      const bool there = std::any_of(
          columns.begin(), columns.end(),
          [&](const store::StoredColumn& c) { return c.definition.name == column.name; });
      if (!there) columns.push_back({column, 0});
    }
  } else if (found == stored.end()) {
    return definition.error();
  }
  std::stable_sort(columns.begin(), columns.end(),
                   [](const store::StoredColumn& a, const store::StoredColumn& b) {
                     return a.queries > b.queries;
                   });
  if (WantsText(question)) {
    TextTable table({"column", "type", "queries"}, {2});
    for (const store::StoredColumn& column : columns)
      table.Row({Printable(column.definition.name),
                 std::string(ColumnTypeName(column.definition.type)),
                 std::to_string(column.queries)});
    return TextAnswer(table.Print(TextWidth(), 0));
  }
  JsonWriter json;
  json.BeginObject().Field("dataset", dataset).Key("columns").BeginArray();
  for (const store::StoredColumn& column : columns) {
    json.BeginObject()
        .Field("name", column.definition.name)
        .Field("type", ColumnTypeName(column.definition.type))
        .Field("queries", column.queries)
        .EndObject();
  }
  json.EndArray().EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
