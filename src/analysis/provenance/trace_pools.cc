#include "analysis/provenance/trace_pools.h"

#include <algorithm>
#include <map>

#include "analysis/provenance/worker_kind.h"

namespace wf::provenance {
namespace {

struct Call {
  Frame* frame = nullptr;
  Nanos way = 0;  // the min one-way time
};

void PlaceSends(std::vector<Call>& calls) {
  std::vector<std::pair<Nanos, Nanos>> in_use;
  std::vector<Nanos> arrived, returned;
  for (const Call& call : calls) {
    in_use.emplace_back(call.frame->arrived, call.frame->received);
    arrived.push_back(call.frame->arrived);
    returned.push_back(call.frame->received);
  }
  const int64_t connections = MostAtOnce(in_use);
  std::sort(arrived.begin(), arrived.end());
  std::sort(returned.begin(), returned.end());
  const auto before = [](const std::vector<Nanos>& times, Nanos time) {
    return std::lower_bound(times.begin(), times.end(), time) - times.begin();
  };
  for (const Call& call : calls) {
    Frame& f = *call.frame;
    if (!f.told_arrival) continue;
    const Nanos latest = SaturatingSub(f.arrived, call.way);
    if (latest <= f.asked) continue;
    if (before(arrived, f.asked) - before(returned, f.asked) < connections) continue;
    const auto given_back = std::upper_bound(returned.begin(), returned.end(), latest);
    if (given_back == returned.begin() || *(given_back - 1) <= f.asked) continue;
    f.sent = std::min(f.arrived, *(given_back - 1) + 1);  // the block that returned it comes first
  }
}

}  // namespace

std::optional<std::string> PoolOf(const Trace& trace, const Block& block) {
  if (block.kind != BlockKind::kClient) return {};
  const auto pool = BlockAttribute(trace, block, "db.client.connection.pool.name");
  if (!pool) return {};
  return "pool " + *pool + " of " + ProcessName(trace, block);
}

void PlaceSendsOfPools(std::vector<TraceFrames>& frames, const OneWayTimes& least) {
  std::map<std::string, std::vector<Call>> pools;
  for (TraceFrames& of : frames) {
    const Trace& trace = *of.trace;
    for (const uint32_t b : of.order) {
      Frame& f = of.frames[b];
      if (f.kind != FrameKind::kRemote) continue;
      const Block& client = trace.blocks[f.parent];
      const auto pool = PoolOf(trace, client);
      if (!pool) continue;
      const auto way = least.find(
          {std::string(trace.service(client)), std::string(trace.service(trace.blocks[b]))});
      pools[*pool].push_back({&f, way == least.end() ? 0 : way->second});
    }
  }
  for (auto& [name, calls] : pools) PlaceSends(calls);
}

}  // namespace wf::provenance
