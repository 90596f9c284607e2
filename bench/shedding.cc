// bench/shedding: load shedding (Canopy §5.2, figure 10), with time scaled 1:60, so that a second here is a minute there.
// Four owners send traces; the load of one, mobile, steps up at 10, 40 and 70 and is normal again at 115; the run ends at
// 160. The same without the steps is the control. Asserted:
//   - no trace of another owner goes to the delayed queue;
//   - each scaled minute has at least 99% of the other owners' rows of the control;
//   - the delayed queue is empty before 160.
//
// Events, store, cache, triggers (10 s after the first event), modeling, queues (5 traces), fair sharing, the delayed
// queue and writing are the real ones. An extraction, though, is made to take a fixed CPU time, by computing until the
// thread's clock says so: the figure is about sharing a processor, and loads can then be told in shares of it. Rows are
// kept in memory. The load is given in shares of one processor: what the one extractor thread has.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "pipeline/pipeline.h"
#include "store/duckdb/duckdb_store.h"
#include "svg_panels.h"
#include "tailer_load.h"

namespace wf {
namespace {

constexpr int kLength = 160;                    // scaled minutes
constexpr double kSteps[] = {10, 40, 70, 115};  // of mobile's load
constexpr Nanos kExtractionCpu = 4 * kMilli;
constexpr size_t kEvents = 40;  // of a trace
const std::vector<std::string> kOwners = {"mobile", "web", "search", "ads"};

struct Options {
  std::string directory = "build/bench-shedding";
  std::string plot = "build/shedding.svg";
  double scale = 1;  // of the length: smaller for a quick look, without the assertions
  // Shares of a processor: each other owner's; mobile's before the first step, and after each.
  double others = 0.1;
  double mobile[5] = {0.1, 0.25, 0.9, 1.6, 0.1};
};

double MobileLoad(const Options& options, double t, bool stepping) {
  size_t step = 0;
  while (stepping && step < std::size(kSteps) && t >= kSteps[step]) ++step;
  return options.mobile[step];
}

// One dataset an owner, for the traces of his service; the row says when the trace started.
class FixedCostDatasets : public pipeline::DatasetSource {
 public:
  FixedCostDatasets() {
    auto list = std::make_shared<pipeline::TailedDatasets>();
    for (const std::string& owner : kOwners) {
      pipeline::TailedDataset dataset;
      dataset.name = dataset.owner = owner;
      dataset.new_table = [] {
        DatasetTable table;
        table.columns.resize(1);
        table.columns[0].definition = {"time_ns", ColumnType::kInt};
        return table;
      };
      dataset.wants = [owner](const Trace& trace) {
        return !trace.blocks.empty() && trace.service(trace.blocks[trace.main_root()]) == owner;
      };
      dataset.extract = [wants = dataset.wants](const Trace& trace, DatasetTable& table) {
        if (!wants(trace)) return;
        const Nanos until = pipeline::ThreadCpuNow() + kExtractionCpu;
        while (pipeline::ThreadCpuNow() < until) {
        }
        table.columns[0].AppendInt(trace.start_ns);
      };
      list->push_back(std::move(dataset));
    }
    list_ = std::move(list);
  }
  std::shared_ptr<const pipeline::TailedDatasets> Deployed(const std::string&) override {
    return list_;
  }

 private:
  std::shared_ptr<const pipeline::TailedDatasets> list_;
};

// Counts rows by owner and by the second in which their trace started.
class CountedRows : public pipeline::RowSink {
 public:
  explicit CountedRows(Nanos start) : start_(start) {}
  Status Write(const std::string&, const std::string& dataset, const DatasetTable& rows,
               const std::vector<TraceId>&, store::TimeRange) override {
    const std::lock_guard lock(mutex_);
    for (const int64_t time : rows.columns[0].numbers) {
      const Nanos second = (time - start_) / kSecond;
      if (second >= 0 && second < kLength) ++rows_[dataset][static_cast<size_t>(second)];
    }
    return {};
  }
  std::vector<double> Of(const std::string& dataset) {
    const std::lock_guard lock(mutex_);
    std::vector<double> out(kLength);
    for (const auto& [second, count] : rows_[dataset]) out[second] = count;
    return out;
  }

 private:
  const Nanos start_;
  std::mutex mutex_;
  std::map<std::string, std::map<size_t, double>> rows_;
};

struct Figures {
  // One value a scaled minute.
  std::vector<double> mobile_load, other_load, queue, delayed, lag, backlog;
  std::map<std::string, std::vector<double>> rows;
  std::map<std::string, int64_t> refused;  // traces that found their owner's queue full
  int64_t gone = 0;
};

Result<Figures> Run(const Options& options, bool stepping) {
  std::filesystem::remove_all(options.directory);
  std::filesystem::create_directories(options.directory);
  WF_ASSIGN(const auto store, store::duckdb::OpenDuckdbStore(options.directory + "/store", {}));
  FixedCostDatasets datasets;
  pipeline::TailerOptions tailer_options;
  tailer_options.isolation_queue = 5;
  tailer_options.cache.expiry = 15 * kSecond;
  WF_ASSIGN(pipeline::Trigger trigger, pipeline::ParseTrigger("any 10s after first"));
  tailer_options.cache.triggers = {trigger};
  // Senders' clocks run a minute ahead, so that no trace began before the tailer.
  const Nanos ahead = kMinute;
  const Nanos started = MonotonicNow();
  const Nanos wall = Now() + ahead;
  CountedRows rows(wall);
  WF_ASSIGN(const auto tailer,
            pipeline::Tailer::Start({*store, datasets, rows, options.directory + "/tailer"},
                                    tailer_options));
  store->Listen([&](const std::shared_ptr<const EventBatch>& batch) { tailer->Take(batch); });

  Figures figures;
  std::map<std::string, double> owed;
  std::map<std::string, double> sent;
  int64_t delayed_before = 0;
  double queue_sum = 0;
  int queue_samples = 0;
  uint64_t number = 0;
  int minute = 0;
  const int length = static_cast<int>(kLength * options.scale);
  const Nanos tick = 10 * kMilli;
  for (Nanos next = started; minute < length; next += tick) {
    if (const Nanos now = MonotonicNow(); now < next)
      std::this_thread::sleep_for(std::chrono::nanoseconds(next - now));
    const double t = static_cast<double>(MonotonicNow() - started) / 1e9;
    // Load: evenly spaced traces of each owner, a batch a tick.
    EventBatch batch;
    batch.received_ns = Now();
    for (const std::string& owner : kOwners) {
      const double share = owner == "mobile" ? MobileLoad(options, t, stepping) : options.others;
      owed[owner] += share * static_cast<double>(tick) / static_cast<double>(kExtractionCpu);
      for (; owed[owner] >= 1; owed[owner] -= 1, sent[owner] += 1)
        AddTailedTrace({number++, kEvents, wall + (next - started), owner}, batch);
    }
    if (!batch.empty()) WF_TRY(store->AppendAndWait(std::move(batch)));
    const pipeline::TailerStatus status = tailer->ReadStatus();
    for (const pipeline::OwnerLoad& load : status.owners) {
      if (load.owner != "mobile") continue;
      queue_sum += static_cast<double>(load.queued);
      ++queue_samples;
    }
    if (t < minute + 1) continue;
    figures.mobile_load.push_back(sent["mobile"]);
    figures.other_load.push_back(sent["web"] + sent["search"] + sent["ads"]);
    sent.clear();
    figures.queue.push_back(queue_samples == 0 ? 0 : queue_sum / queue_samples);
    queue_sum = queue_samples = 0;
    const int64_t delayed = status.delayed.delayed();
    figures.delayed.push_back(static_cast<double>(delayed - delayed_before));
    delayed_before = delayed;
    figures.lag.push_back(static_cast<double>(status.delayed_oldest_ns) / 1e9);
    figures.backlog.push_back(static_cast<double>(status.delayed_queue));
    ++minute;
  }
  const pipeline::TailerStatus status = tailer->ReadStatus();
  for (const pipeline::OwnerLoad& load : status.owners) figures.refused[load.owner] = load.refused;
  figures.gone = status.delayed[pipeline::DelayReason::kEventsGone];
  // The last traces' timeouts are over, and their rows written, some time after the last minute.
  std::this_thread::sleep_for(std::chrono::seconds(13));
  store->Listen({});
  tailer->Stop();
  for (const std::string& owner : kOwners) figures.rows[owner] = rows.Of(owner);
  return figures;
}

std::vector<double> OtherRows(const Figures& figures) {
  std::vector<double> sum(kLength);
  for (const std::string& owner : kOwners)
    for (size_t i = 0; owner != "mobile" && i < kLength; ++i) sum[i] += figures.rows.at(owner)[i];
  return sum;
}

int Assert(const Figures& run, const Figures& control) {
  int failures = 0;
  const auto require = [&](bool truth, const std::string& what) {
    fmt::print("{} {}\n", truth ? "ok    " : "not ok", what);
    failures += !truth;
  };
  int64_t others_refused = 0;
  for (const auto& [owner, n] : run.refused) others_refused += owner == "mobile" ? 0 : n;
  require(
      others_refused == 0 && run.gone == 0,
      fmt::format("traces of other owners in the delayed queue: {}; events gone from the cache: {}",
                  others_refused, run.gone));
  require(run.refused.count("mobile") != 0 && run.refused.at("mobile") > 0,
          fmt::format("traces of mobile shed: {}",
                      run.refused.count("mobile") ? run.refused.at("mobile") : 0));
  double least = 1;
  const auto rows = OtherRows(run), expected = OtherRows(control);
  for (size_t i = 0; i < kLength; ++i)
    if (expected[i] > 0) least = std::min(least, rows[i] / expected[i]);
  require(least >= 0.99,
          fmt::format("rows of other owners, worst minute: {:.1f}% of the control", 100 * least));
  int empty_from = kLength;
  while (empty_from > 0 && run.backlog[static_cast<size_t>(empty_from) - 1] == 0) --empty_from;
  require(empty_from < kLength,
          fmt::format("the delayed queue is empty from minute {} on", empty_from));
  return failures;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (flag == "--plot") {
      options.plot = value();
    } else if (flag == "--store") {
      options.directory = value();
    } else if (flag == "--scale") {
      options.scale = std::clamp(std::stod(value()), 0.05, 1.0);
    } else {
      fmt::print(stderr, "usage: bench_shedding [--plot FILE.svg] [--store DIR] [--scale SHARE]\n");
      return 2;
    }
  }
  fmt::print("load shedding: {} scaled minutes, {} events a trace, {:.0f} ms CPU an extraction\n",
             kLength, kEvents, static_cast<double>(kExtractionCpu) / 1e6);
  auto control = Run(options, false);
  auto run = control.ok() ? Run(options, true) : control;
  if (!run.ok()) {
    fmt::print(stderr, "bench_shedding: {}\n", run.error().message);
    return 3;
  }
  fmt::print("{:>7}{:>10}{:>10}{:>8}{:>10}{:>10}{:>10}\n", "minute", "mobile/s", "others/s",
             "queue", "delayed/s", "lag s", "backlog");
  for (size_t i = 4; i < run->queue.size(); i += 5)
    fmt::print("{:>7}{:>10.0f}{:>10.0f}{:>8.1f}{:>10.0f}{:>10.1f}{:>10.0f}\n", i + 1,
               run->mobile_load[i], run->other_load[i], run->queue[i], run->delayed[i], run->lag[i],
               run->backlog[i]);
  const Status plotted = WritePanels(
      options.plot, "Load shedding (Canopy figure 10, time 1:60)", "scaled minutes",
      {std::begin(kSteps), std::end(kSteps)},
      {{"(a) load, traces/s",
        {{"mobile", "#c33", run->mobile_load}, {"others", "#36c", run->other_load}}},
       {"(b) mobile's isolation queue, traces", {{"queued", "#c33", run->queue}}},
       {"(c) to the delayed queue, traces/s", {{"delayed", "#c33", run->delayed}}},
       {"(d) lag of the delayed extractor, s", {{"oldest", "#c33", run->lag}}},
       {"(e) rows of other owners by start of trace",
        {{"with load", "#36c", OtherRows(*run)}, {"control", "#999", OtherRows(*control)}}}});
  if (!plotted.ok()) {
    fmt::print(stderr, "bench_shedding: {}\n", plotted.error().message);
    return 3;
  }
  fmt::print("plot: {}\n", options.plot);
  std::filesystem::remove_all(options.directory);
  return options.scale < 1 ? 0 : Assert(*run, *control) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) { return wf::Main(argc, argv); }
