// bench_packet_overhead: what it costs a network to have its packets stamped where they come to a queue (Zeno §7.4: 106
// bytes a packet). A client asks a server through a switch; all three are namespaces, the links of the switch real
// queues (tbf, 10 Mbit/s). `wherefore watch --egress` records both queues of the switch in every other block of
// requests. Requests are compared in pairs of neighbouring blocks, in changing order; the increase is the median of
// their differences over the median latency without, with the 95% interval of that median.
//
//   bench_packet_overhead WHEREFORE [--requests N]
//
// One line of JSON for each kind of request: a reply of one packet, which finds the queue empty, so that all there is is
// the way through it; and one of four, three of which wait.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "scenario/network_namespaces.h"

namespace wf {
namespace {

constexpr int kBlocks = 25;
constexpr uint16_t kPort = 7000;
constexpr size_t kRequestBytes = 200, kReplyBytes = 1200;
constexpr int kSnapBytes = 64;  // link, IP and transport headers
constexpr const char* kClient = "10.3.1.2";
constexpr const char* kServer = "10.3.2.2";
constexpr const char* kToClient = "client";  // interfaces of the switch
constexpr const char* kToServer = "server";

Error Failed(const char* what) {
  return EnvironmentError(fmt::format("{}: {}", what, std::strerror(errno)), "");
}

struct Network {
  scenario::NetworkNamespaces spaces;
  size_t client = 0, middle = 0, server = 0;

  Status Build() {
    WF_ASSIGN(client, spaces.Add("client"));
    WF_ASSIGN(middle, spaces.Add("switch"));
    WF_ASSIGN(server, spaces.Add("server"));
    spaces.Join({client, "eth", "02:00:00:00:01:01"}, {middle, kToClient, "02:00:00:00:01:02"});
    spaces.Join({server, "eth", "02:00:00:00:02:01"}, {middle, kToServer, "02:00:00:00:02:02"});
    const auto host = [&](size_t space, const char* address, const char* gateway, int link) {
      spaces.Ip(space, fmt::format("addr add {}/30 dev eth", address));
      spaces.Ip(space, "link set eth up");
      spaces.Ip(space,
                fmt::format("neigh replace {} lladdr 02:00:00:00:0{}:02 dev eth nud permanent",
                            gateway, link));
      spaces.Ip(space, fmt::format("route add default via {}", gateway));
    };
    host(client, kClient, "10.3.1.1", 1);
    host(server, kServer, "10.3.2.1", 2);
    const auto port = [&](const char* name, const char* address, const char* peer, int link) {
      spaces.Ip(middle, fmt::format("addr add {}/30 dev {}", address, name));
      spaces.Ip(middle, fmt::format("link set {} up", name));
      spaces.Ip(middle,
                fmt::format("neigh replace {} lladdr 02:00:00:00:0{}:01 dev {} nud permanent", peer,
                            link, name));
      spaces.Tc(
          middle,
          fmt::format("qdisc add dev {} root tbf rate 10mbit burst 1600 limit 1000000", name));
    };
    port(kToClient, "10.3.1.1", kClient, 1);
    port(kToServer, "10.3.2.1", kServer, 2);
    return spaces.SetUp();
  }
};

Result<int> OpenUdp(const Network& network, size_t space, uint16_t port) {
  int handle = -1;
  WF_TRY(network.spaces.Inside(space, [&]() -> Status {
    handle = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (handle < 0 ||
        ::bind(handle, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return Failed("udp");
    return {};
  }));
  return handle;
}

// Answers each request by as many packets as its first byte says.
[[noreturn]] void Serve(int handle) {
  std::array<char, 2048> request{}, reply{};
  while (true) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    auto* address = reinterpret_cast<sockaddr*>(&from);
    if (::recvfrom(handle, request.data(), request.size(), 0, address, &size) <= 0) ::_exit(0);
    for (int i = 0; i < request[0]; ++i)
      ::sendto(handle, reply.data(), kReplyBytes, 0, address, size);
  }
}

Result<double> CallMicros(int handle, int packets) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(kPort);
  ::inet_pton(AF_INET, kServer, &to.sin_addr);
  std::array<char, 2048> buffer{};
  buffer[0] = static_cast<char>(packets);
  const Nanos begin = MonotonicNow();
  if (::sendto(handle, buffer.data(), kRequestBytes, 0, reinterpret_cast<const sockaddr*>(&to),
               sizeof to) < 0)
    return Failed("request");
  for (int i = 0; i < packets; ++i)
    if (::recv(handle, buffer.data(), buffer.size(), 0) <= 0) return Failed("reply");
  return static_cast<double>(MonotonicNow() - begin) / 1000;
}

int64_t FileBytes(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? about.st_size : 0;
}

// `wherefore watch --egress` on one interface of the switch.
class Recorder {
 public:
  Status Start(const Network& network, const std::string& program, const std::string& interface,
               const std::string& out) {
    out_ = out;
    ::unlink(out.c_str());
    const std::string snap = std::to_string(kSnapBytes);
    WF_TRY(network.spaces.Inside(network.middle, [&]() -> Status {
      pid_ = ::fork();
      if (pid_ < 0) return Failed("fork");
      if (pid_ == 0) {
        const int nothing = ::open("/dev/null", O_WRONLY);
        ::dup2(nothing, 1);
        ::execl(program.c_str(), program.c_str(), "watch", "--egress", interface.c_str(), "--out",
                out.c_str(), "--snap", snap.c_str(), "--format", "json",
                static_cast<char*>(nullptr));
        ::_exit(127);
      }
      return {};
    }));
    // The header of the file says that packets are seen from now on.
    for (int i = 0; i < 3000; ++i) {
      if (FileBytes(out) >= kFileHeader) return {};
      int state = 0;
      if (::waitpid(pid_, &state, WNOHANG) == pid_) {
        pid_ = -1;
        break;
      }
      ::usleep(10'000);
    }
    return EnvironmentError("wherefore watch --egress did not start",
                            "it needs root, and a kernel with clsact");
  }
  // Bytes of packets in the file.
  int64_t Stop() {
    if (pid_ <= 0) return 0;
    ::kill(pid_, SIGINT);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    const int64_t bytes = FileBytes(out_) - kFileHeader;
    ::unlink(out_.c_str());
    return bytes;
  }
  ~Recorder() { Stop(); }

 private:
  static constexpr int64_t kFileHeader = 24;
  pid_t pid_ = -1;
  std::string out_;
};

struct Measured {
  std::vector<double> differences, without;
  int64_t bytes = 0, packets = 0;
};

Status Measure(const Network& network, int client, const std::string& program, int requests,
               int packets, Measured& measured) {
  const std::string folder = fmt::format("/tmp/wherefore-bench-{}", ::getpid());
  ::mkdir(folder.c_str(), 0700);
  const int per_block = std::max(1, requests / kBlocks);
  const auto block = [&](std::vector<double>& times) -> Status {
    for (int i = 0; i < per_block + 2; ++i) {
      // Until the queues have sent what they hold and may send a packet at once again: else a request waits for the one
      // before, whatever else it costs.
      ::usleep(1500u * static_cast<unsigned>(packets));
      WF_ASSIGN(const double micros, CallMicros(client, packets));
      if (i >= 2) times.push_back(micros);  // the first two find cold caches
    }
    return {};
  };
  const auto recorded = [&](std::vector<double>& times) -> Status {
    Recorder there, back;
    WF_TRY(there.Start(network, program, kToServer, folder + "/there.pcap"));
    WF_TRY(back.Start(network, program, kToClient, folder + "/back.pcap"));
    WF_TRY(block(times));
    measured.bytes += there.Stop() + back.Stop();
    measured.packets += (per_block + 2) * (1 + packets);
    return {};
  };
  for (int round = 0; round < kBlocks; ++round) {
    std::vector<double> with, without;
    if (round % 2 == 0) WF_TRY(block(without));
    WF_TRY(recorded(with));
    if (round % 2 == 1) WF_TRY(block(without));
    for (int i = 0; i < per_block; ++i) {
      const auto at = static_cast<size_t>(i);
      measured.differences.push_back(with[at] - without[at]);
      measured.without.push_back(without[at]);
    }
  }
  ::rmdir(folder.c_str());
  return {};
}

void Print(Measured& measured, int packets) {
  std::sort(measured.differences.begin(), measured.differences.end());
  std::sort(measured.without.begin(), measured.without.end());
  const auto n = static_cast<double>(measured.differences.size());
  const double base = measured.without[measured.without.size() / 2];
  // So many places to each side of the middle: the binomial's 95%.
  const auto at = [&](double place) {
    return measured.differences[static_cast<size_t>(std::clamp(place, 0.0, n - 1))];
  };
  const double middle = at(n / 2), low = at(n / 2 - 0.98 * std::sqrt(n)),
               high = at(n / 2 + 0.98 * std::sqrt(n));
  fmt::print(
      "{{\"reply_packets\":{},\"requests\":{},\"latency_us\":{:.0f},\"difference_us\":{:.1f},"
      "\"increase\":{:.1f},\"low\":{:.1f},\"high\":{:.1f},\"packets\":{},\"bytes_per_packet\":{:."
      "0f}}}\n",
      packets, measured.differences.size(), base, middle, 100 * middle / base, 100 * low / base,
      100 * high / base, measured.packets,
      static_cast<double>(measured.bytes) / static_cast<double>(measured.packets));
}

Status Run(const std::string& program, int requests) {
  Network network;
  WF_TRY(network.Build());
  WF_ASSIGN(const int server, OpenUdp(network, network.server, kPort));
  WF_ASSIGN(const int client, OpenUdp(network, network.client, 0));
  timeval patience{5, 0};
  ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const pid_t serving = ::fork();
  if (serving == 0) Serve(server);
  Status result;
  for (const int packets : {1, 4}) {
    Measured measured;
    result = Measure(network, client, program, requests, packets, measured);
    if (!result.ok()) break;
    Print(measured, packets);
  }
  ::kill(serving, SIGKILL);
  ::waitpid(serving, nullptr, 0);
  return result;
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) {
  int requests = 1000;
  for (int i = 2; i + 1 < argc; i += 2)
    if (std::strcmp(argv[i], "--requests") == 0) requests = std::atoi(argv[i + 1]);
  if (argc < 2 || requests <= 0) {
    fmt::print(stderr, "bench_packet_overhead WHEREFORE [--requests N]\n");
    return 2;
  }
  const wf::Status status = wf::Run(argv[1], requests);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_packet_overhead: {}\n", status.error().message);
  return 3;
}
