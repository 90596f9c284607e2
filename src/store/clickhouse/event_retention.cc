// Retention of events, by age of receipt and by bytes on disk, of all shards together.
//
// A day of receipts is a partition of every table, so whole days are dropped, which costs nothing. What is too old or too
// much within a day is deleted by a mutation, which rewrites the day's parts: by age only when an eighth of the allowed
// age has gathered, by bytes down to seven eighths of what is allowed, so that each row is rewritten a few times at most.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "store/clickhouse/mutation.h"
#include "store/clickhouse/store_impl.h"

namespace wf::store::clickhouse {
namespace {

// Tables whose rows go with their day, and the column of the receipt where parts of a day can go.
struct Aging {
  const char* table;
  const char* receipt;  // null: whole days only
};
constexpr Aging kAging[] = {{"events", "received_ns"},          {"pieces", "newest_ns"},
                            {"resource_events", "received_ns"}, {"operations", nullptr},
                            {"attribute_keys", nullptr},        {"origins", nullptr}};

struct Day {
  int64_t bytes = 0, rows = 0;  // rows: of events
};

const char* ReceiptOf(std::string_view table) {
  for (const Aging& aging : kAging)
    if (aging.table == table) return aging.receipt;
  return nullptr;
}

std::string AgingList() {
  std::vector<std::string> names;
  for (const Aging& aging : kAging) names.emplace_back(aging.table);
  return clickhouse::QuoteList(names);
}

}  // namespace

Status ClickhouseStore::DeleteReceivedBefore(Nanos oldest_kept, uint16_t day) {
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_ASSIGN(const int64_t rows,
              client_.AskNumber(shard, "counting rows to delete",
                                fmt::format("SELECT toInt64(count()) FROM {} WHERE day = {} AND "
                                            "received_ns < {} FORMAT RowBinary",
                                            names_.Local("events"), day, oldest_kept)));
    if (rows == 0) continue;
    // What names events goes first, so that no index promises what is gone.
    for (const char* table : {"resource_events", "pieces", "events"}) {
      const char* const receipt = ReceiptOf(table);
      WF_TRY(clickhouse::Mutate(
          client_, names_, shard, "deleting old events", table,
          fmt::format("DELETE WHERE day = {} AND {} < {}", day, receipt, oldest_kept)));
    }
    Count("rows_retired", rows);
  }
  return {};
}

Status ClickhouseStore::DropDay(uint16_t day, int64_t rows) {
  // Events last: what names them goes first, so that no index promises what is gone. Origins after the events.
  for (const char* table :
       {"resource_events", "pieces", "operations", "attribute_keys", "events", "origins"}) {
    WF_TRY(client_.RunEverywhere(
        "dropping a day of events",
        fmt::format("ALTER TABLE {} DROP PARTITION {}", names_.Local(table), day)));
  }
  {
    // A late event of that day would have to bring its side rows again.
    const std::lock_guard lock(written_mutex_);
    for (auto it = written_.begin(); it != written_.end();)
      it = std::get<1>(*it) == day ? written_.erase(it) : std::next(it);
  }
  Count("rows_retired", rows);
  Count("days_retired", 1);
  return {};
}

Status ClickhouseStore::RetainEvents(const RetentionPolicy& policy) {
  std::map<uint16_t, Day> days;
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_ASSIGN(const std::string answer,
              client_.Ask(shard, "weighing days",
                          fmt::format("SELECT toUInt16(partition), toInt64(sum(bytes_on_disk)), "
                                      "toInt64(sumIf(rows, table = 'events')) FROM system.parts "
                                      "WHERE active AND database = {} AND table IN {} GROUP BY "
                                      "partition FORMAT RowBinary",
                                      clickhouse::Quote(client_.url().database), AgingList())));
    clickhouse::RowReader reader(answer);
    while (reader.more()) {
      Day& day = days[reader.Number<uint16_t>()];
      day.bytes += reader.Number<int64_t>();
      day.rows += reader.Number<int64_t>();
    }
    WF_TRY(reader.status());
  }
  if (policy.max_age_ns) {
    const Nanos oldest_kept = SaturatingSub(Now(), *policy.max_age_ns);
    while (!days.empty() && (static_cast<Nanos>(days.begin()->first) + 1) * kDay <= oldest_kept) {
      WF_TRY(DropDay(days.begin()->first, days.begin()->second.rows));
      days.erase(days.begin());
    }
    const Nanos step = std::max<Nanos>(*policy.max_age_ns / 8, kSecond);
    if (!days.empty()) {
      const uint16_t day = days.begin()->first;
      WF_ASSIGN(
          const int64_t old,
          client_.AskAnyNumber(
              "looking for old rows",
              fmt::format("SELECT toInt64(countIf(received_ns < {0})) FROM {1} WHERE day = {2} "
                          "FORMAT RowBinary",
                          SaturatingSub(oldest_kept, step), names_.All("events"), day)));
      if (old > 0) WF_TRY(DeleteReceivedBefore(oldest_kept, day));
    }
  }
  if (!policy.max_bytes) return {};
  WF_ASSIGN(const int64_t total, ReadDiskBytes());
  if (total <= *policy.max_bytes) return {};
  int64_t excess = total - *policy.max_bytes / 8 * 7;
  // A whole day, unless it is much more than has to go.
  while (excess > 0 && !days.empty()) {
    const auto [day, facts] = *days.begin();
    if (days.size() > 1 && facts.bytes <= excess + *policy.max_bytes / 8) {
      WF_TRY(DropDay(day, facts.rows));
      excess -= facts.bytes;
      days.erase(days.begin());
      continue;
    }
    const double share = static_cast<double>(excess) / static_cast<double>(facts.bytes);
    WF_ASSIGN(const Nanos oldest_kept,
              client_.AskAnyNumber("looking for the oldest rows",
                                   fmt::format("SELECT quantileExactWeighted({})(received_ns, "
                                               "toUInt64(bytes)) FROM {} WHERE day = {} FORMAT "
                                               "RowBinary",
                                               std::min(share, 1.0), names_.All("events"), day)));
    return DeleteReceivedBefore(SaturatingAdd(oldest_kept, 1), day);
  }
  return {};
}

// Servers that know ages delete by themselves when no process of ours is there to do it; later than we would, who count
// what goes. Told once, and again when the age is another: also that there is none any more.
Status ClickhouseStore::TellAge(std::optional<Nanos> max_age) {
  if (!features_.ttl) return {};
  const std::lock_guard lock(age_mutex_);
  if (age_told_.has_value() && *age_told_ == max_age) return {};
  const std::string database = clickhouse::Quote(client_.url().database);
  for (const Aging& aging : kAging) {
    if (aging.receipt == nullptr) continue;
    if (max_age) {
      const int64_t seconds = (*max_age + *max_age / 8) / kSecond + 3600;
      WF_TRY(client_.RunEverywhere(
          "telling how long events are kept",
          fmt::format("ALTER TABLE {} MODIFY TTL toDateTime(intDiv({}, 1000000000)) + "
                      "toIntervalSecond({})",
                      names_.Local(aging.table), aging.receipt, seconds),
          {{"materialize_ttl_after_modify", "0"}}));
      continue;
    }
    for (size_t shard = 0; shard < client_.shards(); ++shard) {
      WF_ASSIGN(
          const int64_t told,
          client_.AskNumber(
              shard, "looking for an age",
              fmt::format("SELECT toInt64(count()) FROM system.tables WHERE database = {} AND "
                          "name = {} AND position(create_table_query, ' TTL ') > 0 FORMAT "
                          "RowBinary",
                          database, clickhouse::Quote(aging.table))));
      if (told == 0) continue;
      WF_TRY(client_.Run(shard, "telling that events are kept",
                         fmt::format("ALTER TABLE {} REMOVE TTL", names_.Local(aging.table))));
    }
  }
  age_told_ = max_age;
  return {};
}

Status ClickhouseStore::Retain(const RetentionPolicy& policy) {
  WF_TRY(TellAge(policy.max_age_ns));
  WF_TRY(RetainSides(policy));
  return RetainEvents(policy);
}

}  // namespace wf::store::clickhouse
