// Messages of a capture against the bare loop that reads it: HTTP/1.1 over kept-alive connections with bodies of 1 kB,
// out of the page cache. `ratio` is of packets per second, each taken as the best of several passes in turn.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <pcap/pcap.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "import/pcap/capture_sightings.h"
#include "import/pcap/capture_writer.h"
#include "import/pcap/packet_encoder.h"

namespace wf::pcap {
namespace {

constexpr int kConnections = 64;
constexpr int64_t kPackets = 1'200'000;

// Two packets an exchange, and with `acks` a third that only acknowledges.
struct Load {
  std::string path;
  int64_t packets = 0, exchanges = 0, bytes = 0;
};

class LoadWriter {
 public:
  explicit LoadWriter(const std::string& path) {
    auto created = CaptureWriter::Create(path, LinkType::kEthernet);
    WF_CHECK(created.ok());
    writer_ = std::move(*created);
    load_.path = path;
  }

  Load Write(bool acks) {
    struct Connection {
      FiveTuple forth, back;
      uint32_t client = 0, server = 0;
    };
    std::vector<Connection> connections(kConnections);
    for (int i = 0; i < kConnections; ++i) {
      FiveTuple flow{Ipv4Address(10, 0, 0, static_cast<uint8_t>(i % 8)), Ipv4Address(10, 0, 1, 1),
                     static_cast<uint16_t>(40000 + i), 8080, kProtocolTcp};
      Connection& c = connections[i];
      c.forth = flow;
      c.back = {flow.destination, flow.source, flow.destination_port, flow.source_port,
                kProtocolTcp};
      c.client = 1000u * i;
      c.server = 77777u * i;
      Put(EncodeTcpPacket(c.forth, c.client++, 0, kTcpSyn, {}));
      Put(EncodeTcpPacket(c.back, c.server++, c.client, kTcpSyn | kTcpAck, {}));
    }
    const std::string body(1024, 'x');
    for (int64_t i = 0; load_.packets < kPackets; ++i) {
      Connection& c = connections[static_cast<size_t>(i * 7919 % kConnections)];
      const std::string request = fmt::format(
          "GET /items/{} HTTP/1.1\r\nHost: shop.example:8080\r\nUser-Agent: load/1.0\r\n"
          "Accept: */*\r\nX-Request-Id: {:016x}\r\n\r\n",
          i % 5000, i * 0x9E3779B97F4A7C15ull);
      const std::string response =
          "HTTP/1.1 200 OK\r\nServer: shop\r\nDate: Sun, 15 Nov 2026 12:00:00 GMT\r\n"
          "Content-Type: application/json\r\nContent-Length: 1024\r\nConnection: "
          "keep-alive\r\n\r\n" +
          body;
      Put(EncodeTcpPacket(c.forth, c.client, c.server, kTcpPsh | kTcpAck, request, NextId()));
      c.client += static_cast<uint32_t>(request.size());
      Put(EncodeTcpPacket(c.back, c.server, c.client, kTcpPsh | kTcpAck, response, NextId()));
      c.server += static_cast<uint32_t>(response.size());
      if (acks) Put(EncodeTcpPacket(c.forth, c.client, c.server, kTcpAck, {}, NextId()));
      ++load_.exchanges;
    }
    WF_CHECK(writer_->Close().ok());
    return load_;
  }

 private:
  uint16_t NextId() { return ++id_; }
  void Put(const std::string& packet) {
    static const std::string ethernet("\2\0\0\0\0\1\2\0\0\0\0\2\x08\0", 14);
    time_ += 3 * kMicro;
    writer_->Write(time_, ethernet + packet);
    ++load_.packets;
    load_.bytes += static_cast<int64_t>(packet.size() + ethernet.size());
  }

  std::unique_ptr<CaptureWriter> writer_;
  Load load_;
  Nanos time_ = 1'794'643'200 * kSecond;
  uint16_t id_ = 0;
};

// Of this thread's processor time: nothing here waits, and other programs must not be measured.
double Seconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double BareLoop(const Load& load) {
  const double start = Seconds();
  char why[PCAP_ERRBUF_SIZE];
  pcap_t* pcap = pcap_open_offline(load.path.c_str(), why);
  WF_CHECK(pcap != nullptr);
  pcap_pkthdr* header = nullptr;
  const unsigned char* bytes = nullptr;
  int64_t packets = 0;
  while (pcap_next_ex(pcap, &header, &bytes) == 1) ++packets;
  pcap_close(pcap);
  WF_CHECK(packets == load.packets);
  return Seconds() - start;
}

double Sightings(const Load& load) {
  const double start = Seconds();
  StringTable nodes;
  auto source = CaptureSightings::Open(load.path, {}, nodes);
  WF_CHECK(source.ok());
  SightingLine line;
  int64_t calls = 0, returns = 0;
  for (;;) {
    const Result<bool> more = (*source)->Next(line);
    WF_CHECK(more.ok());
    if (!*more) break;
    calls += line.sighting.kind == MessageKind::kCall ? 1 : 0;
    returns += line.sighting.kind == MessageKind::kReturn ? 1 : 0;
  }
  WF_CHECK(calls == load.exchanges && returns == load.exchanges);
  return Seconds() - start;
}

void BM_CaptureAgainstBareLoop(benchmark::State& state) {
  const std::string path = fmt::format("{}/capture_bench.{}.pcap",
                                       std::filesystem::temp_directory_path().string(), ::getpid());
  const Load load = LoadWriter(path).Write(state.range(0) != 0);
  double bare = 1e9, sightings = 1e9;
  for (auto _ : state) {
    bare = std::min(bare, BareLoop(load));
    sightings = std::min(sightings, Sightings(load));
  }
  std::filesystem::remove(path);
  const auto packets = static_cast<double>(load.packets);
  state.counters["bytes_per_packet"] = static_cast<double>(load.bytes) / packets;
  state.counters["bare_packets_per_s"] = packets / bare;
  state.counters["packets_per_s"] = packets / sightings;
  state.counters["ratio"] = bare / sightings;
}
BENCHMARK(BM_CaptureAgainstBareLoop)
    ->ArgName("acks")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wf::pcap
