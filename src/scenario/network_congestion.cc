#include "scenario/network_congestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "import/packets/packet_events.h"
#include "json/json_writer.h"
#include "model/provenance_event.h"
#include "scenario/fat_tree.h"
#include "scenario/network_traffic.h"
#include "scenario/queue_watch.h"

namespace wf::scenario {
namespace {

constexpr const char* kServiceNames[] = {"search", "orders"};

FatTreeShape ShapeOf(int64_t hosts) {
  if (hosts < 8) return {2, 1, 1, 1, 2};
  FatTreeShape shape;
  shape.pods = static_cast<int>((hosts + 3) / 4);
  return shape;
}

std::string RequestId(const ServiceRequest& request, const char* step) {
  return fmt::format("{}-{}{}", kServiceNames[request.service], request.number, step);
}

// The events of the network with those of the services: a request goes out as a packet, is served, and its answer is
// there when all its packets are.
class Story {
 public:
  Story(const FatTree& tree, const TrafficPlan& plan, packets::PacketEvents events)
      : tree_(tree), plan_(plan), events_(std::move(events.events)) {
    for (size_t i = 0; i < events_.size(); ++i) index_.emplace(events_[i].id, i);
    for (packets::PacketTrail& trail : events.trails)
      trails_.emplace(trail.packet, std::move(trail));
  }

  // False if some packet of it was not seen.
  bool Add(const ServiceRequest& request, const std::map<TrafficTag, Hash128>& packets) {
    const packets::PacketTrail* out = TrailOf({kRequestPacket, request.number, 0}, packets);
    if (out == nullptr || request.received == 0) return false;
    std::vector<const packets::PacketTrail*> back;
    for (uint32_t part = 0; part < kResponseParts; ++part) {
      back.push_back(TrailOf({kResponsePacket, request.number, part}, packets));
      if (back.back() == nullptr) return false;
    }
    const std::string &client = tree_.hosts[plan_.clients[request.service]].name,
                      &server = tree_.hosts[plan_.servers[request.service]].name;
    ProvenanceEvent sent = Made(request, "", ProvenanceType::kInsert, client, "request");
    sent.start_ns = sent.end_ns = std::min(request.sent, events_[index_.at(out->entry)].start_ns);
    Cause(*out, sent.id);

    ProvenanceEvent served = Made(request, "/serve", ProvenanceType::kDerive, server, "serve");
    served.causes = {out->exit};
    served.start_ns = std::max(request.served, events_[index_.at(out->exit)].end_ns);
    served.end_ns = std::max(request.answered, served.start_ns);
    for (const packets::PacketTrail* trail : back) {
      served.end_ns = std::min(served.end_ns, events_[index_.at(trail->entry)].start_ns);
      Cause(*trail, served.id);
    }
    served.start_ns = std::min(served.start_ns, served.end_ns);

    ProvenanceEvent received = Made(request, "/reply", ProvenanceType::kDerive, client, "reply");
    received.start_ns = request.received;
    for (const packets::PacketTrail* trail : back) {
      received.causes.push_back(trail->exit);
      received.start_ns = std::max(received.start_ns, events_[index_.at(trail->exit)].end_ns);
    }
    received.end_ns = received.start_ns;
    for (ProvenanceEvent* event : {&sent, &served, &received}) added_.push_back(std::move(*event));
    return true;
  }

  // In order; at the same instant what a service did comes where its causes allow.
  std::vector<ProvenanceEvent> Finish() {
    std::vector<ProvenanceEvent> all = std::move(added_);
    for (ProvenanceEvent& event : events_) all.push_back(std::move(event));
    std::stable_sort(all.begin(), all.end(),
                     [](const ProvenanceEvent& a, const ProvenanceEvent& b) {
                       return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
                     });
    return all;
  }

 private:
  ProvenanceEvent Made(const ServiceRequest& request, const char* step, ProvenanceType type,
                       const std::string& node, const char* name) const {
    ProvenanceEvent event;
    event.id = RequestId(request, step);
    event.type = type;
    event.node = node;
    event.tuple = fmt::format("{}({})", name, RequestId(request, ""));
    event.origin = kServiceNames[request.service];
    event.holds.emplace();  // hosts have nothing to wait for here
    return event;
  }

  const packets::PacketTrail* TrailOf(const TrafficTag& tag,
                                      const std::map<TrafficTag, Hash128>& packets) const {
    const auto content = packets.find(tag);
    if (content == packets.end()) return nullptr;
    packets::PacketPassages first;  // every payload is sent once, so each is the first of its kind
    const auto found = trails_.find(first.PacketId(content->second, {}));
    return found == trails_.end() ? nullptr : &found->second;
  }

  // The packet was not there by itself: a service sent it.
  void Cause(const packets::PacketTrail& trail, const std::string& id) {
    ProvenanceEvent& entry = events_[index_.at(trail.entry)];
    entry.type = ProvenanceType::kDerive;
    entry.causes = {id};
  }

  const FatTree& tree_;
  const TrafficPlan& plan_;
  std::vector<ProvenanceEvent> events_, added_;
  std::map<std::string, size_t> index_;
  std::map<Hash128, packets::PacketTrail> trails_;
};

// The request whose time is in the middle: the answer is about what they have in common.
const ServiceRequest* Typical(std::vector<const ServiceRequest*> requests) {
  if (requests.empty()) return nullptr;
  std::sort(requests.begin(), requests.end(), [](const auto* a, const auto* b) {
    return a->received - a->sent < b->received - b->sent;
  });
  return requests[requests.size() / 2];
}

Status WriteCaptureWhole(const std::string& path, const std::string& text) {
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) {
    const int code = errno;
    std::remove(part.c_str());
    return EnvironmentError(path + ": " + std::strerror(code),
                            "is the folder writable, and is there room?");
  }
  return {};
}

}  // namespace

Result<NetworkCongestion> RunNetworkCongestion(const NetworkCongestionOptions& options) {
  if (options.hosts < 4 || options.hosts > 16) {
    return BadInput(fmt::format("--size {}: M1 has from 4 to 16 hosts", options.hosts),
                    "16 is the paper's network, 4 a small one");
  }
  NetworkNamespaces network;
  WF_ASSIGN(const FatTree tree, BuildFatTree(ShapeOf(options.hosts), network));
  TrafficPlan plan = PlanTraffic(tree, options.seed, options.fault);

  packets::PacketPassages passages;
  std::map<TrafficTag, Hash128> packets;
  QueueWatch watch(passages,
                   [&](const pcap::PacketHeaders& headers, const packets::SightedPacket& packet) {
                     if (const auto tag = ReadTag(headers.payload))
                       packets.emplace(*tag, packet.content);
                   });
  for (const size_t space : tree.switches) WF_TRY(watch.AddSwitch(network, space));
  watch.Start();
  WF_TRY(RunTraffic(tree, network, plan));
  WF_TRY(watch.Stop());

  NetworkCongestion out;
  out.switches = static_cast<int64_t>(tree.switches.size());
  out.hosts = static_cast<int64_t>(tree.hosts.size());
  Story story(tree, plan, packets::MakePacketEvents(passages));
  out.packets = static_cast<int64_t>(passages.passages.size());
  std::vector<const ServiceRequest*> early, late;
  for (const ServiceRequest& request : plan.requests) {
    if (!story.Add(request, packets)) continue;
    ++out.requests;
    if (request.service == 0) (request.late ? late : early).push_back(&request);
  }
  const ServiceRequest *asked = Typical(late), *normal = Typical(early);
  if (asked == nullptr || normal == nullptr) {
    return EnvironmentError("M1: no request of the first service was answered in time",
                            "try again on a machine that does less else");
  }
  for (const ProvenanceEvent& event : story.Finish()) {
    AppendProvenanceLine(event, out.events);
    ++out.event_lines;
  }
  JsonWriter json;
  json.BeginObject().Field("scenario", "M1");
  json.Field("question", "A service answers late. Who is in its way?");
  json.Field("seed", options.seed).Field("size", out.hosts);
  json.Field("from", RequestId(*asked, "")).Field("to", RequestId(*asked, "/reply"));
  json.Key("normal").BeginObject();
  json.Field("from", RequestId(*normal, "")).Field("to", RequestId(*normal, "/reply")).EndObject();
  json.Key("culprit");
  if (options.fault == Fault::kOn) {
    json.BeginObject().Field("node", tree.core_to_first_edge);
    json.Field("tuple", pcap::FlowName(CulpritFlow(tree, plan))).EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
  out.query = json.Take() + "\n";
  return out;
}

Result<ScenarioFiles> WriteNetworkCongestion(const NetworkCongestionOptions& options,
                                             const std::string& folder) {
  WF_ASSIGN(const NetworkCongestion run, RunNetworkCongestion(options));
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return EnvironmentError(folder + ": " + code.message(), "is its parent writable?");
  ScenarioFiles files;
  files.events = folder + "/events.jsonl";
  files.query = folder + "/query.json";
  files.traces = run.requests;
  files.event_lines = run.event_lines;
  WF_TRY(WriteCaptureWhole(files.events, run.events));
  WF_TRY(WriteCaptureWhole(files.query, run.query));
  return files;
}

}  // namespace wf::scenario
