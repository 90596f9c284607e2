#include "pipeline/tailer_status.h"

#include <fmt/format.h>

namespace wf {

double TailerStatus::cache_share() const {
  return traces_due == 0 ? 1.0
                         : static_cast<double>(traces_from_cache) / static_cast<double>(traces_due);
}

double TailerStatus::again_share() const {
  const int64_t processed = traces_from_cache + traces_delayed_done;
  return processed == 0 ? 0.0 : static_cast<double>(traces_again) / static_cast<double>(processed);
}

void WriteTailerJson(const TailerStatus& s, JsonWriter& json) {
  json.BeginObject()
      .Field("on", s.on)
      .Field("events", s.events)
      .Field("traces_due", s.traces_due)
      .Field("traces_from_cache", s.traces_from_cache)
      .Field("traces_delayed_done", s.traces_delayed_done)
      .Field("traces_again", s.traces_again)
      .Field("traces_unusable", s.traces_unusable);
  json.Key("cache_share").Double(s.cache_share());
  json.Key("again_share").Double(s.again_share());
  json.Key("delayed").BeginObject();
  for (size_t r = 0; r < kDelayReasons; ++r)
    json.Field(DelayReasonName(static_cast<DelayReason>(r)), s.delayed[r]);
  json.EndObject();
  json.Key("delayed_queue").BeginObject();
  json.Field("traces", static_cast<int64_t>(s.delayed_queue))
      .Field("oldest_ns", s.delayed_oldest_ns)
      .EndObject();
  json.Key("cache").BeginObject();
  json.Field("traces", static_cast<int64_t>(s.cached_traces))
      .Field("bytes", static_cast<int64_t>(s.cached_bytes))
      .Field("evicted", s.evicted)
      .Field("expired", s.expired)
      .Field("ids_forgotten_early", s.ids_forgotten_early)
      .Field("fetch_overflows", s.fetch_overflows)
      .EndObject();
  json.Key("rows").BeginObject();
  json.Field("written", s.rows).Field("write_failures", s.write_failures).EndObject();
  json.Key("blacklist").BeginObject();
  json.Field("traces", static_cast<int64_t>(s.blacklisted_traces))
      .Field("events_dropped", s.blacklisted_events)
      .EndObject();
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
      "tailer     {} traces processed, {:.2f}% from the cache, {:.2f}% again, {} rows\n",
      s.traces_from_cache + s.traces_delayed_done, 100 * s.cache_share(), 100 * s.again_share(),
      s.rows);
  out += fmt::format("cache      {} traces, {:.1f} MB\n", s.cached_traces,
                     static_cast<double>(s.cached_bytes) / 1e6);
  std::string reasons;
  for (size_t r = 0; r < kDelayReasons; ++r) {
    if (s.delayed[r] == 0) continue;
    reasons += fmt::format("{}{} {}", reasons.empty() ? "; " : ", ",
                           DelayReasonName(static_cast<DelayReason>(r)), s.delayed[r]);
  }
  out += fmt::format("delayed    {} traces wait{}\n", s.delayed_queue, reasons);
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
    out += fmt::format("refused    {} traces that were too long; {} events dropped\n",
                       s.blacklisted_traces, s.blacklisted_events);
  }
  return out;
}

std::map<std::string, int64_t> TailerCounters(const TailerStatus& s) {
  std::map<std::string, int64_t> out;
  out["tailer_events"] = s.events;
  out["tailer_traces_due"] = s.traces_due;
  out["tailer_traces_from_cache"] = s.traces_from_cache;
  out["tailer_traces_delayed_done"] = s.traces_delayed_done;
  out["tailer_traces_again"] = s.traces_again;
  out["tailer_traces_unusable"] = s.traces_unusable;
  for (size_t r = 0; r < kDelayReasons; ++r)
    out["tailer_delayed_" + std::string(DelayReasonName(static_cast<DelayReason>(r)))] =
        s.delayed[r];
  out["tailer_delayed_queue"] = static_cast<int64_t>(s.delayed_queue);
  out["tailer_cache_traces"] = static_cast<int64_t>(s.cached_traces);
  out["tailer_cache_bytes"] = static_cast<int64_t>(s.cached_bytes);
  out["tailer_cache_evicted"] = s.evicted;
  out["tailer_cache_expired"] = s.expired;
  out["tailer_ids_forgotten_early"] = s.ids_forgotten_early;
  out["tailer_fetch_overflows"] = s.fetch_overflows;
  out["tailer_rows_written"] = s.rows;
  out["tailer_write_failures"] = s.write_failures;
  out["tailer_blacklisted_traces"] = static_cast<int64_t>(s.blacklisted_traces);
  out["tailer_events_blacklisted"] = s.blacklisted_events;
  for (const StageStatus& stage : s.stages) out["tailer_cpu_ns_" + stage.name] = stage.cpu_ns;
  return out;
}

}  // namespace wf
