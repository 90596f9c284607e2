// What is stored, in numbers; and the delays between hosts that stored events prove.
#include <fmt/format.h>

#include <map>
#include <numeric>

#include "model/clock_exchange.h"
#include "store/clickhouse/store_impl.h"

namespace wf::store::clickhouse {
namespace {

// Beyond so many rows, counting without doubles is done by a sketch (within 1 %): the exact set of them would need
// gigabytes on the server for a figure that people glance at.
constexpr int64_t kExactRows = 20'000'000;

}  // namespace

Result<int64_t> ClickhouseStore::ReadDiskBytes() {
  int64_t total = 0;
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_ASSIGN(const std::string answer,
              client_.Ask(shard, "weighing the store",
                          fmt::format("SELECT toInt64(sum(bytes_on_disk)) FROM system.parts WHERE "
                                      "active AND database = {} FORMAT RowBinary",
                                      clickhouse::Quote(client_.url().database))));
    total += clickhouse::RowReader(answer).Number<int64_t>();
  }
  return total;
}

Result<StoreStatus> ClickhouseStore::ReadStatus(const std::string& tenant) {
  StoreStatus out;
  const std::string mine = "tenant = " + clickhouse::Quote(tenant);
  {
    WF_ASSIGN(const std::string answer,
              client_.AskAny("counting traces",
                             fmt::format("SELECT toInt64(uniqExact(trace_hi, trace_lo)), "
                                         "min(first_ns), max(latest_ns) FROM {} WHERE {} FORMAT "
                                         "RowBinary",
                                         names_.All("pieces"), mine)));
    clickhouse::RowReader reader(answer);
    out.traces = reader.Number<int64_t>();
    out.oldest_ns = reader.Number<int64_t>();
    out.newest_ns = reader.Number<int64_t>();
    if (out.traces == 0) out.oldest_ns = out.newest_ns = 0;
    WF_TRY(reader.status());
  }
  {
    WF_ASSIGN(
        const std::string rows,
        client_.AskAny("counting rows", fmt::format("SELECT toInt64(count()) FROM {} WHERE {} "
                                                    "FORMAT RowBinary",
                                                    names_.All("events"), mine)));
    const int64_t stored = clickhouse::RowReader(rows).Number<int64_t>();
    const char* const count = stored > kExactRows ? "uniqCombined" : "uniqExact";
    if (stored > kExactRows) out.counters["counted_by_sketch"] = 1;
    WF_ASSIGN(const std::string answer,
              client_.AskAny(
                  "counting events",
                  fmt::format("SELECT toInt64({0}(trace_hi, trace_lo, id1, content_hi, "
                              "content_lo)), toInt64({0}If(trace_hi, trace_lo, id1, content_hi, "
                              "content_lo, type != 0)) FROM {1} WHERE {2} FORMAT RowBinary",
                              count, names_.All("events"), mine)));
    clickhouse::RowReader reader(answer);
    out.events = reader.Number<int64_t>();
    out.spans = out.events - reader.Number<int64_t>();
    WF_TRY(reader.status());
  }
  WF_ASSIGN(out.disk_bytes, ReadDiskBytes());
  WF_TRY(CountRows(tenant, out));
  const clickhouse::ClientCounts& wire = client_.counts();
  out.counters["clickhouse_requests"] = wire.requests;
  out.counters["clickhouse_retries"] = wire.retries;
  out.counters["clickhouse_bytes_sent"] = wire.bytes_sent;
  out.counters["clickhouse_bytes_received"] = wire.bytes_received;
  const std::lock_guard lock(mutex_);
  out.pending_rows = static_cast<int64_t>(queue_rows_ + rows_under_way_);
  for (const auto& [name, value] : Counters()) out.counters[name] += value;
  return out;
}

// Only traces that more than one host saw can tell; of these the few columns that do.
Result<std::vector<ClockExchange>> ClickhouseStore::ReadExchanges(const std::string& tenant,
                                                                  TimeRange time) {
  // A call belongs to the window in which it was asked; its other events may lie in a neighbour.
  const Nanos from = SaturatingSub(time.from, 2 * kClockWindow);
  const Nanos until = SaturatingAdd(time.until, 2 * kClockWindow);
  const std::string condition = fmt::format(
      " AND (trace_hi, trace_lo) IN (SELECT trace_hi, trace_lo FROM {} WHERE tenant = {} AND "
      "first_ns <= {} AND latest_ns >= {} GROUP BY trace_hi, trace_lo HAVING "
      "length(arrayFilter(h -> h != '', groupUniqArrayArray(hosts))) > 1)",
      names_.Local("pieces"), clickhouse::Quote(tenant), until, from);
  clickhouse::EventColumns columns;
  columns.origins = columns.points = columns.rest = false;
  columns.keys = {"wherefore.async"};
  std::map<std::tuple<std::string, std::string, Nanos>, std::pair<Nanos, int64_t>> least;
  WF_TRY(ReadSlices(tenant, condition, columns, [&](const EventBatch& batch) {
    std::vector<uint32_t> rows(batch.size());
    std::iota(rows.begin(), rows.end(), 0u);
    ExchangeTable table;
    CollectExchanges(batch, rows, table);
    for (const ClockExchange& e : table.Exchanges()) {
      if (SaturatingAdd(e.window_ns, kClockWindow) <= time.from || e.window_ns >= time.until)
        continue;
      const auto [it, added] =
          least.try_emplace({e.from_host, e.to_host, e.window_ns}, e.least_ns, 0);
      it->second.first = std::min(it->second.first, e.least_ns);
      it->second.second += e.count;
    }
    return true;
  }));
  std::vector<ClockExchange> out;
  for (const auto& [key, value] : least) {
    out.push_back(
        {std::get<0>(key), std::get<1>(key), std::get<2>(key), value.first, value.second});
  }
  return out;
}

}  // namespace wf::store::clickhouse
