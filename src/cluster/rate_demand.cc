#include "cluster/rate_demand.h"

#include <algorithm>
#include <cmath>

namespace wf::cluster {
namespace {

// Demands are clamped to between a millionth and a million times the rate, which is more than any client can
// need.
constexpr double kLeast = 1e-6, kMost = 1e6;

}  // namespace

void DemandSummary::Add(double demand) {
  if (!(demand > 0)) return;
  demand = std::clamp(demand, kLeast, kMost);
  Group& group = powers_[std::ilogb(demand)];
  ++group.count;
  group.sum += demand;
}

void DemandSummary::Add(const DemandSummary& other) {
  for (const auto& [power, group] : other.powers_) {
    powers_[power].count += group.count;
    powers_[power].sum += group.sum;
  }
}

double DemandSummary::Share() const {
  double left = 1, most = 0;
  int64_t waiting = 0, all = 0;
  for (const auto& [power, group] : powers_) waiting += group.count;
  all = waiting;
  for (const auto& [power, group] : powers_) {
    const double mean = group.sum / static_cast<double>(group.count);
    if (const double level = left / static_cast<double>(waiting); mean > level) return level;
    left -= group.sum;
    waiting -= group.count;
    most = mean;
  }
  if (all == 0) return 1;
  return std::min(1.0, most + std::max(0.0, left) / static_cast<double>(all));
}

void DemandSummary::Write(JsonWriter& json) const {
  json.BeginArray();
  for (const auto& [power, group] : powers_)
    json.BeginArray().Int(power).Int(group.count).Double(group.sum).EndArray();
  json.EndArray();
}

DemandSummary DemandSummary::Read(JsonValue json) {
  DemandSummary out;
  if (!json.IsArray()) return out;
  for (const JsonValue entry : json.Elements()) {
    if (!entry.IsArray() || entry.size() != 3) continue;
    auto part = entry.Elements().begin();
    const auto power = (*part).Int();
    const auto count = (*++part).Int();
    const auto sum = (*++part).Number();
    if (!power || !count || !sum || *count <= 0 || !(*sum > 0) || std::abs(*power) > 64) continue;
    Group& group = out.powers_[static_cast<int>(*power)];
    group.count += *count;
    group.sum += *sum;
  }
  return out;
}

}  // namespace wf::cluster
