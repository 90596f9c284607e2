// bench_features [--traces N] [--depth N] [--seed N]
//
// Features of the feature language against the same features written as SQL over a table of spans in DuckDB, in one
// run: the same seeded traces, both in memory, one thread each. Each is timed from its own form of the spans: ours from
// traces just modeled, as the tailer does, DuckDB from a table of narrow columns with integer ids. Modeling, which
// happens once for the features of all datasets, is timed apart, and the last line has it in. Traces are about as large
// as Canopy's of backend services (160 events, §4.3); --depth makes them larger.
// Every feature of every trace is compared: a ratio over different answers would say nothing.
#include <fmt/format.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "lang/feature/dataset_plan.h"
#include "model/trace_builder.h"
#include "store/duckdb/bare_query.h"

namespace {

using namespace wf;

constexpr int kServices = 8;

[[noreturn]] void Die(const std::string& what) {
  fmt::print(stderr, "bench_features: {}\n", what);
  std::exit(3);
}
// CPU time of the process: on a shared machine the wall clock measures the neighbours.
double Seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// One batch per trace, and the same spans as lines of CSV.
class Traces {
 public:
  Traces(uint64_t seed, int traces, int depth) : state_(seed), depth_(depth) {
    for (int t = 0; t < traces; ++t) {
      batch_ = std::make_unique<EventBatch>();
      batch_->scopes.push_back({});
      for (int s = 0; s < kServices; ++s)
        batch_->processes.push_back(
            {batch_->strings.Intern(fmt::format("service-{}", s)), 0, 0, 0});
      trace_ = t + 1;
      next_id_ = 1;
      AddSpan(0, 0, kSecond * 10, 1);
      spans += batch_->size();
      batches.push_back(std::move(batch_));
    }
  }

  std::vector<std::unique_ptr<EventBatch>> batches;
  std::string csv = "trace,span,parent,start_ns,end_ns,service,name\n";
  size_t spans = 0;

 private:
  uint64_t Random() { return state_ = MixBits(state_ + 0x9e3779b97f4a7c15ull); }

  // Children one after the other with pauses between them; beside every third one a shorter one that starts with it.
  void AddSpan(uint64_t parent, Nanos start, Nanos end, int depth) {
    const uint64_t id = next_id_++;
    const auto service = static_cast<uint32_t>(Random() % kServices);
    const std::string name = fmt::format("op-{}", Random() % 5);
    EventBatch& b = *batch_;
    b.AddRow();
    b.trace_lo.back() = static_cast<uint64_t>(trace_);
    b.id1.back() = id;
    b.id2.back() = parent;
    b.parent_ref.back() = parent == 0 ? ParentRef::kNone : ParentRef::kChildOf;
    b.start_ns.back() = start;
    b.end_ns.back() = end;
    b.marks.back() = kHasStart | kHasEnd;
    b.kind.back() = SpanKind::kInternal;
    b.process.back() = service;
    b.name.back() = b.strings.Intern(name);
    csv += fmt::format("{},{},{},{},{},service-{},{}\n", trace_, id,
                       parent == 0 ? "" : std::to_string(parent), start, end, service, name);
    if (depth >= depth_) return;
    const auto children = static_cast<Nanos>(1 + Random() % 3);
    const Nanos slot = (end - start) / children;
    for (Nanos c = 0; c < children; ++c) {
      const Nanos from = start + c * slot + slot / 10, to = start + (c + 1) * slot - slot / 10;
      AddSpan(id, from, to, depth + 1);
      if (c % 3 == 0) AddSpan(id, from, from + (to - from) / 2, depth_);
    }
  }

  uint64_t state_;
  int depth_;
  int trace_ = 0;
  uint64_t next_id_ = 1;
  std::unique_ptr<EventBatch> batch_;
};

struct Feature {
  const char* title;
  const char* program;
  const char* sql;  // trace first, then a column for each recorded one, whole numbers, by trace
  bool structural;
};

// The SQL is what one would write with a recursive query; both engines are given the best form found.
constexpr Feature kFeatures[] = {
    {"flat: spans, time and services of a trace",
     R"(Blocks | Count | RecordAs("spans")
        Blocks | Duration | Sum | RecordAs("time")
        Blocks | Label(service) | Distinct | Count | RecordAs("services"))",
     R"(SELECT trace, count(*)::BIGINT, sum(end_ns - start_ns)::BIGINT, count(DISTINCT service)::BIGINT
        FROM spans GROUP BY trace ORDER BY trace)",
     false},
    {"ancestors: depth, spans below a service-0",
     R"(Depths = Blocks | Map(It | Ancestors | Count)
        Depths | Max | RecordAs("depth")
        Blocks | Filter(service = "service-0") | Descendants | Count | RecordAs("below"))",
     R"(WITH RECURSIVE up(trace, span, above, depth, below) AS (
          SELECT trace, span, parent, 0, false FROM spans
          UNION ALL
          SELECT u.trace, u.span, p.parent, u.depth + 1, u.below OR p.service = 'service-0'
          FROM up u JOIN spans p ON p.trace = u.trace AND p.span = u.above)
        SELECT trace, max(depth)::BIGINT, count(DISTINCT span) FILTER (WHERE below)::BIGINT
        FROM up GROUP BY trace ORDER BY trace)",
     true},
    {"critical path: its time in service-0, its longest piece",
     R"(Path = CriticalPath
        Path | Blocks | Filter(service = "service-0") | Duration | Sum | RecordAs("time")
        Path | Segments | Duration | Max | RecordAs("longest"))",
     R"(WITH RECURSIVE walk(trace, span, service, lo, t, own_from) AS (
          -- own_from: where this step's own time begins; the child that ended the wait ended there
          SELECT trace, span, service, start_ns, end_ns, NULL::BIGINT FROM spans WHERE parent IS NULL
          UNION ALL
          SELECT trace, unnest([span, child.span, span]), unnest([service, child.service, service]),
                 unnest([lo, child.start_ns, lo]),
                 unnest([child.start_ns, child.end_ns, t]),
                 unnest([NULL, NULL, child.end_ns])
          FROM (SELECT w.trace, w.span, w.service, w.lo, w.t,
                       arg_max({span: c.span, service: c.service, start_ns: c.start_ns, end_ns: c.end_ns},
                               c.end_ns) AS child
                FROM walk w JOIN spans c ON c.trace = w.trace AND c.parent = w.span
                                        AND c.start_ns < w.t AND c.end_ns <= w.t
                WHERE w.own_from IS NULL
                GROUP BY w.trace, w.span, w.service, w.lo, w.t)),
        pieces AS (
          SELECT trace, service, t - own_from AS ns FROM walk WHERE own_from IS NOT NULL
          UNION ALL
          SELECT trace, service, t - lo FROM walk w WHERE own_from IS NULL
            AND NOT EXISTS (SELECT 1 FROM spans c WHERE c.trace = w.trace AND c.parent = w.span
                                                  AND c.start_ns < w.t AND c.end_ns <= w.t))
        SELECT trace, coalesce(sum(ns) FILTER (WHERE service = 'service-0'), 0)::BIGINT, max(ns)::BIGINT
        FROM pieces WHERE ns > 0 GROUP BY trace ORDER BY trace)",
     true},
};

using Table = std::vector<std::vector<int64_t>>;  // by trace

struct OurTime {
  double modeling = 0, extracting = 0;
};

Table RunOurs(const Traces& traces, const feature::DatasetPlan& plan, OurTime& time) {
  DatasetTable table = plan.NewTable();
  time = {};
  double lap = Seconds();
  for (const auto& batch : traces.batches) {
    const Trace trace = BuildTrace(*batch);
    const double modeled = Seconds();
    if (plan.Extract(trace, table).kind != feature::ExtractOutcome::Kind::kExtracted)
      Die("a trace gave no row");
    time.modeling += modeled - lap;
    lap = Seconds();
    time.extracting += lap - modeled;
  }
  Table out(table.rows());
  for (size_t row = 0; row < out.size(); ++row) {
    for (size_t c = FixedDatasetColumns().size(); c < table.columns.size(); ++c)
      out[row].push_back(table.columns[c].numbers[row]);
  }
  return out;
}

Table RunSql(store::duckdb::BareQuery& engine, const char* sql) {
  auto rows = engine.Integers(sql);
  if (!rows.ok()) Die(rows.error().message);
  for (std::vector<int64_t>& row : *rows) row.erase(row.begin());  // the trace
  return std::move(rows).value();
}

// The best of some rounds: what others on the machine do only adds.
template <typename Work>
double Best(const Work& work) {
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double begin = Seconds();
    work();
    best = std::min(best, Seconds() - begin);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  int traces_wanted = 1000, depth = 7;
  uint64_t seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--traces") == 0) traces_wanted = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--depth") == 0) depth = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--seed") == 0) seed = static_cast<uint64_t>(std::atoll(argv[i + 1]));
  }
  const Traces traces(seed, traces_wanted, depth);
  auto engine = store::duckdb::BareQuery::Open();
  if (!engine.ok()) Die(engine.error().message);
  const std::string file = (std::filesystem::temp_directory_path() /
                            fmt::format("bench_features_{}.csv", MonotonicNow()))
                               .string();
  std::ofstream(file) << traces.csv;
  const Status loaded = (*engine)->Run(
      "CREATE TABLE spans AS SELECT trace::BIGINT AS trace, span::BIGINT AS span, "
      "parent::BIGINT AS parent, start_ns::BIGINT AS start_ns, end_ns::BIGINT AS "
      "end_ns, service, name FROM read_csv_auto('" +
      file + "') ORDER BY trace, span");
  std::filesystem::remove(file);
  if (!loaded.ok()) Die(loaded.error().message);

  fmt::print("{} traces, {} spans, {:.0f} a trace; one thread each, CPU time, best of 3\n",
             traces_wanted, traces.spans, static_cast<double>(traces.spans) / traces_wanted);
  fmt::print("{:<58}{:>12}{:>12}{:>8}\n", "features", "ours ms", "DuckDB ms", "ratio");
  double modeling = 1e9, our_sum = 0, their_sum = 0;
  bool all_fast = true;
  for (const Feature& feature : kFeatures) {
    const auto compiled = feature::DatasetPlan::Compile({"", "", feature.program, {}}, {});
    if (!compiled.plan) Die(compiled.diagnostics[0].diagnostic.message);
    Table ours, theirs;
    double our_time = 1e9;
    for (int round = 0; round < 3; ++round) {
      OurTime time;
      ours = RunOurs(traces, *compiled.plan, time);
      our_time = std::min(our_time, time.extracting);
      modeling = std::min(modeling, time.modeling);
    }
    const double their_time = Best([&] { theirs = RunSql(**engine, feature.sql); });
    if (ours != theirs) Die(std::string("the answers differ: ") + feature.title);
    const double ratio = their_time / our_time;
    our_sum += our_time;
    their_sum += their_time;
    all_fast = all_fast && (!feature.structural || ratio >= 5);
    fmt::print("{:<58}{:>12.1f}{:>12.1f}{:>7.1f}x{}\n", feature.title, our_time * 1e3,
               their_time * 1e3, ratio, feature.structural ? " (structural: at least 5)" : "");
  }
  our_sum += modeling;
  fmt::print("{:<58}{:>12.1f}\n", "modeling the traces, once", modeling * 1e3);
  fmt::print("{:<58}{:>12.1f}{:>12.1f}{:>7.1f}x\n", "all of it", our_sum * 1e3, their_sum * 1e3,
             their_sum / our_sum);
  if (!all_fast) Die("a structural feature is less than 5 times as fast");
  return 0;
}
