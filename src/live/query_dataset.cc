#include "live/query_dataset.h"

#include <algorithm>

#include "base/ids.h"
#include "json/json_writer.h"
#include "lang/query/rows_json.h"
#include "model/dataset_table.h"
#include "pipeline/dataset_catalog.h"

namespace wf::live {
namespace {

using Type = ColumnType;

constexpr char kQueryDatasetKind[] = "query_dataset";  // kind of document

std::optional<Type> TypeOf(const advice::Value& value) {
  if (value.null()) return std::nullopt;
  if (std::holds_alternative<bool>(value)) return Type::kBool;
  if (std::holds_alternative<int64_t>(value)) return Type::kInt;
  if (std::holds_alternative<double>(value)) return Type::kDouble;
  return Type::kText;
}

// Numbers widen to doubles; all other differences become text.
Type Wider(Type a, Type b) {
  if (a == b) return a;
  const auto number = [](Type type) { return type == Type::kInt || type == Type::kDouble; };
  return number(a) && number(b) ? Type::kDouble : Type::kText;
}

void Append(const advice::Value& value, TableColumn& column) {
  if (value.null()) return column.AppendNull();
  switch (column.definition.type) {
    case Type::kBool:
      return column.AppendInt(std::get<bool>(value) ? 1 : 0);
    case Type::kInt:
      return column.AppendInt(std::get<int64_t>(value));
    case Type::kDouble: {
      const auto* integer = std::get_if<int64_t>(&value);
      return column.AppendDouble(integer != nullptr ? static_cast<double>(*integer)
                                                    : std::get<double>(value));
    }
    default:
      break;
  }
  if (const auto* text = std::get_if<std::string>(&value)) return column.AppendText(*text);
  JsonWriter json;
  query::WriteValue(json, value);
  column.AppendText(json.Take());
}

}  // namespace

Status CheckQueryDataset(store::Store& store, const std::string& tenant,
                         const std::string& dataset) {
  WF_TRY(pipeline::CheckDatasetName(dataset));
  WF_ASSIGN(const pipeline::DatasetCatalog catalog, pipeline::DatasetCatalog::Load(store, tenant));
  if (catalog.Find(dataset) != nullptr)
    return BadInput("dataset " + dataset + ": its rows come from traces",
                    "choose another dataset for the query's rows");
  return {};
}

Status KeepQueryDataset(store::DocumentStore& store, const std::string& tenant,
                        const std::string& dataset) {
  return store.PutDocument(tenant, kQueryDatasetKind, dataset, "{}");
}

Status RetainQueryDatasets(store::Store& store, const std::string& tenant,
                           std::optional<Nanos> max_age) {
  WF_ASSIGN(const auto kept, store.ReadDocuments(tenant, kQueryDatasetKind));
  if (kept.empty()) return {};
  WF_ASSIGN(const pipeline::DatasetCatalog catalog, pipeline::DatasetCatalog::Load(store, tenant));
  store::RowRetention retention;
  retention.max_age_ns =
      std::min(max_age.value_or(pipeline::kDefaultRowAge), pipeline::kDefaultRowAge);
  // If one dataset fails, the others are still processed.
  Status failed;
  for (const store::Document& document : kept) {
    if (catalog.Find(document.name) != nullptr) continue;
    const Status retained = store.RetainRows(tenant, document.name, retention);
    if (!retained.ok()) failed = retained;
  }
  return failed;
}

Status AppendQueryRows(store::DatasetStore& store, const std::string& tenant,
                       const std::string& dataset, const std::vector<std::string>& columns,
                       const ClosedInterval& interval) {
  std::vector<ColumnDefinition> there;
  WF_ASSIGN(const auto stored, store.ReadDatasets(tenant));
  for (const store::DatasetStatus& one : stored) {
    if (one.name != dataset) continue;
    for (const store::StoredColumn& column : one.columns) there.push_back(column.definition);
  }
  DatasetTable table;
  for (const ColumnDefinition& fixed : FixedDatasetColumns())
    table.columns.emplace_back().definition = fixed;
  const size_t own = table.columns.size();
  for (size_t c = 0; c < columns.size(); ++c) {
    ColumnDefinition definition{columns[c], Type::kInt};
    const auto named = [&](const ColumnDefinition& other) { return other.name == definition.name; };
    const auto& fixed = FixedDatasetColumns();
    if (std::any_of(fixed.begin(), fixed.end(), named)) definition.name += "_";
    std::optional<Type> type;
    for (const advice::Tuple& row : interval.rows) {
      if (const auto own_type = TypeOf(row[c])) type = type ? Wider(*type, *own_type) : *own_type;
    }
    if (const auto before = std::find_if(there.begin(), there.end(), named); before != there.end())
      type = type ? Wider(*type, before->type) : before->type;
    definition.type = type.value_or(Type::kInt);
    table.columns.emplace_back().definition = definition;
  }
  for (size_t r = 0; r < interval.rows.size(); ++r) {
    table.columns[0].AppendText(ToHex(TraceId{}));
    table.columns[1].AppendInt(interval.start_ns);
    table.columns[2].AppendText(std::to_string(r));
    table.columns[3].AppendInt(1);
    for (size_t c = 0; c < columns.size(); ++c) Append(interval.rows[r][c], table.columns[own + c]);
  }
  return store.WriteRows(tenant, dataset, table);
}

}  // namespace wf::live
