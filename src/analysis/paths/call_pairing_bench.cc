// Sightings a second through pairing: one clock, where a call goes as soon as it returns, and senders' sightings only,
// where half a million wait for what the other end might show.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "analysis/paths/call_pairing.h"

namespace wf::paths {
namespace {

enum class Ends { kPlain, kSenders, kBoth };

std::vector<Sighting> MakeSightings(Ends ends) {
  constexpr int kCalls = 1'000'000;
  constexpr int kParallel = 45;
  std::vector<Sighting> out;
  for (int i = 0; i < kCalls; ++i) {
    Sighting s;
    s.time_ns = i * 20 * kMicro;
    s.sender = 1 + static_cast<NodeId>(i % 5);
    s.receiver = 6 + static_cast<NodeId>(i % 7);
    s.id = KeyOf(std::to_string(i));
    s.kind = MessageKind::kCall;
    s.by = ends == Ends::kPlain ? SightedBy::kCommon : SightedBy::kSender;
    out.push_back(s);
    if (ends == Ends::kBoth) {
      s.by = SightedBy::kReceiver;
      s.time_ns += 3 * kMicro;
      out.push_back(s);
    }
    s.time_ns += (kParallel + i % 11) * 20 * kMicro;
    s.kind = MessageKind::kReturn;
    s.by = ends == Ends::kPlain ? SightedBy::kCommon : SightedBy::kSender;
    std::swap(s.sender, s.receiver);
    out.push_back(s);
    if (ends == Ends::kBoth) {
      s.by = SightedBy::kReceiver;
      s.time_ns += 3 * kMicro;
      out.push_back(s);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Sighting& a, const Sighting& b) { return a.time_ns < b.time_ns; });
  for (size_t i = 0; i < out.size(); ++i) out[i].place = {1, i + 1};
  return out;
}

void BM_Pair(benchmark::State& state, Ends ends) {
  const std::vector<Sighting> sightings = MakeSightings(ends);
  for (auto _ : state) {
    uint64_t calls = 0;
    CallPairing pairing({}, [&](const Call& call) { calls += call.returned ? 1 : 0; });
    for (const Sighting& s : sightings) pairing.Add(s);
    pairing.Finish();
    benchmark::DoNotOptimize(calls);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * sightings.size()));
}
BENCHMARK_CAPTURE(BM_Pair, Plain, Ends::kPlain);
BENCHMARK_CAPTURE(BM_Pair, Senders, Ends::kSenders);
BENCHMARK_CAPTURE(BM_Pair, Both, Ends::kBoth);

}  // namespace
}  // namespace wf::paths
