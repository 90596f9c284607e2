// Data edges of 100,000 sub-computations over 1,000 pages, each touching `touches` of them, a tenth written: what a naive
// search (every pair, every page) would take hours for. The rate to watch is touches a second.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <set>

#include "analysis/lineage/data_edges.h"

namespace wf::lineage {
namespace {

recorder::Recording Synthetic(uint32_t threads, uint32_t subs, uint32_t touches) {
  constexpr uint32_t kPages = 1000, kLocks = 8;
  recorder::Recording r;
  r.depth = recorder::kSchedule | recorder::kData;
  r.objects.resize(kLocks);
  std::mt19937 draw(7);
  std::vector<std::vector<recorder::Action>> actions(threads);
  std::vector<uint64_t> sequences(kLocks, 0);
  for (uint32_t i = 0; i < subs / threads; ++i) {
    for (uint32_t t = 0; t < threads; ++t) {
      const uint32_t lock = draw() % kLocks;
      const auto role = i % 2 == 0 ? recorder::Role::kAcquireAll : recorder::Role::kReleaseAll;
      actions[t].push_back({lock, role, 0, ++sequences[lock]});
    }
  }
  for (uint32_t t = 0; t < threads; ++t) {
    recorder::ThreadFacts thread;
    thread.id = t;
    thread.started = true;
    thread.subs.begin = static_cast<uint32_t>(r.subs.size());
    for (uint32_t i = 0; i < subs / threads; ++i) {
      recorder::SubComputation sub;
      sub.thread = t;
      sub.index = i;
      sub.start_ns = int64_t{i} * 1000;
      sub.end_ns = sub.start_ns + 900;
      sub.actions = {static_cast<uint32_t>(r.actions.size()),
                     static_cast<uint32_t>(r.actions.size() + 1)};
      r.actions.push_back(actions[t][i]);
      std::set<uint64_t> pages;
      while (pages.size() < touches) pages.insert(draw() % kPages);
      sub.pages.begin = static_cast<uint32_t>(r.pages.size());
      for (const uint64_t page : pages) r.pages.push_back({page, 1, draw() % 10 == 0});
      sub.pages.end = static_cast<uint32_t>(r.pages.size());
      r.subs.push_back(sub);
    }
    thread.subs.end = static_cast<uint32_t>(r.subs.size());
    r.threads.push_back(thread);
  }
  return r;
}

void BM_DataEdges(benchmark::State& state) {
  const auto touches = static_cast<uint32_t>(state.range(0));
  const recorder::Recording r = Synthetic(8, 100'000, touches);
  uint64_t edges = 0;
  for (auto _ : state) {
    const recorder::Clocks clocks = recorder::Clocks::Compute(r);
    const auto pages = PageIndex::Build(r);
    edges = CountDataEdges(DataFlow(r, clocks, *pages));
    benchmark::DoNotOptimize(edges);
  }
  state.counters["edges"] = static_cast<double>(edges);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(r.pages.size()));
}
BENCHMARK(BM_DataEdges)->Arg(1)->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wf::lineage
