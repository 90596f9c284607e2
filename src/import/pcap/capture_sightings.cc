#include "import/pcap/capture_sightings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "import/pcap/byte_order.h"
#include "import/pcap/capture_stream.h"
#include "import/pcap/connection_table.h"
#include "import/pcap/dns_message.h"
#include "import/pcap/fragment_joiner.h"
#include "import/pcap/packet_decoder.h"
#include "import/pcap/protocol_detector.h"

namespace wf::pcap {
namespace {

constexpr uint16_t kDnsPort = 53;
// Number of DNS datagrams remembered, to recognise one that was captured twice.
constexpr size_t kRecentDatagrams = 64;
constexpr Nanos kDoubleWithin = 100 * kMilli;

uint64_t Half(const IpAddress& address, size_t at) {
  uint64_t value;
  std::memcpy(&value, address.bytes.data() + at, sizeof value);
  return value;
}

// Fills `key`; returns which end of the key the source is.
End KeyOfFlow(const FiveTuple& flow, ConnectionKey& key) {
  const uint64_t source[2] = {Half(flow.source, 0), Half(flow.source, 8)};
  const uint64_t destination[2] = {Half(flow.destination, 0), Half(flow.destination, 8)};
  const bool ordered = source[0] != destination[0]   ? source[0] < destination[0]
                       : source[1] != destination[1] ? source[1] < destination[1]
                                                     : flow.source_port <= flow.destination_port;
  key.protocol = flow.protocol;
  key.version = flow.source.version;
  const uint64_t* low = ordered ? source : destination;
  const uint64_t* high = ordered ? destination : source;
  key.low[0] = low[0];
  key.low[1] = low[1];
  key.high[0] = high[0];
  key.high[1] = high[1];
  key.low_port = ordered ? flow.source_port : flow.destination_port;
  key.high_port = ordered ? flow.destination_port : flow.source_port;
  return ordered ? 0 : 1;
}

// These have no answer.
bool IsGroupAddress(const IpAddress& address) {
  if (address.version == 6) return address.bytes[0] == 0xff;
  return address.bytes[0] >= 224;  // multicast, reserved and broadcast
}

void AppendNumber(uint64_t number, std::string& out) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

// Names by the DNS answers of a whole capture.
void LearnNames(CaptureStream& packets, NodeNames& names) {
  CapturedPacket packet;
  PacketHeaders headers;
  FragmentJoiner fragments;
  while (packets.Next(packet)) {
    PacketFault fault = DecodePacket(packet.link, packet.bytes, headers);
    if (!fragments.Join(headers, packet.time_ns, fault) || fault != PacketFault::kNone) continue;
    if (headers.flow.protocol != kProtocolUdp || headers.flow.source_port != kDnsPort) continue;
    for (const DnsAddress& found : ReadDnsAddresses(headers.payload))
      names.Add(found.address, 0, found.name);
  }
}

}  // namespace

class CaptureSightings::Impl {
 public:
  Impl(std::unique_ptr<CaptureStream> packets, const CaptureSightingOptions& options,
       StringTable& nodes)
      : packets_(std::move(packets)),
        names_(options.names),
        input_(options.input),
        most_connections_(std::max<size_t>(options.most_connections, 1)),
        most_held_(options.most_held_bytes),
        nodes_(nodes) {}

  NodeNames& names() { return names_; }

  bool Next(SightingLine& line) {
    while (told_ == out_.size()) {
      out_.clear();
      told_ = 0;
      if (!retired_.empty()) RemoveRetired();
      if (ended_) return false;
      CapturedPacket packet;
      if (packets_->Next(packet)) {
        Receive(packet);
      } else {
        End();
      }
    }
    Tell(out_[told_++], line);
    return true;
  }

  CaptureCounts counts() const {
    CaptureCounts counts = counts_;
    const CaptureStreamCounts& file = packets_->counts();
    counts.packets = file.packets;
    counts.corrupt_bytes = file.corrupt_bytes;
    counts.unread_links = file.unread_links;
    counts.without_time = file.without_time;
    counts.dropped_by_capture = file.dropped;
    counts.truncated_files = file.truncated ? 1 : 0;
    const FragmentJoiner::Counts fragments = fragments_.counts();
    counts.fragments = fragments.fragments;
    counts.joined = fragments.joined;
    counts.fragments_alone = fragments.given_up;
    counts.doubles += fragments.doubles;
    counts.malformed_packets += fragments.malformed;
    return counts;
  }

 private:
  static constexpr uint32_t kDatagram = ConnectionTable::kNone;  // in place of a connection

  struct Datagram {
    FiveTuple flow;  // from client to server
    uint16_t id = 0;
  };
  struct RecentDatagram {
    uint64_t hash = 0;
    Nanos time_ns = 0;
  };

  void Receive(const CapturedPacket& packet);
  void ReceiveTcp(Nanos time_ns);
  void ReceiveUdp(Nanos time_ns);
  bool ReceiveDns(Nanos time_ns);
  uint32_t NewConnection(const ConnectionKey& key, uint64_t hash, wf::pcap::End from,
                         Nanos time_ns);
  void Prepare(uint32_t slot, wf::pcap::End from);
  void LetSleep();
  // Removes it as soon as its messages have been emitted.
  void Retire(uint32_t slot) {
    if (!connections_.At(slot).asleep) connections_.Sleep(slot);
    retired_.emplace_back(slot, connections_.At(slot).number);
  }
  void RemoveRetired();
  void Remove(uint32_t slot) {
    held_ -= connections_.At(slot).held;
    connections_.Remove(slot);
  }
  void CountHeld(Connection& connection);
  void End();
  void Tell(const WireMessage& message, SightingLine& line);
  void TellDatagram(const WireMessage& message, SightingLine& line);
  void MakeTexts(Connection& connection, Protocol protocol);

  std::unique_ptr<CaptureStream> packets_;
  NodeNames names_;
  uint32_t input_;
  size_t most_connections_, most_held_;
  size_t held_ = 0;  // by all connections
  StringTable& nodes_;

  PacketHeaders headers_;
  FragmentJoiner fragments_;
  ConnectionTable connections_;
  std::vector<std::pair<uint32_t, uint64_t>> retired_;  // slots and numbers
  CaptureCounts counts_;
  Nanos now_ = 0;  // the latest packet's time
  bool ended_ = false;

  std::vector<WireMessage> out_;
  size_t told_ = 0;
  uint64_t lines_ = 0;
  Datagram datagram_;
  std::vector<RecentDatagram> recent_ = std::vector<RecentDatagram>(kRecentDatagrams);
  size_t recent_at_ = 0;
};

void CaptureSightings::Impl::Receive(const CapturedPacket& packet) {
  if (packet.time_ns > now_ || lines_ + connections_.size() == 0) now_ = packet.time_ns;
  LetSleep();
  PacketFault fault = DecodePacket(packet.link, packet.bytes, headers_);
  if (!fragments_.Join(headers_, packet.time_ns, fault)) return;
  switch (fault) {
    case PacketFault::kNone:
      break;
    case PacketFault::kNotIp:
      ++counts_.not_ip;
      return;
    case PacketFault::kTruncated:
      ++counts_.truncated_packets;
      return;
    case PacketFault::kMalformed:
      ++counts_.malformed_packets;
      return;
  }
  if (headers_.flow.protocol == kProtocolTcp) {
    ReceiveTcp(packet.time_ns);
  } else if (headers_.flow.protocol == kProtocolUdp) {
    ReceiveUdp(packet.time_ns);
  } else {
    ++counts_.other_protocols;
  }
}

uint32_t CaptureSightings::Impl::NewConnection(const ConnectionKey& key, uint64_t hash,
                                               wf::pcap::End from, Nanos time_ns) {
  if (connections_.size() >= most_connections_) {
    const uint32_t oldest = connections_.OldestAsleep() != ConnectionTable::kNone
                                ? connections_.OldestAsleep()
                                : connections_.OldestAwake();
    Connection& connection = connections_.At(oldest);
    if (!connection.tcp.closed()) ++counts_.forgotten;
    connection.tcp.Finish();
    Retire(oldest);
  }
  const uint32_t slot = connections_.Add(key, hash, time_ns);
  Prepare(slot, from);
  return slot;
}

// `from` is the end that sent the current packet.
void CaptureSightings::Impl::Prepare(uint32_t slot, wf::pcap::End from) {
  Connection& connection = connections_.At(slot);
  ++counts_.connections;
  const FiveTuple& flow = headers_.flow;
  connection.addresses[from] = flow.source;
  connection.addresses[OtherEnd(from)] = flow.destination;
  DialogueContext& context = connection.context;
  context.out = &out_;
  context.counts = &counts_;
  context.connection = slot;
  context.ports[0] = connection.key.low_port;
  context.ports[1] = connection.key.high_port;
  for (int end = 0; end < 2; ++end)
    connection.nodes[end] =
        nodes_.Intern(names_.NameOf(connection.addresses[end], context.ports[end]));
  const wf::pcap::End server = ServerByPorts(context.ports[0], context.ports[1]);
  if (server != kNoEnd) {
    context.client = OtherEnd(server);
    context.client_guessed = true;
  }
}

void CaptureSightings::Impl::ReceiveTcp(Nanos time_ns) {
  TcpSegment segment;
  segment.time_ns = time_ns;
  segment.sequence = headers_.tcp_sequence;
  segment.acknowledgement = headers_.tcp_acknowledgement;
  segment.length = headers_.payload_length;
  segment.ip_id = headers_.ip_id;
  segment.flags = headers_.tcp_flags;
  segment.payload = headers_.payload;
  if (segment.payload.size() > segment.length)
    segment.payload = segment.payload.substr(0, segment.length);
  if (segment.payload.size() < segment.length) ++counts_.cut_packets;

  ConnectionKey key;
  const wf::pcap::End from = KeyOfFlow(headers_.flow, key);
  const uint64_t hash = ConnectionTable::HashOf(key);
  uint32_t slot = connections_.Find(key, hash);
  const bool syn = (segment.flags & kTcpSyn) != 0;
  if (slot != ConnectionTable::kNone && syn && connections_.At(slot).tcp.IsAnother(from, segment)) {
    ++counts_.ports_reused;
    connections_.At(slot).tcp.Finish();
    connections_.Renew(slot);
    Prepare(slot, from);
  }
  if (slot == ConnectionTable::kNone) {
    // Packets after the end of a connection do not begin a new one.
    if (!syn && segment.length == 0) return;
    slot = NewConnection(key, hash, from, time_ns);
    if (!syn) ++counts_.mid_stream;
  } else {
    connections_.Touch(slot, now_);
  }
  Connection& connection = connections_.At(slot);
  if (connection.tcp.conversation().untold_since() < time_ns - kDialoguePatience)
    connection.tcp.conversation().TellOpenCalls(time_ns);
  connection.tcp.Receive(from, segment);
  CountHeld(connection);
}

void CaptureSightings::Impl::CountHeld(Connection& connection) {
  const size_t held = connection.tcp.held_bytes();
  if (held == connection.held) return;
  held_ += held - connection.held;
  connection.held = held;
  if (held_ <= most_held_) return;
  ++counts_.dropped_held;
  connection.tcp.DropHeld();
  held_ += connection.tcp.held_bytes() - connection.held;
  connection.held = connection.tcp.held_bytes();
}

void CaptureSightings::Impl::ReceiveUdp(Nanos time_ns) {
  if (ReceiveDns(time_ns)) return;
  const FiveTuple& flow = headers_.flow;
  ConnectionKey key;
  const wf::pcap::End from = KeyOfFlow(flow, key);
  if (IsGroupAddress(flow.destination) || ServerByPorts(key.low_port, key.high_port) == kNoEnd) {
    ++counts_.other_protocols;
    return;
  }
  const uint64_t hash = ConnectionTable::HashOf(key);
  uint32_t slot = connections_.Find(key, hash);
  if (slot == ConnectionTable::kNone) {
    slot = NewConnection(key, hash, from, time_ns);
    connections_.At(slot).tcp.conversation().StayBlind();
  } else {
    connections_.Touch(slot, now_);
  }
  Connection& connection = connections_.At(slot);
  Conversation& conversation = connection.tcp.conversation();
  if (conversation.untold_since() < time_ns - kDialoguePatience)
    conversation.TellOpenCalls(time_ns);
  conversation.Data(from, headers_.payload, time_ns, ++connection.datagrams[from]);
}

bool CaptureSightings::Impl::ReceiveDns(Nanos time_ns) {
  const FiveTuple& flow = headers_.flow;
  const bool well_known = flow.source_port == kDnsPort || flow.destination_port == kDnsPort;
  DnsHeader header;
  if (!ReadDnsHeader(headers_.payload, well_known ? DnsPort::kWellKnown : DnsPort::kOther, header))
    return false;
  if (IsGroupAddress(flow.destination)) return false;
  uint64_t hash = HashBytes(headers_.payload, headers_.ip_id);
  hash = MixBits(hash ^ (static_cast<uint64_t>(flow.source_port) << 16 | flow.destination_port));
  for (const RecentDatagram& recent : recent_) {
    if (recent.hash == hash && time_ns - recent.time_ns <= kDoubleWithin && headers_.ip_id != 0) {
      ++counts_.doubles;
      return true;
    }
  }
  recent_[recent_at_++ % recent_.size()] = {hash, time_ns};
  ++counts_.dns;
  datagram_.id = header.id;
  datagram_.flow = flow;
  if (header.response) {
    std::swap(datagram_.flow.source, datagram_.flow.destination);
    std::swap(datagram_.flow.source_port, datagram_.flow.destination_port);
  }
  ++(header.response ? counts_.returns : counts_.calls);
  WireMessage message;
  message.kind = header.response ? MessageKind::kReturn : MessageKind::kCall;
  message.protocol = Protocol::kDns;
  message.connection = kDatagram;
  message.id = header.id;
  message.time_ns = time_ns;
  message.bytes = headers_.payload_length;
  out_.push_back(message);
  return true;
}

// Connections without packets for a while emit what they have.
void CaptureSightings::Impl::LetSleep() {
  for (;;) {
    const uint32_t slot = connections_.OldestAwake();
    if (slot == ConnectionTable::kNone) return;
    Connection& connection = connections_.At(slot);
    if (now_ - connection.heard < kDialoguePatience) return;
    connection.tcp.Quiet();
    CountHeld(connection);
    connections_.Sleep(slot);
    if (connection.tcp.closed()) Retire(slot);
  }
}

void CaptureSightings::Impl::RemoveRetired() {
  for (const auto& [slot, number] : retired_) {
    // Unless it had packets meanwhile, or has been removed.
    const Connection* connection = connections_.Get(slot);
    if (connection != nullptr && connection->number == number && connection->asleep) Remove(slot);
  }
  retired_.clear();
}

void CaptureSightings::Impl::End() {
  ended_ = true;
  for (const uint32_t slot : connections_.All()) connections_.At(slot).tcp.Finish();
}

void CaptureSightings::Impl::MakeTexts(Connection& connection, Protocol protocol) {
  const DialogueContext& context = connection.context;
  connection.text_client = context.client;
  connection.text_protocol = protocol;
  const wf::pcap::End client = context.client == kNoEnd ? 0 : context.client,
                      server = OtherEnd(client);
  FiveTuple flow;
  flow.protocol = connection.key.protocol;
  flow.source = connection.addresses[client];
  flow.destination = connection.addresses[server];
  flow.source_port = context.ports[client];
  flow.destination_port = context.ports[server];
  const std::string name = FlowName(flow);
  connection.conn_key = KeyOf(name);
  connection.keys = fmt::format("conn={} proto={}", name, ProtocolName(protocol));
  connection.id_prefix = fmt::format("{}.{}.", flow.source_port, flow.destination_port);
}

void CaptureSightings::Impl::Tell(const WireMessage& message, SightingLine& line) {
  Sighting& sighting = line.sighting;
  sighting = {};
  sighting.time_ns = message.time_ns;
  sighting.place = {input_, ++lines_};
  sighting.kind = message.kind;
  sighting.bytes = message.bytes;
  if (message.connection == kDatagram) {
    TellDatagram(message, line);
    return;
  }
  Connection& connection = connections_.At(message.connection);
  if (connection.text_client != connection.context.client ||
      connection.text_protocol != message.protocol)
    MakeTexts(connection, message.protocol);
  sighting.sender = connection.nodes[message.from];
  sighting.receiver = connection.nodes[OtherEnd(message.from)];
  sighting.conn = connection.conn_key;
  line.id.assign(connection.id_prefix);
  AppendNumber(message.id, line.id);
  if (!message.matched) line.id += 'r';
  sighting.id = KeyOf(line.id);
  line.keys.assign(connection.keys);
  if (message.bytes >= 0) {
    line.keys += " bytes=";
    AppendNumber(static_cast<uint64_t>(message.bytes), line.keys);
  }
}

void CaptureSightings::Impl::TellDatagram(const WireMessage& message, SightingLine& line) {
  Sighting& sighting = line.sighting;
  const FiveTuple& flow = datagram_.flow;
  const NodeId client = nodes_.Intern(names_.NameOf(flow.source, flow.source_port));
  const NodeId server = nodes_.Intern(names_.NameOf(flow.destination, flow.destination_port));
  const bool call = message.kind == MessageKind::kCall;
  sighting.sender = call ? client : server;
  sighting.receiver = call ? server : client;
  const std::string name = FlowName(flow);
  sighting.conn = KeyOf(name);
  line.id = fmt::format("{}.{}.{}", flow.source_port, flow.destination_port, message.id);
  sighting.id = KeyOf(line.id);
  line.keys = fmt::format("conn={} proto=dns bytes={}", name, message.bytes);
}

CaptureSightings::CaptureSightings(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CaptureSightings::~CaptureSightings() = default;

Result<std::unique_ptr<CaptureSightings>> CaptureSightings::Open(
    const std::string& path, const CaptureSightingOptions& options, StringTable& nodes) {
  WF_ASSIGN(auto packets, CaptureStream::Open(path));
  auto impl = std::make_unique<Impl>(std::move(packets), options, nodes);
  if (options.dns_names == CaptureSightingOptions::DnsNames::kUse) {
    WF_ASSIGN(auto first, CaptureStream::Open(path));
    LearnNames(*first, impl->names());
  }
  return std::unique_ptr<CaptureSightings>(new CaptureSightings(std::move(impl)));
}

Result<std::unique_ptr<CaptureSightings>> CaptureSightings::OpenBytes(
    std::string_view bytes, const std::string& name, const CaptureSightingOptions& options,
    StringTable& nodes) {
  WF_ASSIGN(auto packets, CaptureStream::OpenBytes(bytes, name));
  auto impl = std::make_unique<Impl>(std::move(packets), options, nodes);
  if (options.dns_names == CaptureSightingOptions::DnsNames::kUse) {
    WF_ASSIGN(auto first, CaptureStream::OpenBytes(bytes, name));
    LearnNames(*first, impl->names());
  }
  return std::unique_ptr<CaptureSightings>(new CaptureSightings(std::move(impl)));
}

Result<bool> CaptureSightings::Next(SightingLine& line) { return impl_->Next(line); }
CaptureCounts CaptureSightings::counts() const { return impl_->counts(); }

}  // namespace wf::pcap
