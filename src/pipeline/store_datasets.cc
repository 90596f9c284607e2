#include "pipeline/store_datasets.h"

#include "base/hash.h"
#include "log/log.h"
#include "pipeline/dataset_extractor.h"
#include "store/row_query.h"

namespace wf::pipeline {
namespace {

constexpr Nanos kLookAgain = kSecond;
constexpr Nanos kFilePeriod = kMinute;

// The saved texts as one number: compiling is needed only when it changes.
Result<uint64_t> VersionOf(store::DocumentStore& store, const std::string& tenant) {
  uint64_t version = 1;
  for (const char* kind : {kDatasetKind, kFeatureKind}) {
    WF_ASSIGN(const auto documents, store.ReadDocuments(tenant, kind));
    for (const store::Document& document : documents) {
      version = HashBytes(document.name, version);
      version = HashBytes(document.text, version);
    }
  }
  return version;
}

}  // namespace

std::shared_ptr<const TailedDatasets> StoreDatasets::Deployed(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  Tenant& known = tenants_[tenant];
  const Nanos now = MonotonicNow();
  if (known.deployed == nullptr || now - known.looked >= kLookAgain) {
    known.looked = now;
    if (const Status status = Reload(tenant, known);
        !status.ok() && log::LogOnce("datasets: " + status.error().message))
      log::Error("datasets: {}; known datasets continue", status.error().message);
    if (known.deployed == nullptr) known.deployed = std::make_shared<const TailedDatasets>();
  }
  return known.deployed;
}

Status StoreDatasets::Reload(const std::string& tenant, Tenant& known) {
  WF_ASSIGN(const uint64_t version, VersionOf(store_, tenant));
  if (version == known.version) return {};
  WF_ASSIGN(const DatasetCatalog catalog, DatasetCatalog::Load(store_, tenant));
  auto deployed = std::make_shared<TailedDatasets>();
  for (const DatasetDefinition& definition : catalog.definitions()) {
    auto plan = catalog.Compile(definition, definition.name);
    if (!plan.ok()) {  // what it includes may have changed since it was saved
      if (log::LogOnce(plan.error().message))
        log::Error("dataset {} is not extracted: {}", definition.name, plan.error().message);
      continue;
    }
    TailedDataset dataset;
    dataset.name = definition.name;
    dataset.owner = definition.owner;
    dataset.new_table = [plan = *plan] { return plan.NewTable(); };
    dataset.extract = [plan = *plan, losses = losses_](const Trace& trace, DatasetTable& rows) {
      const feature::ExtractOutcome outcome = plan.Extract(trace, rows);
      if (outcome.kind == feature::ExtractOutcome::Kind::kOverBudget) ++losses->over_budget;
      losses->rows_dropped += static_cast<int64_t>(outcome.rows_dropped);
    };
    if (!definition.filter.empty())
      dataset.wants = [plan = *plan](const Trace& trace) { return plan.Wants(trace); };
    deployed->push_back(std::move(dataset));
  }
  known.deployed = std::move(deployed);
  known.definitions = catalog.definitions();
  known.version = version;
  return {};
}

Status StoreDatasets::Write(const std::string& tenant, const std::string& dataset,
                            const DatasetTable& rows, const std::vector<TraceId>& replaced,
                            store::TimeRange time) {
  bool parquet = false;
  {
    const std::lock_guard lock(mutex_);
    Tenant& known = tenants_[tenant];
    bool deployed = false;
    for (const DatasetDefinition& definition : known.definitions) {
      if (definition.name != dataset) continue;
      deployed = true;
      parquet = definition.parquet;
    }
    if (!deployed)
      return {};  // deleted while its rows were on their way: they must not bring it back
  }
  store::RowReplacement replacement;
  replacement.traces = replaced;
  replacement.time = time;
  WF_TRY(store_.WriteRows(tenant, dataset, rows, replacement));
  if (dataset == kCallsDataset) red_.Count(tenant, rows, MonotonicNow());
  if (!parquet) return {};
  const std::lock_guard lock(mutex_);
  Tenant& known = tenants_[tenant];
  const TableColumn& times = rows.columns[1];  // FixedDatasetColumns
  for (const int64_t start : times.numbers)
    known.changed_hours.insert({dataset, store::BucketStart(start, kHour)});
  return {};
}

Status StoreDatasets::WriteFiles(const std::string& tenant, When when) {
  std::set<std::pair<std::string, Nanos>> hours;
  {
    const std::lock_guard lock(mutex_);
    Tenant& known = tenants_[tenant];
    const Nanos now = MonotonicNow();
    if (when == When::kDue && now - known.files_written < kFilePeriod) return {};
    known.files_written = now;
    hours.swap(known.changed_hours);
  }
  Status first;
  for (const auto& [dataset, hour] : hours) {
    Status status = WriteParquetHour(store_, tenant, dataset, hour, folder_ + "/" + tenant);
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  return first;
}

Status StoreDatasets::WriteFiles(When when) {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, known] : tenants_) names.push_back(name);
  }
  Status first;
  for (const std::string& name : names) {
    Status status = WriteFiles(name, when);
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  return first;
}

DatasetSource::Losses StoreDatasets::ReadLosses() const {
  return {losses_->over_budget.load(), losses_->rows_dropped.load()};
}

}  // namespace wf::pipeline
