// The maintenance service scans storage in sweeps. Healthy, a sweep asks for four scans one after
// another, twice a second. In the trouble `maintenance-flood` a sweep asks for 500 scans, up to 96
// at once: storage works them off in order of arrival, and every other request waits behind them
// (Zeno, figure 1). No trace of a customer's request contains any of it.
#include <atomic>
#include <thread>
#include <vector>

#include "peer.h"
#include "roles.h"

namespace shop {

using wherefore::Block;
using wherefore::ContextScope;
using wherefore::RequestContext;

namespace {

struct SweepPlan {
  int scans;
  int at_once;
  double pause_ms;  // before the next sweep: long enough that some requests meet no flood
};
constexpr SweepPlan kHealthy{4, 1, 500};
constexpr SweepPlan kFlood{500, 96, 2500};

void Sweep(wherefore::Tracer& tracer, Peer& storage, const SweepPlan& plan,
           const std::atomic<bool>& stopping) {
  Block sweep(tracer, "sweep");
  sweep.Label("shop.scans", plan.scans);
  sweep.Label("shop.scans.at_once", plan.at_once);
  const RequestContext context = RequestContext::Current();
  std::atomic<int> left{plan.scans};
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(plan.at_once));
  for (int i = 0; i < plan.at_once; ++i) {
    threads.emplace_back([&] {
      const ContextScope scope(context);
      while (!stopping && left.fetch_sub(1) > 0) storage.Call("GET", "/scan?table=orders");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int RunMaintenance(const Settings& settings) {
  wherefore::Tracer tracer(TracerOptionsFor("maintenance", settings));
  const SweepPlan plan = settings.trouble == "maintenance-flood" ? kFlood : kHealthy;
  Peer storage(tracer, "storage", settings.peers.at("storage"), plan.at_once);
  // Answers /ready, and nothing else.
  const HttpServer server(settings.listen_fd, 1, [](const Request&) {
    return Response{404, "nothing here"};
  });
  std::atomic<bool> stopping{false};
  std::thread sweeper([&] {
    while (!stopping) {
      for (double slept = 0; slept < plan.pause_ms && !stopping; slept += 50) WorkFor(50, 50);
      if (!stopping) Sweep(tracer, storage, plan, stopping);
    }
  });
  WaitForStop();
  stopping = true;
  sweeper.join();
  Finish("maintenance", tracer);
  return 0;
}

}  // namespace shop
