// Reading events: rows that a condition chooses, doubles removed, with their processes and scopes.
#include <fmt/format.h>

#include <algorithm>

#include "store/clickhouse/store_impl.h"

namespace wf::store::clickhouse {
namespace {

constexpr size_t kIdsPerQuery = 2000;  // a query of 100 kB
constexpr size_t kMostOriginsKept = 100'000;

}  // namespace

Status ClickhouseStore::LoadOrigins(const std::string& tenant, const std::vector<uint64_t>& ids) {
  std::vector<uint64_t> missing;
  {
    const std::lock_guard lock(origins_mutex_);
    for (const uint64_t id : ids)
      if (origins_.count({tenant, id}) == 0) missing.push_back(id);
  }
  for (size_t at = 0; at < missing.size(); at += kIdsPerQuery) {
    const auto begin = missing.begin() + static_cast<ptrdiff_t>(at);
    const auto end =
        missing.begin() + static_cast<ptrdiff_t>(std::min(missing.size(), at + kIdsPerQuery));
    WF_ASSIGN(const std::string answer,
              client_.AskAny("reading processes",
                             fmt::format("SELECT {} FROM {} WHERE tenant = {} AND id IN ({}) "
                                         "LIMIT 1 BY id FORMAT RowBinary",
                                         clickhouse::OriginSelectList(), names_.All("origins"),
                                         clickhouse::Quote(tenant), fmt::join(begin, end, ","))));
    clickhouse::RowReader reader(answer);
    const std::lock_guard lock(origins_mutex_);
    if (origins_.size() > kMostOriginsKept) origins_.clear();
    while (reader.more()) {
      uint64_t id = 0;
      auto origin = std::make_shared<const clickhouse::Origin>(clickhouse::ReadOrigin(reader, id));
      if (!reader.bad()) origins_[{tenant, id}] = std::move(origin);
    }
    WF_TRY(reader.status());
  }
  return {};
}

Result<EventBatch> ClickhouseStore::ReadWhere(const std::string& tenant,
                                              const std::string& condition,
                                              clickhouse::EventColumns columns,
                                              std::string_view what) {
  const std::string sql = fmt::format("SELECT {} FROM {} {} ORDER BY {} FORMAT RowBinary",
                                      clickhouse::SelectList(columns), names_.All("events"),
                                      condition, clickhouse::kEventOrder);
  WF_ASSIGN(const std::string answer, client_.AskAny(what, sql));
  clickhouse::EventDecoder decoder(tenant, std::move(columns));
  WF_TRY(decoder.Add(answer));
  WF_TRY(LoadOrigins(tenant, decoder.OriginsNeeded()));
  int64_t missing = 0;
  EventBatch batch = decoder.Finish(
      [&](uint64_t id) -> std::shared_ptr<const clickhouse::Origin> {
        const std::lock_guard lock(origins_mutex_);
        const auto found = origins_.find({tenant, id});
        return found == origins_.end() ? nullptr : found->second;
      },
      missing);
  if (missing != 0) Count("origins_missing", missing);
  if (decoder.doubles() != 0) Count("doubles_passed_over", decoder.doubles());
  return batch;
}

Result<EventBatch> ClickhouseStore::ReadTrace(const std::string& tenant, TraceId id) {
  return ReadTraces(tenant, {id});
}

Result<EventBatch> ClickhouseStore::ReadTraces(const std::string& tenant,
                                               const std::vector<TraceId>& ids) {
  std::vector<TraceId> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  EventBatch out;
  out.tenant = tenant;
  for (size_t at = 0; at < sorted.size(); at += kIdsPerQuery) {
    const std::vector<TraceId> some(
        sorted.begin() + static_cast<ptrdiff_t>(at),
        sorted.begin() + static_cast<ptrdiff_t>(std::min(sorted.size(), at + kIdsPerQuery)));
    WF_ASSIGN(EventBatch read,
              ReadWhere(tenant, clickhouse::WhereTraces(tenant, some), {}, "reading traces"));
    if (at == 0) {
      out = std::move(read);
      continue;
    }
    RowCopier copier(read, out);
    for (size_t row = 0; row < read.size(); ++row) copier.Copy(row);
  }
  return out;
}

}  // namespace wf::store::clickhouse
