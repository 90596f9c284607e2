// bench_pivot_blocks ROLE …: a process of the block store (demo/blocks), whose calls into our library are metered: what
// bench/pivot-overhead needs. The store's own objects are linked as they are; the linker leads their calls of the
// library's five functions (bench/CMakeLists.txt: --wrap) through here, where each call
//
//   --ours off        is not made: the store as if we had never touched it
//   meter on          is timed, by the time-stamp counter, less what reading that takes: our nanoseconds
//   else              is made, and nothing more: for comparing latencies
//
// What a thread spends in the library while it works for one request, scope's begin and end included, is one number; of
// these the median counts, because it stands beside a median latency, and because on a shared machine a mean holds the
// time slices of others that fell in between.
//
//   bench_pivot_blocks name-node|data-node --endpoint URL
//   bench_pivot_blocks client --endpoint URL --name-node HOST:PORT --data-node HOST:PORT [--tuples N]
//
// A server says "HOST:PORT" on stdout. Then all take commands on stdin, one a line, and answer in JSON, one line each:
// `run KIND REQUESTS` (of a client), `meter on`, `meter off`, `read`,
// `untaken`, `empty`. The end of stdin is theirs.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/queries/thread_baggage.h"
#include "client/runtime/tick_clock.h"
#include "demo/blocks/settings.h"
#include "demo/http_server.h"
#include "demo/service.h"
#include "wherefore/baggage.h"
#include "wherefore/tracepoint.h"
#include "wherefore/tracer.h"

namespace {

using wherefore::client::Ticks;

// --- The meter

enum Function { kEnter, kLeave, kAppend, kJoin, kHit, kFunctions };
constexpr const char* kNames[kFunctions] = {"enter", "leave", "append", "join", "tracepoint"};

struct Total {
  std::atomic<int64_t> calls{0}, ticks{0};
};
Total totals[kFunctions];
// Of all requests that this process took part in: our ticks in each.
std::mutex requests_mutex;
std::vector<int64_t> requests;
thread_local int64_t in_this_request;
std::atomic<bool> metering{false};
bool ours = true;          // set before any other thread starts
int64_t empty_ticks = 0;   // what reading the clock twice takes
thread_local bool within;  // the library calls itself: counted once
int tuples_to_pack = 0;    // with each request that begins here; set before it runs

class Timed {
 public:
  explicit Timed(Function function)
      : function_(function), counts_(metering.load(std::memory_order_relaxed) && !within) {
    if (!counts_) return;
    within = true;
    began_ = Ticks();
  }
  ~Timed() {
    if (!counts_) return;
    const int64_t took = Ticks() - began_ - empty_ticks;
    within = false;
    totals[function_].calls.fetch_add(1, std::memory_order_relaxed);
    totals[function_].ticks.fetch_add(std::max<int64_t>(0, took), std::memory_order_relaxed);
    in_this_request += took;
    if (function_ != kLeave) return;
    const std::lock_guard lock(requests_mutex);
    requests.push_back(std::exchange(in_this_request, 0));
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  const Function function_;
  const bool counts_;
  int64_t began_ = 0;
};

void Calibrate() {
  wherefore::client::use_time_stamp_counter = wherefore::client::TimeStampCounterIsSound();
  std::vector<int64_t> pairs(100'000);
  for (int64_t& pair : pairs) {
    const int64_t began = Ticks();
    pair = Ticks() - began;
  }
  // The mean without interruptions: the counter moves in steps.
  std::sort(pairs.begin(), pairs.end());
  pairs.resize(pairs.size() * 99 / 100);
  int64_t sum = 0;
  for (const int64_t pair : pairs) sum += pair;
  empty_ticks = sum / static_cast<int64_t>(pairs.size());
}

// Over the life of the process.
double NsPerTick() {
  static const auto began = std::make_pair(Ticks(), wherefore::client::ClockNs(CLOCK_MONOTONIC));
  const int64_t ticks = Ticks() - began.first;
  return ticks == 0
             ? 1
             : static_cast<double>(wherefore::client::ClockNs(CLOCK_MONOTONIC) - began.second) /
                   static_cast<double>(ticks);
}

// As a request that carries tuples of a query which is no longer installed here: two columns of 8 random bytes each.
void PackTuples(int count) {
  static const uint64_t query = std::random_device()() | 1ull << 40;
  static const wf::advice::Slot slot = [] {
    wf::advice::Slot two;
    two.columns = 2;
    return two;
  }();
  thread_local std::mt19937_64 draw{std::random_device()()};
  wherefore::client::BaggageLine* const line = wherefore::client::CurrentBaggage();
  if (line == nullptr) return;
  for (int i = 0; i < count; ++i) {
    wf::advice::Rows row(2, 0);
    row.AddColumn(static_cast<int64_t>(draw()));
    row.AddColumn(static_cast<int64_t>(draw()));
    row.EndRow(1);
    line->Pack(query, 0, slot, {1'000, 100'000}, 0, {}, row);
  }
}

}  // namespace

// --- Where calls come by. `self` is memory in which an object is made, or ends.

#define WF_REAL(symbol) asm("__real_" symbol)
#define WF_WRAP(symbol) asm("__wrap_" symbol)
#define WF_ENTER "_ZN9wherefore12BaggageScopeC1ESt17basic_string_viewIcSt11char_traitsIcEE"
#define WF_LEAVE "_ZN9wherefore12BaggageScopeD1Ev"
#define WF_APPEND \
  "_ZN9wherefore14append_baggageERNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define WF_JOIN "_ZN9wherefore12join_baggageESt17basic_string_viewIcSt11char_traitsIcEE"
#define WF_HIT                                                                        \
  "_ZN9wherefore8internal13HitTracepointERKNS0_10TracepointESt16initializer_listINS_" \
  "15TracepointFieldEE"

void RealEnter(void* self, std::string_view received) WF_REAL(WF_ENTER);
void WrapEnter(void* self, std::string_view received) WF_WRAP(WF_ENTER);
void WrapEnter(void* self, std::string_view received) {
  if (!ours) return;
  {
    const Timed timed(kEnter);
    RealEnter(self, received);
  }
  if (tuples_to_pack > 0) PackTuples(tuples_to_pack);
}

void RealLeave(void* self) WF_REAL(WF_LEAVE);
void WrapLeave(void* self) WF_WRAP(WF_LEAVE);
void WrapLeave(void* self) {
  if (!ours) return;
  const Timed timed(kLeave);
  RealLeave(self);
}

void RealAppend(std::string& message) WF_REAL(WF_APPEND);
void WrapAppend(std::string& message) WF_WRAP(WF_APPEND);
void WrapAppend(std::string& message) {
  if (!ours) return;
  const Timed timed(kAppend);
  RealAppend(message);
}

void RealJoin(std::string_view bytes) WF_REAL(WF_JOIN);
void WrapJoin(std::string_view bytes) WF_WRAP(WF_JOIN);
void WrapJoin(std::string_view bytes) {
  if (!ours) return;
  const Timed timed(kJoin);
  RealJoin(bytes);
}

void RealHit(const wherefore::internal::Tracepoint& tracepoint,
             std::initializer_list<wherefore::TracepointField> fields) noexcept WF_REAL(WF_HIT);
void WrapHit(const wherefore::internal::Tracepoint& tracepoint,
             std::initializer_list<wherefore::TracepointField> fields) noexcept WF_WRAP(WF_HIT);
void WrapHit(const wherefore::internal::Tracepoint& tracepoint,
             std::initializer_list<wherefore::TracepointField> fields) noexcept {
  if (!ours) return;
  const Timed timed(kHit);
  RealHit(tracepoint, fields);
}

// --- Commands

namespace {

void Meter(const std::string& state) {
  for (Total& total : totals) {
    total.calls = 0;
    total.ticks = 0;
  }
  {
    const std::lock_guard lock(requests_mutex);
    requests.clear();
    requests.reserve(1 << 16);
  }
  metering = state == "on";
  std::printf("{}\n");
}

void Read() {
  std::string functions;
  for (int i = 0; i < kFunctions; ++i) {
    char one[96];
    std::snprintf(one, sizeof one, "%s\"%s\":[%lld,%.0f]", i > 0 ? "," : "", kNames[i],
                  static_cast<long long>(totals[i].calls.load()),
                  static_cast<double>(totals[i].ticks.load()) * NsPerTick());
    functions += one;
  }
  const std::lock_guard lock(requests_mutex);
  const auto middle = requests.begin() + static_cast<std::ptrdiff_t>(requests.size() / 2);
  std::nth_element(requests.begin(), middle, requests.end());
  const double median = requests.empty() ? 0 : static_cast<double>(*middle) * NsPerTick();
  std::printf("{\"scopes\":%zu,\"median_ns\":%.1f,\"functions\":{%s}}\n", requests.size(), median,
              functions.c_str());
}

// Nanoseconds of a tracepoint that nobody asks, the least of many rounds; the loop itself is not ours.
void Untaken() {
  constexpr int kPasses = 100'000;
  double with = 1e18, without = 1e18;
  for (int round = 0; round < 50; ++round) {
    int64_t began = Ticks();
    for (int i = 0; i < kPasses; ++i) asm volatile("" : : "r"(i) : "memory");
    without = std::min(without, static_cast<double>(Ticks() - began));
    began = Ticks();
    for (int i = 0; i < kPasses; ++i) {
      WHEREFORE_TRACEPOINT("Bench.Untaken", {"i", i});
      asm volatile("" : : "r"(i) : "memory");
    }
    with = std::min(with, static_cast<double>(Ticks() - began));
  }
  std::printf("{\"ns\":%.3f}\n", std::max(0.0, with - without) * NsPerTick() / kPasses);
}

// What a request takes that carries nothing, begun, sent, answered and ended in a loop: a call may hide behind the clock's
// own latency, so that timed by itself it seems to take nothing.
void Empty() {
  constexpr int kPasses = 10'000;
  double least = 1e18;
  std::string message;
  for (int round = 0; round < 50; ++round) {
    const int64_t began = Ticks();
    for (int i = 0; i < kPasses; ++i) {
      alignas(wherefore::BaggageScope) char scope[sizeof(wherefore::BaggageScope)];
      RealEnter(scope, {});
      RealAppend(message);
      RealJoin({});
      RealLeave(scope);
    }
    least = std::min(least, static_cast<double>(Ticks() - began));
  }
  std::printf("{\"ns\":%.3f}\n", least * NsPerTick() / kPasses);
}

void Obey(blocks::Settings& settings, int tuples) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command, what;
    words >> command >> what;
    if (command == "meter") {
      Meter(what);
    } else if (command == "read") {
      Read();
    } else if (command == "untaken") {
      Untaken();
    } else if (command == "empty") {
      Empty();
    } else if (command == "run" && settings.role == "client") {
      settings.kind = what;
      words >> settings.requests;
      settings.seed += 1;
      settings.seconds = 60;
      tuples_to_pack = tuples;
      blocks::RunClient(settings);
    } else {
      std::printf("{\"error\":\"no such command\"}\n");
    }
    std::fflush(stdout);
  }
}

using Role = int (*)(const blocks::Settings&);
const std::map<std::string, Role> kRoles = {{"name-node", blocks::RunNameNode},
                                            {"data-node", blocks::RunDataNode},
                                            // Not run here, but their tracepoints are known.
                                            {"region-server", blocks::RunRegionServer},
                                            {"task-manager", blocks::RunTaskManager},
                                            {"client", blocks::RunClient}};

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 2; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  const std::string role = argc > 1 ? argv[1] : "";
  if (kRoles.count(role) == 0 || argc % 2 != 0) {
    std::fprintf(stderr, "bench_pivot_blocks: bench/pivot-overhead runs this\n");
    return 2;
  }
  ours = flags["--ours"] != "off";
  Calibrate();
  NsPerTick();
  if (role != "client") shop::BlockSignals();
  blocks::Settings settings;
  settings.role = role;
  settings.host = "A";
  std::unique_ptr<wherefore::Tracer> tracer;
  if (ours) {
    wherefore::TracerOptions options;
    options.endpoint = flags["--endpoint"];
    options.service_name = role;
    tracer = std::make_unique<wherefore::Tracer>(options);
    tracer->AwaitPolicies(std::chrono::seconds(5));
  }
  if (role == "client") {
    settings.peers["name-node"] = flags["--name-node"];
    // One data node, whatever it is called.
    for (int i = 0; i < blocks::kHostCount; ++i)
      settings.peers[std::string("data-node-") + blocks::kHosts[i]] = flags["--data-node"];
    std::printf("{}\n");
    std::fflush(stdout);
    Obey(settings, std::atoi(flags["--tuples"].c_str()));
    return 0;
  }
  settings.listen_fd = shop::ListenOn("127.0.0.1:0");
  if (settings.listen_fd < 0) return 3;
  std::printf("\"%s\"\n", shop::AddressOf(settings.listen_fd).c_str());
  std::fflush(stdout);
  std::thread commands([&settings] {
    Obey(settings, 0);
    kill(getpid(), SIGTERM);
  });
  const int status = kRoles.at(role)(settings);
  commands.join();
  return status;
}
