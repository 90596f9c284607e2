#include "scenario/queue_watch.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "import/pcap/packet_decoder.h"

namespace wf::scenario {
namespace {

// Headers, and as much of the payload as tells packets apart.
constexpr size_t kSnapshot = 128;
constexpr size_t kPayload = kSnapshot - 14 - 20 - 8;
constexpr int kSocketBuffer = 16 << 20;

}  // namespace

QueueWatch::QueueWatch(packets::PacketPassages& out, Visitor visitor)
    : out_(out), sighter_(out, kPayload), visitor_(std::move(visitor)) {}

QueueWatch::~QueueWatch() {
  if (thread_.joinable()) static_cast<void>(Stop());
  for (const auto& one : switches_) ::close(one->socket);
  if (wake_ >= 0) ::close(wake_);
}

Status QueueWatch::AddSwitch(const NetworkNamespaces& network, size_t space) {
  auto added = std::make_unique<Switch>();
  added->name = network.name(space);
  WF_TRY(network.Inside(space, [&]() -> Status {
    added->socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
    if (added->socket < 0) {
      return EnvironmentError("a raw socket in " + added->name + ": " + std::strerror(errno),
                              "watching packets needs root (CAP_NET_RAW)");
    }
    const int on = 1;
    ::setsockopt(added->socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    ::setsockopt(added->socket, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBuffer, sizeof kSocketBuffer);
    struct if_nameindex* list = ::if_nameindex();
    for (auto* one = list; one != nullptr && one->if_index != 0; ++one) {
      if (std::strcmp(one->if_name, "lo") != 0)
        added->ports[static_cast<int>(one->if_index)] = one->if_name;
    }
    if (list != nullptr) ::if_freenameindex(list);
    return {};
  }));
  switches_.push_back(std::move(added));
  return {};
}

void QueueWatch::Start() {
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { Receive(); });
}

void QueueWatch::Receive() {
  std::vector<pollfd> waited;
  for (const auto& one : switches_) waited.push_back({one->socket, POLLIN, 0});
  waited.push_back({wake_, POLLIN, 0});
  while (true) {
    if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return;
    for (size_t i = 0; i < switches_.size(); ++i)
      if (waited[i].revents != 0) Drain(*switches_[i]);
    if (waited.back().revents != 0) break;
  }
  for (const auto& one : switches_) Drain(*one);  // what came before the stop
}

void QueueWatch::Drain(Switch& from) {
  while (true) {
    char bytes[kSnapshot];
    alignas(cmsghdr) char control[256];
    sockaddr_ll link = {};
    iovec part = {bytes, sizeof bytes};
    msghdr message = {};
    message.msg_name = &link;
    message.msg_namelen = sizeof link;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = ::recvmsg(from.socket, &message, 0);
    if (size < 0) return;
    Nanos time = 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec stamp = {};
      std::memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
      time = stamp.tv_sec * kSecond + stamp.tv_nsec;
    }
    pcap::PacketHeaders headers;
    const std::string_view packet(bytes, static_cast<size_t>(size));
    if (pcap::DecodePacket(pcap::LinkType::kEthernet, packet, headers) != pcap::PacketFault::kNone)
      continue;
    out_.Count("packets");
    const packets::SightedPacket sighted = sighter_.Sight(time, headers);
    if (link.sll_pkttype == PACKET_OUTGOING) {
      from.outgoing[link.sll_ifindex].push_back(sighted);
    } else {
      from.incoming.push_back(sighted);
      visitor_(headers, sighted);
    }
  }
}

Status QueueWatch::Stop() {
  if (!thread_.joinable()) return {};
  const uint64_t one = 1;
  static_cast<void>(!::write(wake_, &one, sizeof one));
  thread_.join();
  const auto by_time = [](const packets::SightedPacket& a, const packets::SightedPacket& b) {
    return a.time_ns < b.time_ns;
  };
  for (const auto& watched : switches_) {
    tpacket_stats dropped = {};
    socklen_t size = sizeof dropped;
    if (::getsockopt(watched->socket, SOL_PACKET, PACKET_STATISTICS, &dropped, &size) == 0 &&
        dropped.tp_drops != 0) {
      return EnvironmentError(watched->name + ": the kernel dropped " +
                                  std::to_string(dropped.tp_drops) + " packets that we watched",
                              "try again on a machine that does less else");
    }
    std::stable_sort(watched->incoming.begin(), watched->incoming.end(), by_time);
    for (auto& [interface, packets] : watched->outgoing) {
      std::stable_sort(packets.begin(), packets.end(), by_time);
      packets::MatchSightings({watched->name, watched->ports[interface], "0"}, watched->incoming,
                              packets, out_);
    }
  }
  return {};
}

}  // namespace wf::scenario
