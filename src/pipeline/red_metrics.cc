#include "pipeline/red_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace wf::pipeline {
namespace {

const TableColumn* Find(const DatasetTable& table, std::string_view name) {
  for (const TableColumn& column : table.columns) {
    if (column.definition.name == name) return &column;
  }
  return nullptr;
}

// A label's value: backslash, quote and line feed are escaped, as both formats want it.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out.push_back('\\');
    if (c == '\n')
      out += "\\n";
    else
      out.push_back(c);
  }
  return out;
}

}  // namespace

void RedMetrics::Count(const std::string& tenant, const DatasetTable& calls, Nanos now) {
  const TableColumn* trace = Find(calls, "trace_id");
  const TableColumn* time = Find(calls, "time_ns");
  const TableColumn* service = Find(calls, "service");
  const TableColumn* duration = Find(calls, "duration_ns");
  const TableColumn* error = Find(calls, "error");
  // Whoever changes the dataset's columns takes these metrics off; the dataset itself goes on.
  if (!trace || !time || !service || !duration || !error ||
      service->definition.type != ColumnType::kText ||
      duration->definition.type != ColumnType::kInt || error->definition.type != ColumnType::kBool)
    return;
  const std::lock_guard lock(mutex_);
  Tenant& into = tenants_[tenant];
  std::map<std::string_view, bool> is_new;  // by trace id
  for (size_t row = 0; row < calls.rows(); ++row) {
    const auto [at, first] = is_new.try_emplace(trace->texts[row], false);
    if (!first) continue;
    const Result<TraceId> id = ParseTraceId(trace->texts[row]);
    if (!id.ok()) continue;
    at->second = !into.counted.MayHave(0, *id);
    into.counted.Insert(0, *id, now);
  }
  for (size_t row = 0; row < calls.rows(); ++row) {
    if (!duration->valid[row] || !is_new[trace->texts[row]]) continue;
    const std::string& name = service->texts[row];
    if (into.services.size() >= kMostServices && into.services.count(name) == 0) {
      ++into.left_out;
      continue;
    }
    Service& of = into.services[name];
    const double seconds = static_cast<double>(duration->numbers[row]) / 1e9;
    const auto bucket = static_cast<size_t>(
        std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin());
    ++of.buckets[bucket];
    of.sum = SaturatingAdd(of.sum, duration->numbers[row]);
    if (error->valid[row] && error->numbers[row] != 0) ++of.errors;
    of.exemplars[bucket] = {trace->texts[row], seconds, time->numbers[row]};
  }
}

std::string RedMetrics::Text(const std::string& tenant, MetricsFormat format) const {
  const bool open = format == MetricsFormat::kOpenMetrics;
  const std::lock_guard lock(mutex_);
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return "";
  const std::map<std::string, Service>& services = found->second.services;
  std::string out;
  // OpenMetrics names a counter's family without `_total`.
  const auto family = [&](const char* name, const char* type, const char* help) {
    const std::string shown =
        std::string(name) + (!open && std::string_view(type) == "counter" ? "_total" : "");
    out += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", shown, type, help);
  };
  family("wherefore_service_calls", "counter", "Calls served, by service.");
  for (const auto& [name, of] : services) {
    int64_t calls = 0;
    for (const int64_t n : of.buckets) calls += n;
    out +=
        fmt::format("wherefore_service_calls_total{{service=\"{}\"}} {}\n", Escaped(name), calls);
  }
  family("wherefore_service_errors", "counter", "Calls that ended with an error, by service.");
  for (const auto& [name, of] : services) {
    out += fmt::format("wherefore_service_errors_total{{service=\"{}\"}} {}\n", Escaped(name),
                       of.errors);
  }
  family("wherefore_service_duration_seconds", "histogram", "How long calls took, by service.");
  for (const auto& [name, of] : services) {
    const std::string label = Escaped(name);
    int64_t below = 0;
    for (size_t i = 0; i < of.buckets.size(); ++i) {
      below += of.buckets[i];
      const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
      out += fmt::format("wherefore_service_duration_seconds_bucket{{service=\"{}\",le=\"{}\"}} {}",
                         label, bound, below);
      const Exemplar& exemplar = of.exemplars[i];
      if (open && !exemplar.trace_id.empty()) {
        out += fmt::format(" # {{trace_id=\"{}\"}} {} {:.3f}", exemplar.trace_id, exemplar.seconds,
                           static_cast<double>(exemplar.time) / 1e9);
      }
      out += '\n';
    }
    out += fmt::format(
        "wherefore_service_duration_seconds_sum{{service=\"{0}\"}} {1}\n"
        "wherefore_service_duration_seconds_count{{service=\"{0}\"}} {2}\n",
        label, static_cast<double>(of.sum) / 1e9, below);
  }
  family("wherefore_service_calls_left_out", "counter",
         "Calls of services beyond the thousand that are counted.");
  out += fmt::format("wherefore_service_calls_left_out_total {}\n", found->second.left_out);
  return out;
}

}  // namespace wf::pipeline
