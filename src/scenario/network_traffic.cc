#include "scenario/network_traffic.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "import/pcap/byte_order.h"
#include "scenario/draws.h"

namespace wf::scenario {
namespace {

constexpr uint32_t kMagic = 0x77686572;  // "wher"
constexpr uint32_t kRequestBytes = 100, kResponseBytes = 1200, kCulpritBytes = 360,
                   kChatterBytes = 100;
// A response takes 80 ms on the slow link and a burst 600 ms: long against what a busy machine adds. Requests come when
// the burst is well under way.
constexpr int kBurstPackets = 192;
constexpr Nanos kBetweenRequests = 250 * kMilli, kServiceOffset = 125 * kMilli;
constexpr Nanos kBetweenBursts = 900 * kMilli, kAfterBurst = 250 * kMilli;
constexpr Nanos kChatterPeriod = 60 * kMilli;
// After the last packet was sent; the longest queue is empty by then.
constexpr Nanos kPatience = 3 * kSecond;

enum DrawFamily : uint64_t { kRequestJitter, kBurstJitter, kChatterJitter };

uint16_t SourcePort(uint32_t kind, int service) {
  switch (kind) {
    case kRequestPacket:
      return static_cast<uint16_t>(7000 + service);
    case kResponsePacket:
      return static_cast<uint16_t>(8000 + service);
    case kCulpritPacket:
      return 9000;
    default:
      return 6000;
  }
}

uint16_t DestinationPort(uint32_t kind, int service) {
  if (kind == kRequestPacket) return SourcePort(kResponsePacket, service);
  if (kind == kResponsePacket) return SourcePort(kRequestPacket, service);
  return SourcePort(kind, service);
}

std::string Payload(const TrafficTag& tag, uint32_t bytes) {
  std::string payload;
  pcap::Put32(kMagic, payload);
  pcap::Put32(tag.kind, payload);
  pcap::Put32(tag.number, payload);
  pcap::Put32(tag.part, payload);
  payload.resize(bytes, '.');
  return payload;
}

size_t HostIn(const FatTree& tree, int pod, int number) {
  for (size_t i = 0; i < tree.hosts.size(); ++i)
    if (tree.hosts[i].pod == pod) return i + static_cast<size_t>(number);
  return 0;
}

// The sockets of all hosts; each lives in its host's namespace.
class Sockets {
 public:
  ~Sockets() {
    for (const pollfd& one : polled_) ::close(one.fd);
  }
  struct Owner {
    size_t host = 0;
    uint16_t port = 0;
  };

  Status Open(const FatTree& tree, const NetworkNamespaces& network, size_t host, uint16_t port) {
    if (index_.count({host, port}) != 0) return {};
    return network.Inside(tree.hosts[host].space, [&]() -> Status {
      const int file = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      const int size = 4 << 20;
      ::setsockopt(file, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
      ::setsockopt(file, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      if (file < 0 || ::bind(file, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        const int code = errno;
        if (file >= 0) ::close(file);
        return EnvironmentError("a socket of " + tree.hosts[host].name + ": " + std::strerror(code),
                                "are there too many files open?");
      }
      index_[{host, port}] = polled_.size();
      polled_.push_back({file, POLLIN, 0});
      owners_.push_back({host, port});
      return {};
    });
  }

  Status Send(const FatTree& tree, size_t from, uint16_t from_port, size_t to, uint16_t to_port,
              const std::string& payload) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(to_port);
    std::memcpy(&address.sin_addr, tree.hosts[to].address.bytes.data(), 4);
    const ssize_t sent =
        ::sendto(polled_[index_.at({from, from_port})].fd, payload.data(), payload.size(), 0,
                 reinterpret_cast<sockaddr*>(&address), sizeof address);
    if (sent == static_cast<ssize_t>(payload.size())) return {};
    return EnvironmentError(tree.hosts[from].name + " cannot send to " + tree.hosts[to].name +
                                ": " + std::strerror(errno),
                            "is the network of namespaces whole?");
  }

  std::vector<pollfd>& polled() { return polled_; }
  const Owner& owner(size_t i) const { return owners_[i]; }

 private:
  std::vector<pollfd> polled_;
  std::vector<Owner> owners_;
  std::map<std::pair<size_t, uint16_t>, size_t> index_;
};

// What arrives: a request is answered, parts of an answer are counted.
Status Arrived(const FatTree& tree, TrafficPlan& plan, Sockets& sockets, const TrafficTag& tag) {
  if (tag.kind > kResponsePacket || tag.number >= plan.requests.size()) return {};
  ServiceRequest& request = plan.requests[tag.number];
  if (tag.kind == kRequestPacket) {
    if (request.served == 0) request.served = Now();
    request.answered = Now();
    for (uint32_t part = 0; part < kResponseParts; ++part) {
      WF_TRY(sockets.Send(
          tree, plan.servers[request.service], SourcePort(kResponsePacket, request.service),
          plan.clients[request.service], DestinationPort(kResponsePacket, request.service),
          Payload({kResponsePacket, tag.number, part}, kResponseBytes)));
    }
    return {};
  }
  if (++request.parts == kResponseParts) request.received = Now();
  return {};
}

Status Receive(const FatTree& tree, TrafficPlan& plan, Sockets& sockets) {
  char bytes[2048];
  for (size_t i = 0; i < sockets.polled().size(); ++i) {
    if (sockets.polled()[i].revents == 0) continue;
    while (true) {
      const ssize_t size = ::recv(sockets.polled()[i].fd, bytes, sizeof bytes, 0);
      if (size < 0) break;
      if (const auto tag = ReadTag({bytes, static_cast<size_t>(size)}))
        WF_TRY(Arrived(tree, plan, sockets, *tag));
    }
  }
  return {};
}

}  // namespace

std::optional<TrafficTag> ReadTag(std::string_view payload) {
  if (payload.size() < 16 || pcap::Read32(payload, 0) != kMagic) return std::nullopt;
  return TrafficTag{pcap::Read32(payload, 4), pcap::Read32(payload, 8), pcap::Read32(payload, 12)};
}

pcap::FiveTuple CulpritFlow(const FatTree& tree, const TrafficPlan& plan) {
  pcap::FiveTuple flow;
  flow.source = tree.hosts[plan.culprit].address;
  flow.destination = tree.hosts[plan.culprit_sink].address;
  flow.source_port = SourcePort(kCulpritPacket, 0);
  flow.destination_port = DestinationPort(kCulpritPacket, 0);
  flow.protocol = pcap::kProtocolUdp;
  return flow;
}

TrafficPlan PlanTraffic(const FatTree& tree, uint64_t seed, Fault fault) {
  const Draws draws(seed);
  TrafficPlan plan;
  const int pods = tree.shape.pods;
  plan.clients[0] = HostIn(tree, 0, 0);
  plan.clients[1] = HostIn(tree, 0, 1);
  plan.servers[0] = HostIn(tree, 1, 0);
  plan.servers[1] = HostIn(tree, std::min(2, pods - 1), 0);
  plan.culprit = HostIn(tree, pods - 1, 1);
  plan.culprit_sink = plan.clients[1];
  const bool whole = tree.hosts.size() >= 8;
  const int early = whole ? 8 : 5, late = whole ? 6 : 3;

  const auto jitter = [&](uint64_t family, uint64_t index) {
    return draws.Between(0, 8'000, family, index) * kMicro;
  };
  const auto request = [&](Nanos at, int service, bool is_late) {
    ServiceRequest one;
    one.number = static_cast<uint32_t>(plan.requests.size());
    one.service = service;
    one.late = is_late;
    plan.sends.push_back({at + jitter(kRequestJitter, one.number),
                          {kRequestPacket, one.number, 0},
                          plan.clients[service],
                          plan.servers[service],
                          kRequestBytes});
    plan.requests.push_back(one);
  };
  Nanos now = 100 * kMilli;
  for (int i = 0; i < early; ++i, now += kBetweenRequests) {
    for (int service : {0, 1}) request(now + service * kServiceOffset, service, false);
  }
  uint32_t culprits = 0;
  for (int i = 0; i < late; ++i, now += kBetweenBursts) {
    if (fault == Fault::kOn) {
      for (int n = 0; n < kBurstPackets; ++n) {
        plan.sends.push_back({now + jitter(kBurstJitter, static_cast<uint64_t>(i)),
                              {kCulpritPacket, culprits++, 0},
                              plan.culprit,
                              plan.culprit_sink,
                              kCulpritBytes});
      }
    }
    for (int service : {0, 1}) request(now + kAfterBurst + service * kServiceOffset, service, true);
  }
  uint32_t chatter = 0;
  for (size_t host = 0; host < tree.hosts.size(); ++host) {
    for (Nanos at = 0; at < now; at += kChatterPeriod, ++chatter) {
      plan.sends.push_back({at + jitter(kChatterJitter, chatter),
                            {kChatterPacket, chatter, 0},
                            host,
                            (host + tree.hosts.size() / 2) % tree.hosts.size(),
                            kChatterBytes});
    }
  }
  std::stable_sort(plan.sends.begin(), plan.sends.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  return plan;
}

Status RunTraffic(const FatTree& tree, const NetworkNamespaces& network, TrafficPlan& plan) {
  Sockets sockets;
  const auto service_of = [&](const TrafficTag& tag) {
    return tag.kind <= kResponsePacket ? plan.requests[tag.number].service : 0;
  };
  for (const TrafficPlan::Send& send : plan.sends) {
    const int service = service_of(send.tag);
    WF_TRY(sockets.Open(tree, network, send.from, SourcePort(send.tag.kind, service)));
    WF_TRY(sockets.Open(tree, network, send.to, DestinationPort(send.tag.kind, service)));
  }
  const Nanos begin = MonotonicNow();
  size_t next = 0;
  Nanos last = 0;
  while (true) {
    const Nanos now = MonotonicNow() - begin;
    for (; next < plan.sends.size() && plan.sends[next].at <= now; ++next) {
      const TrafficPlan::Send& send = plan.sends[next];
      const int service = service_of(send.tag);
      if (send.tag.kind == kRequestPacket) plan.requests[send.tag.number].sent = Now();
      WF_TRY(sockets.Send(tree, send.from, SourcePort(send.tag.kind, service), send.to,
                          DestinationPort(send.tag.kind, service), Payload(send.tag, send.bytes)));
      last = now;
    }
    const bool all = std::all_of(plan.requests.begin(), plan.requests.end(),
                                 [](const ServiceRequest& r) { return r.received != 0; });
    if (next == plan.sends.size() && (all || now > last + kPatience)) return {};
    Nanos wait = 50 * kMilli;
    if (next < plan.sends.size()) wait = std::min(wait, plan.sends[next].at - now);
    timespec timeout = {0, static_cast<long>(std::max<Nanos>(wait, 0))};
    if (::ppoll(sockets.polled().data(), sockets.polled().size(), &timeout, nullptr) > 0)
      WF_TRY(Receive(tree, plan, sockets));
  }
}

}  // namespace wf::scenario
