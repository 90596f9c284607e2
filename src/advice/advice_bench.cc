// The hot path of a woven tracepoint (one observe, one filter, one aggregate emit; the limit is 300 ns) and the baggage
// of figure 10: tuples of 8 bytes.
#include <benchmark/benchmark.h>

#include <random>

#include "advice/advice_test_support.h"
#include "advice/interpreter.h"

namespace wf::advice {
namespace {

class DeltaEvent : public Event {
 public:
  Value Variable(std::string_view name) const override {
    if (name == "delta") return int64_t{4096};
    if (name == "host") return std::string("datanode7");
    return {};
  }
  int64_t time_ns() const override { return 1; }
  std::string_view id() const override { return "12345678"; }
};

void ObserveFilterEmit(benchmark::State& state) {
  Emit emit{{{Column(1)}, {Over(AggregateKind::kSum, Column(0))}}, true, {Column(0), Column(1)}};
  const Program program =
      MakeProgram({{{"incrBytesRead"},
                    {Observe{{"delta", "host"}},
                     Filter{Compared(Op::kGreater, Column(0), Constant(int64_t{100}))}, emit}}});
  TestBaggage baggage;
  TestEmitter emitter(program);
  const DeltaEvent event;
  for (auto _ : state)
    benchmark::DoNotOptimize(RunAdvice(program, "incrBytesRead", event, baggage, emitter));
}
BENCHMARK(ObserveFilterEmit);

void UnpackEmit(benchmark::State& state) {
  Pack pack{0, Keep::kFirst, 1, {{Column(0)}, {}}};
  Emit emit{{{Column(1)}, {Over(AggregateKind::kSum, Column(0))}}, true, {Column(0), Column(1)}};
  const Program program =
      MakeProgram({{{"ClientProtocols"}, {Observe{{"host"}}, pack}},
                   {{"incrBytesRead"}, {Observe{{"delta"}}, Unpack{0, false, {}}, emit}}});
  TestBaggage baggage;
  TestEmitter emitter(program);
  const DeltaEvent event;
  RunAdvice(program, "ClientProtocols", event, baggage, emitter);
  for (auto _ : state)
    benchmark::DoNotOptimize(RunAdvice(program, "incrBytesRead", event, baggage, emitter));
}
BENCHMARK(UnpackEmit);

Slot EightByteSlot() {
  Slot slot;
  slot.columns = 1;
  return slot;
}

std::vector<int64_t> EightBytes(size_t count) {
  std::mt19937_64 random(1);
  std::vector<int64_t> values(count);
  for (int64_t& value : values) value = static_cast<int64_t>(random());
  return values;
}

PackedTuples Packed(const std::vector<int64_t>& values) {
  const Slot slot = EightByteSlot();
  PackedTuples packed(slot);
  for (const int64_t number : values) {
    Value value = number;
    packed.AddRow(slot, &value, 1, nullptr);
  }
  return packed;
}

void PackTuples(benchmark::State& state) {
  const std::vector<int64_t> values = EightBytes(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Packed(values));
}
void UnpackTuples(benchmark::State& state) {
  const PackedTuples packed = Packed(EightBytes(static_cast<size_t>(state.range(0))));
  const Slot slot = EightByteSlot();
  for (auto _ : state) {
    PackedTuples merged = packed;
    benchmark::DoNotOptimize(merged);
  }
}
void SerialiseTuples(benchmark::State& state) {
  const PackedTuples packed = Packed(EightBytes(static_cast<size_t>(state.range(0))));
  const Slot slot = EightByteSlot();
  for (auto _ : state) {
    std::string bytes;
    packed.Encode(slot, bytes);
    benchmark::DoNotOptimize(bytes);
  }
}
void DeserialiseTuples(benchmark::State& state) {
  const Slot slot = EightByteSlot();
  std::string bytes;
  Packed(EightBytes(static_cast<size_t>(state.range(0)))).Encode(slot, bytes);
  for (auto _ : state) {
    PackedTuples packed;
    benchmark::DoNotOptimize(PackedTuples::Decode(slot, bytes, packed));
  }
}
BENCHMARK(PackTuples)->RangeMultiplier(4)->Range(1, 256);
BENCHMARK(UnpackTuples)->RangeMultiplier(4)->Range(1, 256);
BENCHMARK(SerialiseTuples)->RangeMultiplier(4)->Range(1, 256);
BENCHMARK(DeserialiseTuples)->RangeMultiplier(4)->Range(1, 256);

}  // namespace
}  // namespace wf::advice
