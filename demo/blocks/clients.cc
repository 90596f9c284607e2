// Those who use the cluster, each kind a process of its own: closed loops, one a thread. At the end each says how many
// requests it made and how long they took.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "demo/service.h"
#include "settings.h"
#include "store_client.h"
#include "wherefore/baggage.h"
#include "wherefore/tracepoint.h"

namespace blocks {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Draw = std::mt19937_64;

class Client {
 public:
  explicit Client(const Settings& settings) : settings_(settings), store_(settings) {
    for (const auto& [name, address] : settings.peers) {
      if (name.rfind("region-server-", 0) == 0)
        region_servers_.push_back(std::make_unique<RpcPeer>(name, address));
      if (name.rfind("task-manager-", 0) == 0)
        task_managers_.push_back(std::make_unique<RpcPeer>(name, address));
    }
  }

  int Run() {
    const auto until = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                                std::chrono::duration<double>(settings_.seconds));
    std::vector<std::thread> threads;
    for (int i = 0; i < settings_.threads; ++i)
      threads.emplace_back([this, i, until] { Loop(static_cast<uint64_t>(i), until); });
    for (std::thread& thread : threads) thread.join();
    std::sort(latencies_.begin(), latencies_.end());
    const auto at = [&](double q) {
      return latencies_.empty()
                 ? 0
                 : latencies_[static_cast<size_t>(q * static_cast<double>(latencies_.size() - 1))];
    };
    std::printf(
        "{\"client\":\"%s\",\"host\":\"%s\",\"requests\":%zu,\"failed\":%d,\"p50_ns\":%" PRId64
        ",\"p99_ns\":%" PRId64 ",\"max_ns\":%" PRId64 "}\n",
        settings_.kind.c_str(), settings_.host.c_str(), latencies_.size(), failed_.load(), at(0.5),
        at(0.99), at(1));
    return failed_ == 0 ? 0 : 1;
  }

 private:
  void Loop(uint64_t thread, SteadyClock::time_point until) {
    Draw draw(settings_.seed * 1000 + thread + static_cast<uint64_t>(settings_.host[0]) * 97);
    std::vector<int64_t> took;
    while (SteadyClock::now() < until &&
           (settings_.requests == 0 || begun_.fetch_add(1) < settings_.requests)) {
      const wherefore::BaggageScope request;
      const auto began = SteadyClock::now();
      if (!DoNextOp(draw)) ++failed_;
      took.push_back(std::chrono::nanoseconds(SteadyClock::now() - began).count());
      WHEREFORE_TRACEPOINT("RequestComplete", {"kind", settings_.kind}, {"ns", took.back()});
      if (settings_.think_ms > 0) shop::WorkFor(settings_.think_ms * 0.5, settings_.think_ms * 1.5);
    }
    const std::lock_guard lock(mutex_);
    latencies_.insert(latencies_.end(), took.begin(), took.end());
  }
  // One request of this kind of client.
  bool DoNextOp(Draw& draw) {
    const std::string path =
        FileName(static_cast<int>(draw() % static_cast<uint64_t>(settings_.files)));
    const std::string& kind = settings_.kind;
    if (kind == "StressTest") WHEREFORE_TRACEPOINT("StressTest.DoNextOp");
    if (kind == "StressTest" || kind == "Read8k") return store_.Read(path, 0, 8192) == 8192;
    if (kind == "FSread4m") return store_.Read(path, 0, 4u << 20) != 0;
    if (kind == "FSread64m") return store_.Read(path, 0, 64u << 20) != 0;
    if (kind == "Hget") return Ask(region_servers_, "Get", 0, draw);
    if (kind == "Hscan") return Ask(region_servers_, "Scan", 0, draw);
    // Far below the paper's sizes, ten to one as there; a split is a quarter of a megabyte.
    if (kind == "MRsort10g") return Sort(10, draw);
    if (kind == "MRsort100g") return Sort(100, draw);
    if (kind == "Open") return store_.Change("Open", path);
    if (kind == "Create") return store_.Change("Create", path + std::to_string(draw()));
    if (kind == "Compact") return store_.Change("Compact", path);
    if (kind == "Rename") {
      const std::string name = path + std::to_string(draw());
      return store_.Change("Create", name) && store_.Change("Rename", name);
    }
    return false;
  }
  static bool Ask(std::vector<std::unique_ptr<RpcPeer>>& peers, const char* method, uint64_t bytes,
                  Draw& draw) {
    WHEREFORE_TRACEPOINT("ClientProtocols", {"protocol", method});
    return !peers.empty() &&
           peers[draw() % peers.size()]->Call({method, {}, {bytes}, {}, 0}).failed == 0;
  }
  bool Sort(int splits, Draw& draw) {
    bool well = true;
    for (int i = 0; i < splits && well; ++i)
      well = Ask(task_managers_, "RunTask", 256u << 10, draw);
    WHEREFORE_TRACEPOINT("JobComplete", {"id", settings_.kind});
    return well;
  }

  const Settings& settings_;
  StoreClient store_;
  std::vector<std::unique_ptr<RpcPeer>> region_servers_, task_managers_;
  std::atomic<int64_t> begun_{0};
  std::atomic<int> failed_{0};
  std::mutex mutex_;
  std::vector<int64_t> latencies_;
};

}  // namespace

int RunClient(const Settings& settings) { return Client(settings).Run(); }

}  // namespace blocks
