#include "pipeline/tailer_status.h"

#include <fmt/format.h>

#include "base/count_of.h"

namespace wf::pipeline {

double TailerStatus::cache_share() const {
  return traces_due == 0 ? 1.0
                         : static_cast<double>(traces_from_cache) / static_cast<double>(traces_due);
}

double TailerStatus::again_share() const {
  const int64_t processed = traces_from_cache + traces_delayed_done;
  return processed == 0 ? 0.0 : static_cast<double>(traces_again) / static_cast<double>(processed);
}

namespace {

// One number of the status: where it stands in the JSON, and its name among the counters.
struct Figure {
  std::string_view object;  // "": the status itself
  std::string_view key;
  std::string counter;  // empty: not among them
  int64_t value;
};

// Every number that is neither a stage's nor an owner's, in the order of the JSON. What is counted stands here, or
// nobody sees it.
std::vector<Figure> Figures(const TailerStatus& s) {
  const auto size = [](size_t n) { return static_cast<int64_t>(n); };
  std::vector<Figure> out = {
      {"", "events", "tailer_events", s.events},
      {"", "traces_due", "tailer_traces_due", s.traces_due},
      {"", "traces_from_cache", "tailer_traces_from_cache", s.traces_from_cache},
      {"", "traces_delayed_done", "tailer_traces_delayed_done", s.traces_delayed_done},
      {"", "traces_again", "tailer_traces_again", s.traces_again},
      {"", "traces_unusable", "tailer_traces_unusable", s.traces_unusable},
      {"triggers", "scheduled", "tailer_triggers_scheduled", s.scheduled},
      {"triggers", "rescheduled_late", "tailer_triggers_rescheduled_late", s.rescheduled_late},
      {"triggers", "running", "tailer_triggers_running", size(s.timeouts_running)},
  };
  for (const ReasonFacts& r : kDelayReasons) {
    const bool delayed = r.kind == ReasonFacts::Kind::kDelayed;
    out.push_back({delayed ? "delayed" : "requeued", r.name,
                   (delayed ? "tailer_delayed_" : "tailer_requeued_") + std::string(r.name),
                   s.delayed[r.reason]});
  }
  const std::vector<Figure> rest = {
      {"delayed_queue", "traces", "tailer_delayed_queue", size(s.delayed_queue)},
      {"delayed_queue", "oldest_ns", "", s.delayed_oldest_ns},
      {"cache", "traces", "tailer_cache_traces", size(s.cached_traces)},
      {"cache", "bytes", "tailer_cache_bytes", size(s.cached_bytes)},
      {"cache", "evicted", "tailer_cache_evicted", s.evicted},
      {"cache", "expired", "tailer_cache_expired", s.expired},
      {"cache", "before_start", "tailer_cache_before_start", s.before_start},
      {"cache", "events_uncached", "tailer_events_uncached", s.events_uncached},
      {"cache", "ids_forgotten_early", "tailer_ids_forgotten_early", s.ids_forgotten_early},
      {"cache", "fetch_overflows", "tailer_fetch_overflows", s.fetch_overflows},
      {"features", "over_budget", "features_over_budget", s.features_over_budget},
      {"features", "rows_dropped", "feature_rows_dropped", s.feature_rows_dropped},
      {"rows", "written", "tailer_rows_written", s.rows},
      {"rows", "writes", "tailer_writes", s.writes},
      {"rows", "write_failures", "tailer_write_failures", s.write_failures},
      {"blacklist", "traces", "tailer_blacklisted_traces", size(s.blacklisted_traces)},
      {"blacklist", "events_dropped", "tailer_events_blacklisted", s.blacklisted_events},
  };
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

}  // namespace

void WriteTailerJson(const TailerStatus& s, JsonWriter& json) {
  json.BeginObject().Field("on", s.on);
  std::string_view object;
  for (const Figure& figure : Figures(s)) {
    if (figure.object != object) {
      if (object.empty()) {
        json.Key("cache_share").Double(s.cache_share());
        json.Key("again_share").Double(s.again_share());
      } else {
        json.EndObject();
      }
      json.Key(figure.object).BeginObject();
      object = figure.object;
    }
    json.Field(figure.key, figure.value);
  }
  json.EndObject();
  json.Key("stages").BeginArray();
  for (const StageStatus& stage : s.stages) {
    json.BeginObject()
        .Field("name", stage.name)
        .Field("waiting", static_cast<int64_t>(stage.waiting))
        .Field("items", stage.items)
        .Field("cpu_ns", stage.cpu_ns)
        .Field("lag_p50_ns", stage.lag_p50_ns)
        .Field("lag_p99_ns", stage.lag_p99_ns)
        .EndObject();
  }
  json.EndArray();
  json.Key("owners").BeginArray();
  for (const OwnerLoad& owner : s.owners) {
    json.BeginObject()
        .Field("owner", owner.owner)
        .Field("queued", static_cast<int64_t>(owner.queued))
        .Field("taken", owner.taken)
        .Field("refused", owner.refused)
        .Field("cpu_ns", owner.cpu_ns)
        .EndObject();
  }
  json.EndArray().EndObject();
}

std::string TailerText(const TailerStatus& s) {
  if (!s.on) return "tailer     off\n";
  std::string out = fmt::format(
      "tailer     {} processed, {:.2f}% from the cache, {:.2f}% again, {} rows\n",
      CountOf(static_cast<uint64_t>(s.traces_from_cache + s.traces_delayed_done), "trace"),
      100 * s.cache_share(), 100 * s.again_share(), s.rows);
  out += fmt::format("cache      {}, {:.1f} MB\n",
                     CountOf(static_cast<uint64_t>(s.cached_traces), "trace"),
                     static_cast<double>(s.cached_bytes) / 1e6);
  out += fmt::format("features   {} traces over budget, {} rows dropped, {} traces unusable\n",
                     s.features_over_budget, s.feature_rows_dropped, s.traces_unusable);
  std::string reasons;
  for (const ReasonFacts& r : kDelayReasons) {
    if (r.kind == ReasonFacts::Kind::kDelayed)
      reasons += fmt::format("; {} {}", r.name, s.delayed[r.reason]);
    else if (s.delayed[r.reason] != 0)
      reasons += fmt::format("; again: {} {}", r.name, s.delayed[r.reason]);
  }
  out += fmt::format("delayed    {} waiting{}\n",
                     CountOf(static_cast<uint64_t>(s.delayed_queue), "trace"), reasons);
  for (const StageStatus& stage : s.stages) {
    out += fmt::format("  {:<9} waiting {:<8} lag p50 {:<9} p99 {:<9} CPU {}\n", stage.name,
                       stage.waiting, FormatDuration(stage.lag_p50_ns),
                       FormatDuration(stage.lag_p99_ns), FormatDuration(stage.cpu_ns));
  }
  for (const OwnerLoad& owner : s.owners) {
    out += fmt::format("  owner {:<24} queued {:<4} full {:<8} CPU {}\n", owner.owner, owner.queued,
                       owner.refused, FormatDuration(owner.cpu_ns));
  }
  if (s.blacklisted_traces != 0) {
    out += fmt::format("refused    {} traces too long; {} events dropped\n", s.blacklisted_traces,
                       s.blacklisted_events);
  }
  return out;
}

std::map<std::string, int64_t> TailerCounters(const TailerStatus& s) {
  std::map<std::string, int64_t> out;
  for (const Figure& figure : Figures(s))
    if (!figure.counter.empty()) out[figure.counter] = figure.value;
  for (const StageStatus& stage : s.stages) out["tailer_cpu_ns_" + stage.name] = stage.cpu_ns;
  return out;
}

}  // namespace wf::pipeline
