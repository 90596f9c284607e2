// bench_lock_overhead: what it costs to know of locks (Zeno §7.4: dtrace added 0.8% to latency, and 270 bytes an RPC).
// A traced service in a process of its own answers one RPC at a time; each does about a millisecond of work and takes
// a lock four times. Three ways, in turns, so that what else the machine does falls on all alike:
//
//   without   spans only
//   library   locks taken through libwherefore's TracedLock
//   probe     the same service as without, watched by uprobes from outside (`wherefore watch --locks`)
//
// Requests are compared in pairs that follow each other (for the probe: of one round); the increase is the median of their
// differences over the median latency without, with the 95% interval of that median.
//
//   bench_lock_overhead [--requests N]
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "import/events/events_binary_decoder.h"
#include "import/watch/lock_events.h"
#include "import/watch/lock_probe.h"
#include "net/http_server.h"
#include "store/duckdb/duckdb_store.h"
#include "wherefore/instrument.h"

namespace {

using namespace wf;

constexpr int kLocksPerRequest = 4;
constexpr int kRounds = 25;

enum Command : char {
  kWithout = 'a',
  kLibrary = 'b',
  kWithoutIdle = 'c',
  kLibraryIdle = 'd',
  kFlush = 'f'
};

uint64_t Work(uint64_t seed, int rounds) {
  for (int i = 0; i < rounds; ++i) seed = (seed ^ seed >> 29) * 0x9E3779B97F4A7C15ull + 1;
  return seed;
}
volatile uint64_t sink;

// The service. Commands come over the socket, one byte each, and are answered by one.
[[noreturn]] void Serve(int socket) {
  char endpoint[64] = "";
  if (::recv(socket, endpoint, sizeof endpoint, MSG_WAITALL) != sizeof endpoint) _exit(1);
  wherefore::TracerOptions options;
  options.service_name = "bench";
  options.endpoint = endpoint;
  options.control = wherefore::TracerOptions::Control::kOff;
  wherefore::Tracer tracer(options);
  std::mutex table;
  char command;
  while (::read(socket, &command, 1) == 1) {
    if (command == kFlush) {
      tracer.Flush(std::chrono::seconds(10));
    } else {
      // Finer than the trace is recorded: then a TracedLock is a lock and a branch.
      const auto detail = command == kLibrary || command == kLibraryIdle
                              ? wherefore::Detail::kInternals
                              : wherefore::Detail::kEverything;
      const int work = command == kWithout || command == kLibrary ? 120'000 : 0;
      wherefore::Block block(tracer, "GET /item", wherefore::BlockKind::kServer);
      for (int i = 0; i < kLocksPerRequest; ++i) {
        const wherefore::TracedLock lock(table, "table", detail);
        sink = Work(static_cast<uint64_t>(i), work);
      }
    }
    if (::write(socket, &command, 1) != 1) break;
  }
  tracer.Shutdown(std::chrono::seconds(3));
  _exit(0);
}

class Receiver {
 public:
  Receiver() : io_(1), server_(io_) {
    const auto bound =
        server_.Listen({}, {}, [this](net::HttpRequest request, net::HttpResponder answer) {
          const std::lock_guard lock(mutex_);
          bodies_.push_back(std::string(request.body));
          answer({200, {}, "{}"});
        });
    if (!bound.ok()) std::abort();
    endpoint = "http://" + net::ToString(*bound);
  }
  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::move(bodies_);
  }
  std::string endpoint;

 private:
  std::mutex mutex_;
  std::vector<std::string> bodies_;
  net::IoThreads io_;
  net::HttpServer server_;
};

class Service {
 public:
  Service() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
    pid = ::fork();  // before this process has threads
    if (pid == 0) {
      ::close(ends[0]);
      Serve(ends[1]);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~Service() {
    ::close(socket_);
    ::waitpid(pid, nullptr, 0);
  }
  void Tell(const std::string& endpoint) {
    std::string padded = endpoint;
    padded.resize(64);  // commands follow in the same stream
    if (::write(socket_, padded.data(), padded.size()) != 64) std::abort();
  }
  double CallNs(Command command) {
    const auto start = std::chrono::steady_clock::now();
    char byte = command;
    if (::write(socket_, &byte, 1) != 1 || ::read(socket_, &byte, 1) != 1) {
      fmt::print(stderr, "bench_lock_overhead: the service ended\n");
      std::exit(3);
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
  }
  pid_t pid;

 private:
  int socket_;
};

// Medians: a request during which something else had the processor says nothing of locks.
struct Increase {
  std::vector<double> differences, without;
  void Add(double with_ns, double without_ns) {
    differences.push_back(with_ns - without_ns);
    without.push_back(without_ns);
  }
  void Print(const char* name) {
    std::sort(differences.begin(), differences.end());
    std::sort(without.begin(), without.end());
    const auto n = static_cast<double>(differences.size());
    const double base = without[without.size() / 2];
    // So many places to each side of the middle: the binomial's 95%.
    const auto at = [&](double place) {
      return differences[static_cast<size_t>(std::clamp(place, 0.0, n - 1))];
    };
    const double middle = at(n / 2), low = at(n / 2 - 0.98 * std::sqrt(n)),
                 high = at(n / 2 + 0.98 * std::sqrt(n));
    fmt::print("{:<9} {:+7.2f}%   [{:+.2f}%, {:+.2f}%]   {:.1f} µs a lock\n", name,
               100 * middle / base, 100 * low / base, 100 * high / base,
               middle / 1000 / kLocksPerRequest);
  }
};

int64_t Bytes(const std::vector<std::string>& bodies) {
  int64_t bytes = 0;
  for (const std::string& body : bodies) bytes += static_cast<int64_t>(body.size());
  return bytes;
}

// What a store of only these takes on disk.
int64_t DiskBytes(const std::vector<std::string>& bodies) {
  std::string folder = std::filesystem::temp_directory_path() / "wherefore-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  int64_t bytes = 0;
  {
    auto store = store::duckdb::OpenDuckdbStore(folder + "/store", {});
    if (!store.ok()) std::abort();
    for (const std::string& body : bodies) {
      EventBatch batch;
      decode::DecodeReport report;
      if (!events::DecodeEventsBinary(body, {}, batch, report).ok()) std::abort();
      batch.received_ns = Now();
      if (!(*store)->AppendAndWait(std::move(batch)).ok()) std::abort();
    }
    if (!(*store)->Flush().ok()) std::abort();
    const auto status = (*store)->ReadStatus("default");
    if (status.ok()) bytes = status->disk_bytes;
  }
  std::filesystem::remove_all(folder);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  int requests = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--requests") == 0) requests = std::atoi(argv[i + 1]);
  }
  const int per_round = std::max(1, requests / kRounds);
  Service service;
  Receiver receiver;
  service.Tell(receiver.endpoint);
  for (int i = 0; i < 100; ++i) service.CallNs(i % 2 == 0 ? kWithout : kLibrary);

  const auto process = watch::WatchedProcess::Look(service.pid);
  if (!process.ok()) return 3;
  watch::LockEvents probed_events(*process);
  const auto attach = [&] {
    return watch::LockProbe::Attach(*process, {0}, [&](const watch::LockHolding& holding) {
      probed_events.Add(holding, Now() - MonotonicNow());
    });
  };
  std::string unprobed;
  Increase library, probe;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> with, without, probed, alone;
    for (int i = 0; i < per_round; ++i) {
      // Which of the two comes first changes too.
      const bool first = (i + round) % 2 == 0;
      if (first) without.push_back(service.CallNs(kWithout));
      with.push_back(service.CallNs(kLibrary));
      if (!first) without.push_back(service.CallNs(kWithout));
    }
    for (int i = 0; i < per_round; ++i) library.Add(with[i], without[i]);

    for (int i = 0; i < per_round; ++i) alone.push_back(service.CallNs(kWithout));
    auto attached = attach();
    if (!attached.ok()) {
      unprobed = attached.error().message;
      continue;
    }
    for (int i = 0; i < per_round; ++i) probed.push_back(service.CallNs(kWithout));
    if (!(*attached)->Poll(0).ok()) return 3;
    for (int i = 0; i < per_round; ++i) probe.Add(probed[i], alone[i]);
  }
  const int64_t probed_requests = static_cast<int64_t>(probe.without.size());
  const std::vector<std::string> probe_bodies = probed_events.TakeAll();

  // Bytes: more requests, without the work, so that what a store takes for itself does not count.
  constexpr int kForBytes = 20'000;
  const auto collect = [&](Command command) {
    service.CallNs(kFlush);
    receiver.Take();
    for (int i = 0; i < kForBytes; ++i) {
      service.CallNs(command);
      if (i % 1000 == 999) service.CallNs(kFlush);
    }
    return receiver.Take();
  };
  const std::vector<std::string> plain = collect(kWithoutIdle), locks = collect(kLibraryIdle);

  std::sort(library.without.begin(), library.without.end());
  fmt::print("{} requests each way in {} rounds, {:.2f} ms a request, {} locks taken in each\n\n",
             per_round * kRounds, kRounds, library.without[library.without.size() / 2] / 1e6,
             kLocksPerRequest);
  fmt::print("latency   increase   95% interval       (the paper's dtrace: +0.8%)\n");
  library.Print("library");
  if (unprobed.empty()) {
    probe.Print("probe");
  } else {
    fmt::print("probe     not measured: {}\n", unprobed);
  }
  const double n = kForBytes;
  fmt::print("\nbytes an RPC, of its {} lock events    sent   on disk   (the paper's: 270)\n",
             3 * kLocksPerRequest);
  fmt::print("library                              {:6.0f}    {:6.0f}\n",
             static_cast<double>(Bytes(locks) - Bytes(plain)) / n,
             static_cast<double>(DiskBytes(locks) - DiskBytes(plain)) / n);
  if (unprobed.empty())
    fmt::print("probe                                {:6.0f}    {:>6}\n",
               static_cast<double>(Bytes(probe_bodies)) / static_cast<double>(probed_requests),
               "–");
  return 0;
}
