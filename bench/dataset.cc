// bench/dataset: questions about a large dataset, through the store and through the bare engine with the same SQL over the
// same rows, in one run. The figure: a percentile by group over 50 million rows in at most twice the engine's time.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/hash.h"
#include "lang/common/condition.h"
#include "store/duckdb/bare_rows.h"
#include "store/duckdb/duckdb_store.h"

namespace wf {
namespace {

struct Options {
  uint64_t rows = 2'000'000;
  std::string directory = "build/bench-dataset";
  int repeat = 3;
  uint64_t seed = 1;
};

constexpr uint64_t kBatch = 200'000;

// Rows as traces of a shop give them: 20 services, 200 operations, latencies over several decades.
DatasetTable MakeRows(uint64_t from, uint64_t until, uint64_t seed) {
  DatasetTable table;
  for (const ColumnDefinition& column : FixedDatasetColumns())
    table.columns.emplace_back().definition = column;
  for (const ColumnDefinition& column : {ColumnDefinition{"service", ColumnType::kText},
                                         ColumnDefinition{"operation", ColumnType::kText},
                                         ColumnDefinition{"duration_ns", ColumnType::kInt},
                                         ColumnDefinition{"error", ColumnType::kBool}})
    table.columns.emplace_back().definition = column;
  for (uint64_t i = from; i < until; ++i) {
    uint64_t state = MixBits(seed * 1'000'003 + i);
    const auto random = [&state] { return state = MixBits(state + 0x9E3779B97F4A7C15ull); };
    const uint64_t operation = random() % 200;
    table.columns[0].AppendText(ToHex(TraceId{random(), random()}));
    table.columns[1].AppendInt(1'700'000'000 * kSecond + static_cast<Nanos>(i) * kMilli);
    table.columns[2].AppendText(ToHex64(i));
    table.columns[3].AppendInt(1);
    table.columns[4].AppendText(fmt::format("service-{}", operation % 20));
    table.columns[5].AppendText(fmt::format("GET /operation/{}", operation));
    table.columns[6].AppendInt(
        static_cast<int64_t>(100'000 + (random() % 1000) * (random() % 10'000)));
    table.columns[7].AppendInt(random() % 100 == 0 ? 1 : 0);
  }
  return table;
}

struct Case {
  const char* what;
  const char* where;
  const char* group_by;
  const char* agg;
  const char* sql;
};
constexpr Case kCases[] = {
    {"p95 by service", "", "service", "p95(duration_ns)",
     "SELECT service, quantile_disc(duration_ns, 0.95) FROM t GROUP BY service ORDER BY 2 DESC"},
    {"p50, p99 by operation", "", "operation", "p50(duration_ns), p99(duration_ns)",
     "SELECT operation, quantile_disc(duration_ns, 0.5), quantile_disc(duration_ns, 0.99) FROM t "
     "GROUP BY operation ORDER BY 2 DESC"},
    {"count, mean by service", "", "service", "count, mean(duration_ns)",
     "SELECT service, count(*), avg(duration_ns) FROM t GROUP BY service ORDER BY 2 DESC"},
    {"errors of one service", "service = \"service-3\" and error = true", "operation", "count",
     "SELECT operation, count(*) FROM t WHERE service = 'service-3' AND error = 1 GROUP BY "
     "operation "
     "ORDER BY 2 DESC"},
};

Status Run(const Options& options) {
  std::filesystem::remove_all(options.directory);
  std::filesystem::create_directories(options.directory);
  WF_ASSIGN(auto store, store::duckdb::OpenDuckdbStore(options.directory + "/store"));
  WF_ASSIGN(auto bare, store::duckdb::BareRows::Open(options.directory + "/bare.duckdb"));
  Nanos writing = 0;
  for (uint64_t from = 0; from < options.rows; from += kBatch) {
    const DatasetTable rows = MakeRows(from, std::min(options.rows, from + kBatch), options.seed);
    const Nanos before = MonotonicNow();
    WF_TRY(store->WriteRows("default", "calls", rows));
    writing += MonotonicNow() - before;
    WF_TRY(bare->Add(rows));
  }
  WF_TRY(bare->Settle());
  WF_ASSIGN(const auto status, store->ReadDatasets("default"));
  fmt::print("{} rows; written in {:.2f} µs a row, durable; {:.1f} B a row on disk\n\n",
             options.rows, static_cast<double>(writing) / 1e3 / static_cast<double>(options.rows),
             static_cast<double>(status[0].bytes) / static_cast<double>(options.rows));
  fmt::print("{:<26}{:>12}{:>16}{:>8}\n", "best of " + std::to_string(options.repeat), "ours",
             "bare DuckDB", "ratio");
  for (const Case& c : kCases) {
    DatasetQuery query;
    WF_ASSIGN(query.where, lang::ParseConditions(c.where, "where"));
    WF_ASSIGN(query.group_by, lang::ParseKeys(c.group_by, "group-by"));
    WF_ASSIGN(query.aggregates, lang::ParseAggregates(c.agg, "agg"));
    query.order = {{query.aggregates[0].name, SortDirection::kDescending}};
    Nanos ours = INT64_MAX, theirs = INT64_MAX;
    for (int i = 0; i < options.repeat; ++i) {  // in turns, so that a busy moment meets both
      const Nanos before = MonotonicNow();
      WF_TRY(store->QueryRows("default", "calls", query));
      ours = std::min(ours, MonotonicNow() - before);
      WF_ASSIGN(const Nanos time, bare->Time(c.sql));
      theirs = std::min(theirs, time);
    }
    fmt::print("{:<26}{:>9.0f} ms{:>13.0f} ms{:>8.2f}\n", c.what, static_cast<double>(ours) / 1e6,
               static_cast<double>(theirs) / 1e6,
               static_cast<double>(ours) / static_cast<double>(theirs));
  }
  store.reset();
  bare.reset();
  std::filesystem::remove_all(options.directory);
  return {};
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) {
  wf::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--rows") {
      options.rows = std::stoull(value);
    } else if (flag == "--store") {
      options.directory = value;
    } else if (flag == "--repeat") {
      options.repeat = std::stoi(value);
    } else if (flag == "--seed") {
      options.seed = std::stoull(value);
    } else {
      fmt::print(stderr, "bench_dataset [--rows N] [--repeat N] [--seed N] [--store DIRECTORY]\n");
      return 2;
    }
  }
  const wf::Status status = wf::Run(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_dataset: {}\n", status.error().message);
  return 3;
}
