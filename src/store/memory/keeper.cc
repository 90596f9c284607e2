// Rows of datasets as the store gives them; tenants, status and retention.
#include <fmt/format.h>

#include <algorithm>

#include "store/memory/content.h"
#include "store/row_query.h"

namespace wf::store::memory {
namespace {

// Of the room that retention leaves, as in the embedded store: rows of datasets can be made again, events cannot.
constexpr int64_t kDatasetPart = 4;

int64_t BytesOf(const Events& events) {
  int64_t total = 0;
  for (const auto& batch : events.batches) total += static_cast<int64_t>(batch->MemoryBytes());
  return total;
}

int64_t DatasetBytes(const Tenant& tenant) {
  int64_t total = 0;
  for (const auto& [name, dataset] : tenant.datasets) total += dataset.bytes();
  return total;
}

int64_t BytesOf(const Tenant& tenant) {
  int64_t total = BytesOf(tenant.events) + DatasetBytes(tenant);
  for (const auto& [message, received] : tenant.messages) total += memory::BytesOf(message);
  for (const auto& [key, kept] : tenant.attachments) total += memory::BytesOf(kept.attachment);
  for (const auto& [kind, documents] : tenant.documents) {
    for (const auto& [name, document] : documents)
      total += static_cast<int64_t>(sizeof document + document.text.size());
  }
  return total;
}

Nanos NewestReceipt(const EventBatch& batch) {
  if (batch.received_rows.empty()) return batch.received_ns;
  return *std::max_element(batch.received_rows.begin(), batch.received_rows.end());
}

// Everything received before goes. Returns how many events went.
int64_t Forget(Tenant& tenant, Nanos oldest_kept) {
  const int64_t before = tenant.events.rows();
  Events kept;
  for (const auto& batch : tenant.events.batches) {
    if (NewestReceipt(*batch) < oldest_kept) continue;
    auto copy = std::make_shared<EventBatch>();
    copy->tenant = batch->tenant;
    RowCopier copier(*batch, *copy);
    for (size_t row = 0; row < batch->size(); ++row)
      if (batch->received_of(row) >= oldest_kept) copier.Copy(row);
    kept.Add(copy->size() == batch->size() ? batch : copy);
  }
  tenant.events = std::move(kept);
  std::erase_if(tenant.messages, [&](const auto& entry) { return entry.second < oldest_kept; });
  std::erase_if(tenant.attachments,
                [&](const auto& entry) { return entry.second.received_ns < oldest_kept; });
  return before - tenant.events.rows();
}

}  // namespace

int64_t BytesOf(const Message& message) {
  return static_cast<int64_t>(sizeof message + message.kind.size() + message.sender.size() +
                              message.receiver.size() + message.id.size() + message.keys.size());
}

int64_t BytesOf(const Attachment& attachment) {
  size_t total = sizeof attachment;
  for (const std::string& chunk : attachment.chunks) total += sizeof chunk + chunk.size();
  return static_cast<int64_t>(total);
}

int64_t BytesOf(const Content& content) {
  int64_t total = 0;
  for (const auto& [name, tenant] : content.tenants) total += BytesOf(tenant);
  return total;
}

std::shared_ptr<Content> NewContent() { return std::make_shared<Content>(); }

Status MemoryStore::WriteRows(const std::string& tenant, const std::string& dataset,
                              const DatasetTable& rows, const RowReplacement& replace) {
  if (!rows.columns.empty()) WF_TRY(CheckDatasetTable(dataset, rows));
  const std::lock_guard lock(content_->mutex);
  const Tenant* found = content_->Find(tenant);
  const bool there = found != nullptr && found->datasets.count(dataset) != 0;
  if (there) return content_->tenants[tenant].datasets[dataset].Write(dataset, rows, replace);
  if (rows.columns.empty()) return {};
  Dataset made;
  WF_TRY(made.Write(dataset, rows, {}));
  content_->tenants[tenant].datasets.emplace(dataset, std::move(made));
  return {};
}

Result<DatasetRows> MemoryStore::QueryRows(const std::string& tenant, const std::string& dataset,
                                           const DatasetQuery& query) {
  const std::lock_guard lock(content_->mutex);
  const Tenant* found = content_->Find(tenant);
  if (found == nullptr || found->datasets.count(dataset) == 0)
    return NotFound(
        fmt::format("dataset {}: no rows", dataset),
        "wherefore dataset list names those that are there; dataset backfill fills one");
  return content_->tenants[tenant].datasets[dataset].Query(query);
}

Result<std::vector<DatasetStatus>> MemoryStore::ReadDatasets(const std::string& tenant) {
  std::vector<DatasetStatus> out;
  const std::lock_guard lock(content_->mutex);
  const Tenant* found = content_->Find(tenant);
  if (found == nullptr) return out;
  for (const auto& [name, dataset] : found->datasets) out.push_back(dataset.Read(name));
  return out;
}

Status MemoryStore::DropDataset(const std::string& tenant, const std::string& dataset) {
  const std::lock_guard lock(content_->mutex);
  if (const auto found = content_->tenants.find(tenant); found != content_->tenants.end())
    found->second.datasets.erase(dataset);
  return {};
}

Status MemoryStore::RetainRows(const std::string& tenant, const std::string& dataset,
                               const RowRetention& retention) {
  const std::lock_guard lock(content_->mutex);
  const auto found = content_->tenants.find(tenant);
  if (found == content_->tenants.end()) return {};
  const auto rows = found->second.datasets.find(dataset);
  if (rows != found->second.datasets.end()) rows->second.Retain(retention, Now());
  return {};
}

Result<SqlRows> MemoryStore::RunSql(const std::string&, const std::string&) {
  return BadInput("SQL: this store is kept in memory and has no SQL engine",
                  "ask with wherefore dataset query, or keep the data in a directory");
}

Result<StoreStatus> MemoryStore::ReadStatus(const std::string& tenant) {
  StoreStatus out;
  out.counters = Counters();
  const std::lock_guard lock(content_->mutex);
  out.disk_bytes = BytesOf(*content_);  // of memory
  const Tenant* found = content_->Find(tenant);
  if (found == nullptr) return out;
  bool any = false;
  for (const auto& batch : found->events.batches) {
    out.spans += std::count(batch->type.begin(), batch->type.end(), EventType::kSpan);
    const auto [oldest, newest] =
        std::minmax_element(batch->start_ns.begin(), batch->start_ns.end());
    out.oldest_ns = any ? std::min(out.oldest_ns, *oldest) : *oldest;
    out.newest_ns = any ? std::max(out.newest_ns, *newest) : *newest;
    any = true;
  }
  out.events = found->events.rows();
  out.traces = static_cast<int64_t>(found->events.traces.size());
  out.messages = static_cast<int64_t>(found->messages.size());
  out.attachments = static_cast<int64_t>(found->attachments.size());
  for (const auto& [name, dataset] : found->datasets) out.dataset_rows += dataset.Read(name).rows;
  out.dataset_bytes = DatasetBytes(*found);
  return out;
}

Result<std::vector<TenantUse>> MemoryStore::ReadTenants() {
  std::vector<TenantUse> out;
  const std::lock_guard lock(content_->mutex);
  for (const auto& [name, tenant] : content_->tenants) {
    if (!tenant.empty()) out.push_back({name, tenant.events.rows(), BytesOf(tenant)});
  }
  return out;
}

Status MemoryStore::Flush() { return {}; }  // nothing waits

Status MemoryStore::Retain(const RetentionPolicy& policy) {
  int64_t retired = 0, trimmed = 0;
  {
    const std::lock_guard lock(content_->mutex);
    if (policy.max_age_ns) {
      const Nanos oldest_kept = SaturatingSub(Now(), *policy.max_age_ns);
      for (auto& [name, tenant] : content_->tenants) retired += Forget(tenant, oldest_kept);
    }
    if (policy.max_bytes && BytesOf(*content_) > *policy.max_bytes) {
      int64_t datasets = 0;
      for (const auto& [name, tenant] : content_->tenants) datasets += DatasetBytes(tenant);
      const int64_t room = *policy.max_bytes / kDatasetPart;
      if (datasets > room) {
        const double share = static_cast<double>(room) / static_cast<double>(datasets);
        for (auto& [name, tenant] : content_->tenants)
          for (auto& [dataset, rows] : tenant.datasets) trimmed += rows.KeepNewest(share);
      }
      // What was received first goes first, whoever it is of.
      std::vector<std::pair<Nanos, int64_t>> pieces;  // receipt, bytes
      for (const auto& [name, tenant] : content_->tenants) {
        for (const auto& batch : tenant.events.batches)
          pieces.emplace_back(NewestReceipt(*batch), static_cast<int64_t>(batch->MemoryBytes()));
        for (const auto& [message, received] : tenant.messages)
          pieces.emplace_back(received, memory::BytesOf(message));
        for (const auto& [key, kept] : tenant.attachments)
          pieces.emplace_back(kept.received_ns, memory::BytesOf(kept.attachment));
      }
      std::sort(pieces.begin(), pieces.end());
      int64_t excess = BytesOf(*content_) - *policy.max_bytes;
      Nanos oldest_kept = INT64_MIN;
      for (const auto& [received, bytes] : pieces) {
        if (excess <= 0) break;
        excess -= bytes;
        oldest_kept = SaturatingAdd(received, 1);
      }
      for (auto& [name, tenant] : content_->tenants) retired += Forget(tenant, oldest_kept);
    }
  }
  if (retired != 0) Count("rows_retired", retired);
  if (trimmed != 0) Count("dataset_rows_trimmed", trimmed);
  return {};
}

}  // namespace wf::store::memory
