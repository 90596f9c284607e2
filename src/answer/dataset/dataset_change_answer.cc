// `dataset apply`, `backfill` and `delete`: what changes datasets.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "answer/dataset/dataset_answer.h"
#include "answer/frame/text_table.h"
#include "json/json_reader.h"
#include "json/json_writer.h"
#include "pipeline/dataset_catalog.h"
#include "pipeline/pipeline.h"

namespace wf::answer {
namespace {

// What a trial measured, kept beside the definition so that an owner's datasets can be added up.
constexpr char kCostKind[] = "dataset_cost";

Status WriteCost(const AnswerContext& context, const std::string& dataset,
                 const DatasetCost& cost) {
  JsonWriter json;
  json.BeginObject().Field("owner", cost.owner).Field("cost_ns", cost.cost_ns).EndObject();
  return context.store.PutDocument(context.tenant, kCostKind, dataset, json.Take());
}

// Gone already is as good.
Status DeleteIfThere(const AnswerContext& context, const char* kind, const std::string& name) {
  const Status deleted = context.store.DeleteDocument(context.tenant, kind, name);
  if (!deleted.ok() && deleted.error().code != ErrorCode::kNotFound) return deleted;
  return {};
}

struct Trial {
  pipeline::ExtractCounts counts;
  Nanos cost_ns = 0;        // a trace that matches
  Nanos owner_cost_ns = 0;  // with the owner's other datasets
  double rows_per_trace() const {
    return counts.matched == 0
               ? 0
               : static_cast<double>(counts.rows) / static_cast<double>(counts.matched);
  }
};

std::string ApplyText(const pipeline::DatasetDefinition& definition, const Trial& trial,
                      bool saved) {
  std::string out = fmt::format(
      "dataset {}: {} of the newest {} match; {}, {:.1f} per trace, {} of CPU per trace\n",
      definition.name, trial.counts.matched,
      CountOf(static_cast<uint64_t>(trial.counts.traces), "trace"),
      CountOf(static_cast<uint64_t>(trial.counts.rows), "row"), trial.rows_per_trace(),
      FormatDuration(trial.cost_ns));
  if (trial.counts.unusable != 0)
    out +=
        fmt::format("  {} traces violate an invariant and give no rows\n", trial.counts.unusable);
  if (trial.counts.over_budget != 0)
    out += fmt::format("  {} traces exceed the work limit of one trace and give no rows\n",
                       trial.counts.over_budget);
  out += saved
             ? fmt::format("saved for new traces; for stored ones: wherefore dataset backfill {}\n",
                           definition.name)
             : "not saved: dry run\n";
  return out;
}

std::string ApplyJson(const pipeline::DatasetDefinition& definition,
                      const feature::DatasetPlan& plan, const Trial& trial, bool saved) {
  JsonWriter json;
  json.BeginObject().Field("dataset", definition.name).Field("owner", definition.owner);
  json.Field("saved", saved).Key("columns").BeginArray();
  for (const auto* columns : {&FixedDatasetColumns(), &plan.columns()}) {
    for (const ColumnDefinition& column : *columns)
      json.BeginObject()
          .Field("name", column.name)
          .Field("type", ColumnTypeName(column.type))
          .EndObject();
  }
  json.EndArray().Key("trial").BeginObject();
  json.Field("traces", trial.counts.traces)
      .Field("matched", trial.counts.matched)
      .Field("rows", trial.counts.rows);
  json.Key("rows_per_trace").Double(trial.rows_per_trace());
  json.Field("cost_ns_per_trace", trial.cost_ns)
      .Field("owner_cost_ns_per_trace", trial.owner_cost_ns)
      .Field("unusable", trial.counts.unusable)
      .Field("over_budget", trial.counts.over_budget)
      .Field("rows_dropped", trial.counts.rows_dropped);
  json.EndObject().EndObject();
  return json.Take();
}

}  // namespace

Result<std::map<std::string, DatasetCost>> ReadDatasetCosts(const AnswerContext& context) {
  std::map<std::string, DatasetCost> out;
  WF_ASSIGN(const auto documents, context.store.ReadDocuments(context.tenant, kCostKind));
  JsonParser parser;
  for (const store::Document& document : documents) {
    const auto json = parser.Parse(document.text);
    if (!json.ok()) continue;
    out[document.name] = {std::string(json->Get("owner").String()),
                          json->Get("cost_ns").Int().value_or(0)};
  }
  return out;
}

Result<Answer> AnswerDatasetApply(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  WF_ASSIGN(const bool force, params.Switch("force"));
  WF_ASSIGN(const bool trial_only, params.Switch("trial"));
  WF_ASSIGN(const auto share, params.Duration("share"));
  const std::string file = params.Get("name").value_or("dataset");
  WF_ASSIGN(const pipeline::DatasetDefinition definition,
            pipeline::ParseDataset(question.body, file));
  WF_ASSIGN(const pipeline::DatasetCatalog catalog,
            pipeline::DatasetCatalog::Load(context.store, context.tenant));
  WF_ASSIGN(const feature::DatasetPlan plan, catalog.Compile(definition, file));

  pipeline::DatasetExtractor extractor(definition, plan);
  WF_TRY(pipeline::TryDataset(context.store, context.tenant, extractor));
  Trial trial;
  trial.counts = extractor.counts();
  trial.cost_ns = trial.counts.traces == 0 ? 0 : trial.counts.cpu_ns / trial.counts.traces;
  WF_ASSIGN(const auto costs, ReadDatasetCosts(context));
  trial.owner_cost_ns = trial.cost_ns;
  Nanos before = 0;
  for (const auto& [name, cost] : costs) {
    if (name == definition.name) before = cost.cost_ns;
    if (name != definition.name && cost.owner == definition.owner)
      trial.owner_cost_ns += cost.cost_ns;
  }
  const Nanos allowed = share.value_or(kOwnerShare);
  const bool grows = trial.cost_ns > before;
  if (trial.owner_cost_ns > allowed && grows && !force && !trial_only) {
    return BadInput(
        fmt::format("dataset {}: {} of CPU per trace, {} with the other datasets of owner {}; "
                    "the limit is {}",
                    definition.name, FormatDuration(trial.cost_ns),
                    FormatDuration(trial.owner_cost_ns), definition.owner, FormatDuration(allowed)),
        "make it cheaper, or apply it with --force");
  }
  if (!trial_only) {
    WF_TRY(context.store.PutDocument(context.tenant, pipeline::kDatasetKind, definition.name,
                                     definition.source));
    WF_TRY(WriteCost(context, definition.name, {definition.owner, trial.cost_ns}));
  }
  if (WantsText(question)) return TextAnswer(ApplyText(definition, trial, !trial_only));
  return JsonAnswer(ApplyJson(definition, plan, trial, !trial_only));
}

Result<pipeline::ExtractCounts> Backfill(const AnswerContext& context, const std::string& dataset,
                                         store::TimeRange time,
                                         const pipeline::BackfillProgress& progress) {
  WF_ASSIGN(const pipeline::DatasetCatalog catalog,
            pipeline::DatasetCatalog::Load(context.store, context.tenant));
  WF_ASSIGN(const pipeline::DatasetDefinition definition, catalog.Get(dataset));
  WF_ASSIGN(const feature::DatasetPlan plan, catalog.Compile(definition, dataset));
  pipeline::DatasetExtractor extractor(definition, plan);
  // Traces that arrive meanwhile may get rows from both sides.
  const auto expected = context.tailer != nullptr ? context.tailer->ExpectEarlierRows() : nullptr;
  WF_TRY(pipeline::BackfillDataset(context.store, context.tenant, time, extractor, progress));
  const std::string& files = context.files_path.empty() ? context.store_path : context.files_path;
  WF_TRY(
      extractor.WriteParquet(context.store, context.tenant, files + "/parquet/" + context.tenant));
  return extractor.counts();
}

std::string BackfillReportJson(const std::string& dataset, const pipeline::ExtractCounts& counts) {
  JsonWriter json;
  json.BeginObject()
      .Field("dataset", dataset)
      .Field("traces", counts.traces)
      .Field("matched", counts.matched)
      .Field("rows", counts.rows)
      .Field("unusable", counts.unusable)
      .Field("over_budget", counts.over_budget)
      .Field("rows_dropped", counts.rows_dropped)
      .EndObject();
  return json.Take() + "\n";
}

std::string BackfillReportText(const std::string& dataset, const pipeline::ExtractCounts& counts) {
  std::string out =
      fmt::format("dataset {}: {} from {}, {} examined\n", dataset,
                  CountOf(static_cast<uint64_t>(counts.rows), "row"),
                  CountOf(static_cast<uint64_t>(counts.matched), "trace"), counts.traces);
  if (counts.unusable != 0)
    out += fmt::format("  {} traces violate an invariant and gave no rows\n", counts.unusable);
  if (counts.over_budget != 0)
    out += fmt::format("  {} traces exceed the work limit of one trace and gave no rows\n",
                       counts.over_budget);
  if (counts.rows_dropped != 0)
    out += fmt::format("  {} rows dropped: more than one trace may give\n", counts.rows_dropped);
  return out;
}

Result<pipeline::ExtractCounts> ParseBackfillReport(std::string_view text) {
  JsonParser parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(text));
  const auto number = [&](std::string_view key) { return root.Get(key).Int().value_or(0); };
  pipeline::ExtractCounts out;
  out.traces = number("traces");
  out.matched = number("matched");
  out.rows = number("rows");
  out.unusable = number("unusable");
  out.over_budget = number("over_budget");
  out.rows_dropped = number("rows_dropped");
  return out;
}

Result<Answer> AnswerDatasetBackfill(const AnswerContext& context, const Question& question) {
  const std::string& dataset = question.argument;
  WF_ASSIGN(const store::TimeRange time, ParseTimeRange(question.params, context.now));
  WF_ASSIGN(const pipeline::ExtractCounts counts,
            Backfill(context, dataset, time, [](int64_t) { return true; }));
  if (WantsText(question)) return TextAnswer(BackfillReportText(dataset, counts));
  return Answer{"application/json", BackfillReportJson(dataset, counts)};
}

Result<Answer> AnswerDatasetDelete(const AnswerContext& context, const Question& question) {
  const std::string& dataset = question.argument;
  WF_ASSIGN(const auto stored, context.store.ReadDatasets(context.tenant));
  const bool has_rows =
      std::any_of(stored.begin(), stored.end(),
                  [&](const store::DatasetStatus& s) { return s.name == dataset; });
  WF_ASSIGN(const pipeline::DatasetCatalog catalog,
            pipeline::DatasetCatalog::Load(context.store, context.tenant));
  const pipeline::DatasetDefinition* definition = catalog.Find(dataset);
  if (const auto found = catalog.Get(dataset);
      !found.ok() && found.error().code == ErrorCode::kNotFound && !has_rows)
    return found.error();
  const bool stands =
      std::any_of(pipeline::StandingDatasets().begin(), pipeline::StandingDatasets().end(),
                  [&](const auto& one) { return one.first == dataset; });
  if (stands && definition != nullptr) {
    // Hides it.
    WF_TRY(context.store.PutDocument(context.tenant, pipeline::kDatasetKind, dataset, ""));
  } else if (!stands) {
    WF_TRY(DeleteIfThere(context, pipeline::kDatasetKind, dataset));
  }
  WF_TRY(DeleteIfThere(context, kCostKind, dataset));
  WF_TRY(context.store.DropDataset(context.tenant, dataset));
  if (WantsText(question)) return TextAnswer("dataset " + dataset + ": deleted, with its rows\n");
  JsonWriter json;
  json.BeginObject().Field("dataset", dataset).Field("deleted", true).EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
