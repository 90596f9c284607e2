// The walk and the replay over traces of 100,000 blocks: a bush, a chain, and siblings in succession. Time per block
// should not depend on the shape.
#include <benchmark/benchmark.h>

#include "analysis/critical_path/path_cases.h"
#include "analysis/critical_path/what_if.h"

namespace wf::critical_path {
namespace {

constexpr int kBlocks = 100'000;

enum Shape { kBush, kChain, kSuccession };

std::string Lines(int shape) {
  std::string text = "span 1 0..400000000\n";
  std::vector<std::pair<Nanos, Nanos>> bush = {{0, 0}, {0, 400'000'000}};
  for (int i = 2; i <= kBlocks; ++i) {
    int parent = 1;
    Nanos start = i * 1000, end = i * 1000 + 1010;
    if (shape == kChain) {
      parent = i - 1;
      start = i, end = 400'000'000 - i;
    } else if (shape == kBush) {  // each has eight children, one after another
      parent = (i - 2) / 8 + 1;
      const auto [from, to] = bush[static_cast<size_t>(parent)];
      const Nanos part = (to - from) / 8;
      start = from + (i - 2) % 8 * part, end = start + part * 9 / 10;
      bush.emplace_back(start, end);
    }
    text += fmt::format("span {:x} parent={:x} {}..{}\n", i, parent, start, end);
  }
  return text;
}

void BM_Walk(benchmark::State& state) {
  testing::EventLines lines(Lines(static_cast<int>(state.range(0))));
  const Trace trace = BuildTrace(lines.batch);
  for (auto _ : state) benchmark::DoNotOptimize(FindCriticalPath(trace, {}));
  state.SetItemsProcessed(state.iterations() * kBlocks);
}
BENCHMARK(BM_Walk)->Arg(kBush)->Arg(kChain)->Arg(kSuccession)->Unit(benchmark::kMillisecond);

void BM_Between(benchmark::State& state) {
  testing::EventLines lines(Lines(static_cast<int>(state.range(0))));
  const Trace trace = BuildTrace(lines.batch);
  const Block& root = trace.blocks[trace.main_root()];
  CriticalPathOptions options;
  options.from = PathPlace{trace.main_root(), root.start_ns};
  options.to = PathPlace{trace.main_root(), root.end_ns};
  for (auto _ : state) benchmark::DoNotOptimize(FindCriticalPath(trace, options));
  state.SetItemsProcessed(state.iterations() * kBlocks);
}
BENCHMARK(BM_Between)->Arg(kBush)->Arg(kChain)->Arg(kSuccession)->Unit(benchmark::kMillisecond);

void BM_Replay(benchmark::State& state) {
  testing::EventLines lines(Lines(static_cast<int>(state.range(0))));
  const Trace trace = BuildTrace(lines.batch);
  const std::vector<WhatIf> changes = {*ParseWhatIf("type/self=0.5x")};
  for (auto _ : state) benchmark::DoNotOptimize(Replay(trace, {}, changes));
  state.SetItemsProcessed(state.iterations() * kBlocks);
}
BENCHMARK(BM_Replay)->Arg(kBush)->Arg(kChain)->Arg(kSuccession)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wf::critical_path
