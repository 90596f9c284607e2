// What one export of 160 KB costs the server's io threads, over HTTP and over gRPC: 4 connections,
// as in the ingest benchmark, an answer from the handler itself. cpu_us is CPU time of the io
// threads a request; copy_ratio is that over the cost of moving the same bytes through a loopback
// socket with plain blocking reads, in the same run: the limit that no server here can pass.
#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "net/compression.h"
#include "net/grpc_client.h"
#include "net/grpc_server.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/socket_stream.h"

namespace wf::net {
namespace {

constexpr size_t kBodyBytes = 160'000;
constexpr int kConnections = 4;
constexpr int kRequestsEach = 2'000;

// Half random, half repeated: about what attribute values compress to.
std::string Body() {
  std::string body(kBodyBytes, 'a');
  uint64_t state = 1;
  for (size_t i = 0; i < body.size(); i += 2) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    body[i] = static_cast<char>('0' + (state >> 60));
  }
  return body;
}

Nanos ThreadCpu() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

// CPU a body for the receiving end of a TCP connection that only reads into one buffer and answers
// one byte.
double BareReadMicros() {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  WF_CHECK(listen(listener, 1) == 0);  // binds a free port
  sockaddr_storage address;
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  Nanos used = 0;
  std::thread reader([&] {
    int fd = accept(listener, nullptr, nullptr);
    std::string buffer(kBodyBytes, '\0');
    Nanos before = ThreadCpu();
    for (int i = 0; i < kRequestsEach; ++i) {
      size_t got = 0;
      while (got < kBodyBytes) {
        ssize_t n = recv(fd, buffer.data() + got, kBodyBytes - got, 0);
        WF_CHECK(n > 0);
        got += static_cast<size_t>(n);
      }
      WF_CHECK(send(fd, "x", 1, 0) == 1);
    }
    used = ThreadCpu() - before;
    close(fd);
  });
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  WF_CHECK(connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  std::string body = Body();
  char answer;
  for (int i = 0; i < kRequestsEach; ++i) {
    WF_CHECK(send(fd, body.data(), body.size(), 0) == static_cast<ssize_t>(body.size()));
    WF_CHECK(recv(fd, &answer, 1, 0) == 1);
  }
  reader.join();
  close(fd);
  close(listener);
  return static_cast<double>(used) / kMicro / kRequestsEach;
}

template <typename Send>
void Run(benchmark::State& state, IoThreads& io, const Send& send) {
  double bare = BareReadMicros();
  Nanos cpu = 0;
  int64_t requests = 0;
  for (auto _ : state) {
    Nanos before = io.CpuTime();
    std::vector<std::thread> senders;
    for (int c = 0; c < kConnections; ++c) senders.emplace_back([&] { send(kRequestsEach); });
    for (auto& sender : senders) sender.join();
    cpu += io.CpuTime() - before;
    requests += kConnections * kRequestsEach;
  }
  double micros = static_cast<double>(cpu) / kMicro / static_cast<double>(requests);
  state.counters["requests"] =
      benchmark::Counter(static_cast<double>(requests), benchmark::Counter::kIsRate);
  state.counters["cpu_us"] = micros;
  state.counters["copy_ratio"] = micros / bare;
}

Compression FormatOf(const benchmark::State& state) {
  return static_cast<Compression>(state.range(0));
}

void BM_Http(benchmark::State& state) {
  IoThreads io(2);
  HttpServer server(io);
  Url url;
  url.host = "127.0.0.1";
  url.port = server
                 .Listen(ListenAddress{}, {},
                         [](HttpRequest request, HttpResponder responder) {
                           WF_CHECK(request.body.size() == kBodyBytes);
                           responder(HttpResponse{});
                         })
                 ->port;
  std::string body = Compress(FormatOf(state), Body());
  HttpClient::Headers headers = {
      {"Content-Encoding", std::string(CompressionName(FormatOf(state)))}};
  Run(state, io, [&](int count) {
    HttpClient client(url);
    for (int i = 0; i < count; ++i) {
      WF_CHECK(client.Send("POST", "/v1/traces", headers, body)->status == 200);
    }
  });
  state.SetLabel(std::string(CompressionName(FormatOf(state))));
}

void BM_Grpc(benchmark::State& state) {
  IoThreads io(2);
  GrpcServer server(io);
  GrpcMethods methods;
  methods["/t.T/Export"] = [](GrpcRequest request, GrpcResponder responder) {
    WF_CHECK(request.message.size() == kBodyBytes);
    responder(GrpcReply{});
  };
  uint16_t port = server.Listen(ListenAddress{}, {}, std::move(methods))->port;
  std::string body = Body();
  GrpcCallOptions options;
  options.encoding = FormatOf(state);
  Run(state, io, [&](int count) {
    Result<GrpcClient> client = GrpcClient::Connect("127.0.0.1", port);
    for (int i = 0; i < count; ++i) {
      WF_CHECK(client->Call("/t.T/Export", body, options)->code == kGrpcOk);
    }
  });
  state.SetLabel(std::string(CompressionName(FormatOf(state))));
}

// identity, gzip, zstd
BENCHMARK(BM_Http)
    ->Arg(0)
    ->Arg(1)
    ->Arg(3)
    ->Iterations(1)
    ->Repetitions(3)
    ->ReportAggregatesOnly()
    ->UseRealTime();
BENCHMARK(BM_Grpc)
    ->Arg(0)
    ->Arg(1)
    ->Arg(3)
    ->Iterations(1)
    ->Repetitions(3)
    ->ReportAggregatesOnly()
    ->UseRealTime();

}  // namespace
}  // namespace wf::net
