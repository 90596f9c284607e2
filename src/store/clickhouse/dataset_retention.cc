// Retention of rows. Rows that are too old are hidden at once, by a record in the log; the server deletes them when it
// pays: whole partitions, or when a quarter of a shard's rows would go, because deleting some rows of a part writes all
// of it anew. Thinning is one mutation that deletes nine rows in ten and gives the tenth their weight, part by part, so
// that a sum over both kinds of parts is right at any instant.
//
// Mutations hold no subqueries: 18.16 takes them and then fails to run them, for ever.
#include <fmt/format.h>

#include <algorithm>

#include "store/clickhouse/dataset_sql.h"
#include "store/clickhouse/datasets.h"
#include "store/clickhouse/mutation.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/sql_text.h"

namespace wf::store::clickhouse {
namespace {

constexpr Nanos kPartition = 30 * kDay;  // dataset_tables.cc
constexpr int64_t kWorthIt = 4;          // one row in so many must go
constexpr Nanos kVacuumEvery = 10 * kMinute;
// No write takes so long, and no query.
constexpr Nanos kUnderWay = kHour;
// In one mutation: a longer list takes the server longer to read than the rows (10,000: a second).
constexpr size_t kTracesAtOnce = 10'000;
constexpr size_t kTracesOfAPass = 100'000;
// A file is some kilobytes whatever it holds: trimming a smaller table than this frees nothing.
constexpr int64_t kTrimmedBytes = 4 << 20;
// Trimmed to so much of what is allowed, so that it need not be done again at once.
constexpr double kTrimmedShare = 0.7;

std::string Int(int64_t value) {
  return value == INT64_MIN ? "(toInt64(-9223372036854775807) - 1)" : fmt::format("{}", value);
}

}  // namespace

Result<int64_t> Datasets::CountWhere(const DatasetState& state, const std::string& condition) {
  const CountingRows rows = RowsThatCount(state, names_);
  WF_ASSIGN(const std::string answer,
            client_.AskAny("counting rows of a dataset",
                           fmt::format("SELECT toInt64(count()) FROM {} WHERE {} AND {} FORMAT "
                                       "RowBinary",
                                       rows.from, rows.where, condition)));
  return RowReader(answer).Number<int64_t>();
}

Status Datasets::Retain(const std::string& tenant, const std::string& dataset,
                        const RowRetention& retention) {
  WF_ASSIGN(DatasetState state, log_.Read(tenant, dataset, process_));
  if (!state.exists) return {};
  WF_TRY(SaveUses());
  const Nanos now = Now();
  if (retention.max_age_ns) {
    WF_TRY(HideOld(state, SaturatingSub(now, *retention.max_age_ns)));
    WF_ASSIGN(state, log_.Read(tenant, dataset, process_));
    if (!state.exists) return {};
    WF_TRY(DeleteHidden(state));
  }
  if (retention.subsample_after_ns && retention.keep_one_in > 1)
    WF_TRY(Thin(state, SaturatingSub(now, *retention.subsample_after_ns), retention.keep_one_in));
  if (!VacuumIsDue(state)) return {};
  return Vacuum(state, static_cast<uint64_t>(std::max<Nanos>(now - kUnderWay, 0)));
}

Status Datasets::HideOld(const DatasetState& state, Nanos oldest) {
  WF_ASSIGN(const int64_t old, CountWhere(state, fmt::format("time_ns < {}", Int(oldest))));
  if (old == 0) return {};
  if (!state.kept_from || *state.kept_from <= oldest) return log_.SetKeptFrom(state, oldest);
  // Rows are kept longer than before: what was hidden stays hidden, what came since is deleted by itself.
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_TRY(Mutate(client_, names_, shard, "deleting old rows of a dataset", state.rows_table(),
                  fmt::format("DELETE WHERE time_ns < {} AND written <= {}", Int(oldest),
                              state.last_written)));
  }
  return {};
}

Status Datasets::DeleteHidden(const DatasetState& state) {
  if (!state.kept_from) return {};
  const std::string table = names_.Local(state.rows_table());
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_ASSIGN(
        const std::string answer,
        client_.Ask(shard, "looking for old rows of a dataset",
                    fmt::format("SELECT toInt64(intDiv(greatest(least(time_ns, "
                                "4102444800000000000), 946684800000000000), {0})) AS part, "
                                "toInt64(countIf(written <= {1})), toInt64(count()) FROM {2} "
                                "WHERE time_ns < {3} GROUP BY part FORMAT RowBinary",
                                kPartition, state.kept_written, table, Int(*state.kept_from))));
    int64_t left = 0;
    RowReader reader(answer);
    while (reader.more()) {
      const auto part = reader.Number<int64_t>(), hidden = reader.Number<int64_t>(),
                 all = reader.Number<int64_t>();
      WF_TRY(reader.status());
      const bool whole = (part + 1) * kPartition <= *state.kept_from && hidden == all;
      if (!whole) {
        left += hidden;
        continue;
      }
      WF_TRY(client_.Run(shard, "dropping old rows of a dataset",
                         fmt::format("ALTER TABLE {} DROP PARTITION {}", table, part)));
    }
    if (left == 0) continue;
    WF_ASSIGN(const std::string counted,
              client_.Ask(shard, "counting rows of a dataset",
                          fmt::format("SELECT toInt64(count()) FROM {} FORMAT RowBinary", table)));
    if (left * kWorthIt < RowReader(counted).Number<int64_t>()) continue;
    WF_TRY(Mutate(client_, names_, shard, "deleting old rows of a dataset", state.rows_table(),
                  fmt::format("DELETE WHERE time_ns < {} AND written <= {}", Int(*state.kept_from),
                              state.kept_written)));
  }
  return {};
}

Status Datasets::Thin(const DatasetState& state, Nanos before, int64_t keep_one_in) {
  const std::string dense = fmt::format("weight = 1 AND time_ns < {}", Int(before));
  WF_ASSIGN(const int64_t many, CountWhere(state, dense));
  if (many == 0) return {};
  WF_ASSIGN(const int64_t all, CountWhere(state, "1 = 1"));
  if ((many - many / keep_one_in) * kWorthIt < all) return {};
  // Said first: from then on weights are looked at, and a row's weight is 1 until its part has been thinned.
  WF_TRY(log_.SetSampledBefore(state, std::max(before, state.sampled_before.value_or(INT64_MIN))));
  // Which rows stay is decided by a hash of what names them: the same every time.
  const std::string chosen =
      fmt::format("{} AND written <= {} AND cityHash64(trace_hi, trace_lo, row_key) % {}", dense,
                  state.last_written, keep_one_in);
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_TRY(Mutate(client_, names_, shard, "thinning rows of a dataset", state.rows_table(),
                  fmt::format("DELETE WHERE {0} != 0, UPDATE weight = {1} WHERE {0} = 0", chosen,
                              keep_one_in)));
  }
  return {};
}

bool Datasets::VacuumIsDue(const DatasetState& state) {
  const std::lock_guard lock(mutex_);
  const Nanos now = MonotonicNow();
  const auto [last, first_time] = vacuumed_.try_emplace(state.rows_table(), now);
  if (first_time || now - last->second < kVacuumEvery) return false;
  last->second = now;
  return true;
}

Status Datasets::Vacuum(const DatasetState& state, uint64_t before) {
  const std::string rows = names_.Local(state.rows_table());
  const std::string committed = CommittedSql(state);
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    const auto count = [&](const std::string& sql) -> Result<int64_t> {
      WF_ASSIGN(const std::string answer, client_.Ask(shard, "looking for dead rows", sql));
      return RowReader(answer).Number<int64_t>();
    };
    WF_ASSIGN(const int64_t abandoned,
              count(fmt::format("SELECT toInt64(count()) FROM {} WHERE written < {} AND NOT ({}) "
                                "FORMAT RowBinary",
                                rows, before, committed)));
    if (abandoned != 0) {
      WF_TRY(Mutate(client_, names_, shard, "deleting rows of writes that failed",
                    state.rows_table(),
                    fmt::format("DELETE WHERE written < {} AND NOT ({})", before, committed)));
    }
    if (!state.replaced) continue;
    // Replacements that are old enough, of rows that are still there.
    const std::string replacements = names_.Local(state.replacements_table());
    WF_ASSIGN(
        const std::string answer,
        client_.Ask(shard, "looking for replaced rows",
                    fmt::format("SELECT cityHash64(trace_hi, trace_lo) AS key, trace_lo, "
                                "max(replaced) FROM {0} ALL INNER JOIN (SELECT trace_hi, trace_lo, "
                                "max(written) AS replaced FROM {1} WHERE {2} AND written < {3} "
                                "GROUP BY trace_hi, trace_lo) AS replacements USING (trace_hi, "
                                "trace_lo) WHERE written < replaced GROUP BY key, trace_lo LIMIT "
                                "{4} FORMAT RowBinary",
                                rows, replacements, committed, before, kTracesOfAPass)));
    RowReader reader(answer);
    size_t traces = 0;
    while (reader.more()) {
      std::string keys, low, replaced;
      for (size_t i = 0; i < kTracesAtOnce && reader.more(); ++i, ++traces) {
        const char* comma = i == 0 ? "" : ",";
        keys += fmt::format("{}{}", comma, reader.Number<uint64_t>());
        low += fmt::format("{}{}", comma, reader.Number<uint64_t>());
        replaced += fmt::format("{}{}", comma, reader.Number<uint64_t>());
      }
      WF_TRY(reader.status());
      // Long lists of tuples take the server very long; these are read at once. Two keys, because one could be another's.
      WF_TRY(Mutate(client_, names_, shard, "deleting replaced rows", state.rows_table(),
                    fmt::format("DELETE WHERE written < transform(cityHash64(trace_hi, trace_lo), "
                                "[{0}], [{2}], toUInt64(0)) AND "
                                "transform(trace_lo, [{1}], [{2}], toUInt64(0)) "
                                "!= 0",
                                keys, low, replaced)));
    }
    if (traces == kTracesOfAPass) continue;  // the rest, and its replacements, next time
    WF_ASSIGN(const int64_t done, count(fmt::format("SELECT toInt64(count()) FROM {} WHERE written "
                                                    "< {} FORMAT RowBinary",
                                                    replacements, before)));
    if (done != 0)
      WF_TRY(Mutate(client_, names_, shard, "deleting replacements", state.replacements_table(),
                    fmt::format("DELETE WHERE written < {}", before)));
  }
  return {};
}

Result<std::map<std::string, int64_t>> Datasets::WeighTables() {
  std::map<std::string, int64_t> bytes;
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_ASSIGN(const std::string answer,
              client_.Ask(shard, "weighing datasets",
                          fmt::format("SELECT table, toUInt64(sum(bytes)) FROM system.parts WHERE "
                                      "database = {} AND active AND substring(table, 1, 5) = "
                                      "'rows_' GROUP BY table FORMAT RowBinary",
                                      Quote(client_.url().database))));
    RowReader reader(answer);
    while (reader.more()) {
      const std::string table(reader.Text());
      bytes[table] += static_cast<int64_t>(reader.Number<uint64_t>());
    }
    WF_TRY(reader.status());
  }
  return bytes;
}

Result<std::vector<std::string>> Datasets::Tenants() {
  WF_ASSIGN(const std::string answer,
            client_.Ask(kHomeShard, "listing tenants with datasets",
                        fmt::format("SELECT DISTINCT tenant FROM {} FORMAT RowBinary",
                                    names_.Local("dataset_log"))));
  std::vector<std::string> out;
  RowReader reader(answer);
  while (reader.more()) out.emplace_back(reader.Text());
  WF_TRY(reader.status());
  return out;
}

Result<std::map<std::string, int64_t>> Datasets::BytesByTenant() {
  WF_ASSIGN(auto bytes, WeighTables());
  WF_ASSIGN(const auto tenants, Tenants());
  std::map<std::string, int64_t> out;
  for (const std::string& tenant : tenants) {
    WF_ASSIGN(const auto states, log_.ReadAll(tenant, process_));
    for (const DatasetState& state : states)
      out[tenant] += bytes[state.rows_table()] + bytes[state.replacements_table()];
  }
  return out;
}

Result<int64_t> Datasets::TrimTo(int64_t most) {
  WF_ASSIGN(const auto bytes, WeighTables());
  int64_t total = 0, deleted = 0;
  for (const auto& [table, weight] : bytes) total += weight;
  if (total <= most) return deleted;
  const double gone = 1 - kTrimmedShare * static_cast<double>(most) / static_cast<double>(total);
  WF_ASSIGN(const auto tenants, Tenants());
  for (const std::string& tenant : tenants) {
    WF_ASSIGN(const auto states, log_.ReadAll(tenant, process_));
    for (const DatasetState& state : states) {
      const auto weight = bytes.find(state.rows_table());
      if (weight == bytes.end() || weight->second < kTrimmedBytes) continue;
      const CountingRows rows = RowsThatCount(state, names_);
      WF_ASSIGN(const std::string quantile,
                client_.AskAny("weighing datasets",
                               fmt::format("SELECT toInt64(count()), toInt64(quantile({})(time_ns))"
                                           " FROM {} WHERE {} FORMAT RowBinary",
                                           gone, rows.from, rows.where)));
      RowReader reader(quantile);
      const auto before = reader.Number<int64_t>(), time = reader.Number<int64_t>();
      if (before == 0) continue;
      WF_TRY(HideOld(state, SaturatingAdd(time, 1)));
      WF_ASSIGN(const DatasetState now, log_.Read(state.tenant, state.dataset, process_));
      WF_TRY(DeleteHidden(now));
      WF_ASSIGN(const int64_t after, CountWhere(now, "1 = 1"));
      deleted += std::max<int64_t>(0, before - after);
    }
  }
  return deleted;
}

}  // namespace wf::store::clickhouse
