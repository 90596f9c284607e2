// How fast a trace is built: one of 100,000 spans, and many of 8, with the attributes of bench/ingest's load.
#include <benchmark/benchmark.h>

#include "model/trace_builder.h"

namespace wf {
namespace {

EventBatch Spans(size_t spans_per_trace, size_t traces) {
  EventBatch batch;
  batch.received_ns = 1;
  batch.scopes.push_back({});
  for (int s = 0; s < 10; ++s) {
    const uint32_t begin = batch.ArenaSize();
    PutVarint(batch.strings.Intern("service.name"), batch.bytes);
    PutString("service-" + std::to_string(s), batch.bytes);
    batch.processes.push_back({batch.strings.Intern("service-" + std::to_string(s)),
                               batch.strings.Intern("host-" + std::to_string(s)), begin,
                               batch.ArenaSize()});
  }
  const char* keys[] = {"http.method",  "url.path",   "user.id",
                        "peer.address", "session.id", "http.body.size"};
  batch.Reserve(spans_per_trace * traces);
  uint64_t random = 1;
  for (size_t t = 0; t < traces; ++t) {
    const uint64_t base = MixBits(t + 1);
    for (size_t i = 0; i < spans_per_trace; ++i) {
      random = MixBits(random + i);
      batch.AddRow();
      batch.trace_lo.back() = t + 1;
      batch.id1.back() = MixBits(base + i + 1);
      batch.id2.back() = i == 0 ? 0 : MixBits(base + i / 4 + 1 - (i / 4 == i ? 1 : 0));
      batch.parent_ref.back() = i == 0 ? ParentRef::kNone : ParentRef::kChildOf;
      batch.start_ns.back() = static_cast<Nanos>(i * 1000);
      batch.end_ns.back() = static_cast<Nanos>(spans_per_trace * 1000 + 5000 - i);
      batch.marks.back() = kHasStart | kHasEnd;
      batch.kind.back() = static_cast<SpanKind>(i % 2 == 0 ? 2 : 3);
      batch.process.back() = static_cast<uint32_t>((i + 1) / 2 % 10);
      batch.name.back() = batch.strings.Intern("operation");
      for (const char* key : keys) {
        PutVarint(batch.strings.Intern(key), batch.bytes);
        PutString("value-0123456", batch.bytes);
      }
      PutVarint(batch.strings.Intern("thread.id"), batch.bytes);
      PutInt(static_cast<int64_t>(random % 8), batch.bytes);
      batch.EndAttributes();
    }
  }
  return batch;
}

void BuildLargeTrace(benchmark::State& state) {
  const EventBatch batch = Spans(static_cast<size_t>(state.range(0)), 1);
  for (auto _ : state) benchmark::DoNotOptimize(BuildTrace(batch).blocks.data());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BuildLargeTrace)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

void BuildSmallTraces(benchmark::State& state) {
  const size_t traces = 1000, spans = 8;
  const EventBatch batch = Spans(spans, traces);
  for (auto _ : state) {
    for (size_t t = 0; t < traces; ++t) {
      std::vector<uint32_t> rows;
      for (size_t i = 0; i < spans; ++i) rows.push_back(static_cast<uint32_t>(t * spans + i));
      benchmark::DoNotOptimize(BuildTrace(batch, std::move(rows)).blocks.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(traces * spans));
}
BENCHMARK(BuildSmallTraces)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wf
