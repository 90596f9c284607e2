// What a server tells about itself, gathered from its parts: for `status` and /metrics.
#include "server/serve.h"

namespace wf::server {
namespace {

void AddBus(const bus::BusStatus& bus, std::map<std::string, int64_t>& counters) {
  counters["bus_lag"] = bus.lag;
  counters["bus_unsent"] = bus.unsent;
  counters["bus_poisoned"] = bus.poisoned;
  counters["bus_set_aside"] = bus.set_aside;
  counters["bus_missed"] = bus.missed;
  counters["bus_refused"] = bus.refused;
  counters["bus_failed"] = bus.failed;
  counters["bus_handovers"] = bus.handovers;
  counters["bus_partitions"] = bus.partitions;
}

void AddBusTailer(const pipeline::BusTailerStatus& tailed,
                  std::map<std::string, int64_t>& counters) {
  counters["bus_tailer_pieces"] = tailed.pieces;
  counters["bus_tailer_events"] = tailed.events;
  counters["bus_tailer_store_retries"] = tailed.retries;
  counters["bus_tailer_set_aside"] = tailed.set_aside;
  counters["bus_tailer_pauses"] = tailed.pauses;
  counters["bus_tailer_generations"] = tailed.generations;
  counters["bus_tailer_rounds_open"] = tailed.rounds_open;
  counters["bus_tailer_waiting_bytes"] = static_cast<int64_t>(tailed.waiting_bytes);
  counters["bus_tailer_fenced_writes"] = tailed.fenced;
}

}  // namespace

answer::ServerFacts Server::Facts() const {
  answer::ServerFacts facts;
  facts.role = cluster::RoleName(options_.role);
  facts.started_ns = started_ns_;
  {
    const std::lock_guard lock(mutex_);
    facts.listeners = listeners_;
  }
  facts.counters = counters_.Snapshot();
  facts.retention_age_ns = options_.retention_age_ns;
  facts.retention_bytes = options_.retention_bytes;
  if (tailer_ != nullptr) {
    facts.tailer = tailer_->ReadStatus();
    facts.counters.merge(pipeline::TailerCounters(facts.tailer));
  }
  if (bus_tailer_ != nullptr) {
    const pipeline::BusTailerStatus tailed = bus_tailer_->ReadStatus();
    facts.tailer = tailed.tailer;
    facts.counters.merge(pipeline::TailerCounters(facts.tailer));
    AddBusTailer(tailed, facts.counters);
  }
  if (bus_ != nullptr) AddBus(bus_->ReadStatus(), facts.counters);
  if (live_ != nullptr) facts.counters.merge(live_->Gauges());
  const KeptCounts paths = kept_paths_.counts();
  facts.counters["paths_inferred"] = static_cast<int64_t>(paths.made);
  facts.counters["paths_reused"] = static_cast<int64_t>(paths.reused);
  facts.counters["paths_kept"] = static_cast<int64_t>(paths.results);
  facts.counters["paths_kept_bytes"] = static_cast<int64_t>(paths.bytes);
  facts.counters["cluster_members"] = membership_->members();
  facts.counters["sampling_clients"] = shares_.clients();
  facts.counters.merge(security_->Gauges());
  const auto& h = http_->counters();
  facts.counters["http_connections"] = static_cast<int64_t>(h.connections);
  facts.counters["http_connections_refused"] = static_cast<int64_t>(h.connections_refused);
  facts.counters["http_connections_cut"] = static_cast<int64_t>(h.connections_cut);
  facts.counters["http_requests"] = static_cast<int64_t>(h.requests);
  facts.counters["http_malformed"] = static_cast<int64_t>(h.malformed);
  facts.counters["http_too_large"] = static_cast<int64_t>(h.too_large);
  facts.counters["http_overloaded"] = static_cast<int64_t>(h.overloaded);
  facts.counters["http_timeouts"] = static_cast<int64_t>(h.timeouts);
  const auto& g = grpc_->counters();
  facts.counters["grpc_connections"] = static_cast<int64_t>(g.connections);
  facts.counters["grpc_connections_refused"] = static_cast<int64_t>(g.connections_refused);
  facts.counters["grpc_connections_cut"] = static_cast<int64_t>(g.connections_cut);
  facts.counters["grpc_requests"] = static_cast<int64_t>(g.requests);
  facts.counters["grpc_malformed"] = static_cast<int64_t>(g.malformed);
  facts.counters["grpc_unimplemented"] = static_cast<int64_t>(g.unimplemented);
  facts.counters["grpc_too_large"] = static_cast<int64_t>(g.too_large);
  facts.counters["grpc_overloaded"] = static_cast<int64_t>(g.overloaded);
  facts.counters["grpc_timeouts"] = static_cast<int64_t>(g.timeouts);
  return facts;
}

}  // namespace wf::server
