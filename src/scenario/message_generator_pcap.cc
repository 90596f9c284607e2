#include "scenario/message_generator_pcap.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "import/pcap/packet_encoder.h"
#include "scenario/message_generator_truth.h"

namespace wf::scenario {
namespace {

constexpr uint16_t kServerPort = 80;
// Linux's range of ports for connections that ask for none.
constexpr uint32_t kFirstPort = 32768, kLastPort = 60999;
constexpr size_t kTruthPiece = size_t{1} << 20;
constexpr uint64_t kProgressEvery = 4096;

pcap::IpAddress AddressOf(uint32_t node) {
  const uint32_t host = node + 1;
  return pcap::Ipv4Address(10, static_cast<uint8_t>(host >> 16), static_cast<uint8_t>(host >> 8),
                           static_cast<uint8_t>(host));
}

struct Connection {
  pcap::FiveTuple flow;             // from caller to callee
  uint32_t sent = 0, answered = 0;  // next sequence numbers of caller and callee
};

pcap::FiveTuple Reversed(const pcap::FiveTuple& flow) {
  return {flow.destination, flow.source, flow.destination_port, flow.source_port, flow.protocol};
}

Status CheckCaptureConfig(const GeneratorConfig& config) {
  if (config.own_clocks)
    return BadInput("skew_ms: a capture has one clock", "leave it out, or write --as text or otlp");
  if (config.nodes.size() >= 1u << 24)
    return BadInput("more nodes than addresses in 10.0.0.0/8", "write --as text");
  for (const TraceletGroup& group : config.groups) {
    for (const Tracelet& tracelet : group.tracelets) {
      for (const TraceletMessage& message : tracelet.messages) {
        if (message.kind == MessageKind::kMessage)
          return BadInput("MSG: HTTP has no message without an answer", "write --as text");
        if (message.kind == MessageKind::kReturn &&
            tracelet.messages[message.call].to != message.from)
          return BadInput(fmt::format("RET from {}: a connection has no third node",
                                      config.nodes[message.from]),
                          "write --as text");
      }
    }
  }
  return {};
}

class PcapWriter {
 public:
  PcapWriter(const GeneratorConfig& config, const GeneratorRequest& request,
             pcap::CaptureWriter& capture)
      : config_(config),
        start_(request.start),
        capture_(capture),
        generator_(config, request.seed),
        truth_(generator_, truth_text_) {}

  Result<GeneratedTrace> Run(const TextSink& truth,
                             const std::function<Status(uint64_t)>& progress) {
    GeneratedMessage message;
    while (generator_.Next(message)) {
      WF_TRY(Take(message));
      if (truth_text_.size() >= kTruthPiece) WF_TRY(FlushTruth(truth));
      if (generator_.counts().messages % kProgressEvery == 0) WF_TRY(progress(packets_));
    }
    WF_TRY(FlushTruth(truth));
    return GeneratedTrace{generator_.counts(), lines_};
  }

 private:
  struct Pair {
    std::vector<Connection*> free;
    uint32_t next_port = kFirstPort;
  };

  Status Take(const GeneratedMessage& message) {
    const TraceletMessage& shape = message.shape();
    const Nanos time = start_ + message.time;
    if (shape.kind == MessageKind::kCall) {
      WF_ASSIGN(Connection * connection, Connect(shape, time));
      in_use_[message.id] = connection;
      const std::string request = fmt::format(
          "GET /work HTTP/1.1\r\nHost: {}\r\nUser-Agent: generated\r\nAccept: */*\r\n\r\n",
          config_.nodes[shape.to]);
      Send(*connection, connection->flow, time, message, request);
      connection->sent += static_cast<uint32_t>(request.size());
      if (message.lost()) {
        truth_.Lose(*message.run, message.index);
      } else {
        truth_.Show(*message.run, message.index, lines_);
      }
      return {};
    }
    // A return that overtook its call would answer nothing.
    const auto used = in_use_.find(message.id);
    if (used == in_use_.end())
      return BadInput("a RET comes before its CALL", "give it `after`, or write --as text");
    Connection& connection = *used->second;
    const std::string response =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\ndone\n";
    Send(connection, Reversed(connection.flow), time, message, response);
    connection.answered += static_cast<uint32_t>(response.size());
    PairOf(shape.to, shape.from).free.push_back(&connection);
    in_use_.erase(used);
    return {};
  }

  Pair& PairOf(uint32_t caller, uint32_t callee) {
    return pairs_[static_cast<uint64_t>(caller) << 32 | callee];
  }

  Result<Connection*> Connect(const TraceletMessage& call, Nanos time) {
    Pair& pair = PairOf(call.from, call.to);
    if (!pair.free.empty()) {
      Connection* connection = pair.free.back();
      pair.free.pop_back();
      return connection;
    }
    if (pair.next_port > kLastPort)
      return BadInput(
          fmt::format("more than {} calls from {} to {} are open at once",
                      kLastPort - kFirstPort + 1, config_.nodes[call.from], config_.nodes[call.to]),
          "there are no more ports: let calls return, or write --as text");
    connections_.push_back(std::make_unique<Connection>());
    Connection& connection = *connections_.back();
    connection.flow = {AddressOf(call.from), AddressOf(call.to),
                       static_cast<uint16_t>(pair.next_port++), kServerPort, pcap::kProtocolTcp};
    const pcap::FiveTuple back = Reversed(connection.flow);
    Write(time, pcap::EncodeTcpPacket(connection.flow, 0, 0, pcap::kTcpSyn, "", NextIpId()));
    Write(time, pcap::EncodeTcpPacket(back, 0, 1, pcap::kTcpSyn | pcap::kTcpAck, "", NextIpId()));
    Write(time, pcap::EncodeTcpPacket(connection.flow, 1, 1, pcap::kTcpAck, "", NextIpId()));
    connection.sent = connection.answered = 1;
    return &connection;
  }

  void Send(const Connection& connection, const pcap::FiveTuple& flow, Nanos time,
            const GeneratedMessage& message, std::string_view payload) {
    if (message.lost()) return;
    const bool request = message.shape().kind == MessageKind::kCall;
    Write(time, pcap::EncodeTcpPacket(flow, request ? connection.sent : connection.answered,
                                      request ? connection.answered : connection.sent,
                                      pcap::kTcpPsh | pcap::kTcpAck, payload, NextIpId()));
    ++lines_;
  }

  void Write(Nanos time, const std::string& packet) {
    capture_.Write(time, packet);
    ++packets_;
  }

  uint16_t NextIpId() { return ++ip_id_; }

  Status FlushTruth(const TextSink& truth) {
    if (truth) WF_TRY(truth(truth_text_));
    truth_text_.clear();
    return {};
  }

  const GeneratorConfig& config_;
  const Nanos start_;
  pcap::CaptureWriter& capture_;
  MessageGenerator generator_;
  std::string truth_text_;
  GeneratedTruth truth_;
  std::map<uint64_t, Pair> pairs_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unordered_map<uint64_t, Connection*> in_use_;  // by the call's id
  uint64_t lines_ = 0, packets_ = 0;
  uint16_t ip_id_ = 0;
};

}  // namespace

Result<GeneratedTrace> GeneratePcap(const GeneratorConfig& config, const GeneratorRequest& request,
                                    pcap::CaptureWriter& capture, const TextSink& truth,
                                    const std::function<Status(uint64_t)>& progress) {
  WF_TRY(CheckCaptureConfig(config));
  return PcapWriter(config, request, capture).Run(truth, progress);
}

std::string GeneratedNodeNames(const GeneratorConfig& config) {
  std::string text;
  for (uint32_t i = 0; i < config.nodes.size(); ++i)
    text += pcap::ToString(AddressOf(i)) + " " + config.nodes[i] + "\n";
  return text;
}

}  // namespace wf::scenario
