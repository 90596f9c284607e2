#include "import/packets/queue_passage.h"

namespace wf::packets {
namespace {

std::string_view AddressBytes(const pcap::IpAddress& address) {
  return {reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size()};
}

}  // namespace

uint32_t PacketPassages::QueueIndex(const QueueName& name) {
  const auto [at, added] = queue_index_.emplace(name, static_cast<uint32_t>(queues.size()));
  if (added) queues.push_back(name);
  return at->second;
}

uint32_t PacketPassages::FlowIndex(const pcap::FiveTuple& flow) {
  std::string name = pcap::FlowName(flow);
  const auto [at, added] = flow_index_.emplace(name, static_cast<uint32_t>(flows.size()));
  if (added) flows.push_back({std::move(name), pcap::ToString(flow.source)});
  return at->second;
}

uint32_t PacketPassages::UnknownFlow() {
  const auto [at, added] = flow_index_.emplace("unknown", static_cast<uint32_t>(flows.size()));
  if (added) flows.push_back({"unknown", "unknown"});
  return at->second;
}

Hash128 PacketPassages::PacketId(const Hash128& content, const Hash128& place) {
  const uint32_t before = seen_[{content, place}]++;
  Hasher128 hasher;
  hasher.Add(content.hi);
  hasher.Add(content.lo);
  hasher.Add(before);
  return hasher.Finish();
}

Error CaptureStopped() {
  return EnvironmentError("packets: stopped; nothing was written", "run it again");
}

Hash128 PacketContent(const pcap::PacketHeaders& headers, uint64_t payload_hash) {
  Hasher128 hasher;
  hasher.Add(AddressBytes(headers.flow.source));
  hasher.Add(AddressBytes(headers.flow.destination));
  hasher.Add(static_cast<uint64_t>(headers.flow.protocol) << 32 |
             static_cast<uint64_t>(headers.flow.source_port) << 16 | headers.flow.destination_port);
  hasher.Add(static_cast<uint64_t>(headers.ip_id) << 16 | headers.fragment_offset);
  hasher.Add(static_cast<uint64_t>(headers.tcp_sequence) << 32 | headers.tcp_acknowledgement);
  hasher.Add(payload_hash);
  return hasher.Finish();
}

}  // namespace wf::packets
