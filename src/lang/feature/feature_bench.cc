// What extracting features costs, for a trace of 100 and one of 7,500 spans that is modeled already.
#include <benchmark/benchmark.h>

#include "base/hash.h"
#include "lang/feature/dataset_plan.h"
#include "model/trace_builder.h"

namespace wf::feature {
namespace {

// A tree in which every span has up to four children, one after the other.
EventBatch Spans(size_t count) {
  EventBatch batch;
  batch.scopes.push_back({});
  for (int s = 0; s < 4; ++s)
    batch.processes.push_back({batch.strings.Intern("service-" + std::to_string(s)), 0, 0, 0});
  std::vector<std::pair<Nanos, Nanos>> times = {{0, kSecond * 1000}};
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) {
      const auto [start, end] = times[(i - 1) / 4];
      const Nanos slot = (end - start) / 4;
      const Nanos from = start + static_cast<Nanos>((i - 1) % 4) * slot;
      times.emplace_back(from + slot / 10, from + slot - slot / 10);
    }
    batch.AddRow();
    batch.trace_lo.back() = 1;
    batch.id1.back() = i + 1;
    batch.id2.back() = i == 0 ? 0 : (i - 1) / 4 + 1;
    batch.parent_ref.back() = i == 0 ? ParentRef::kNone : ParentRef::kChildOf;
    batch.start_ns.back() = times[i].first;
    batch.end_ns.back() = times[i].second;
    batch.marks.back() = kHasStart | kHasEnd;
    batch.process.back() = static_cast<uint32_t>(MixBits(i) % 4);
    batch.name.back() = batch.strings.Intern("op-" + std::to_string(MixBits(i) % 7));
    PutVarint(batch.strings.Intern("bytes"), batch.bytes);
    PutInt(static_cast<int64_t>(MixBits(i) % 1000), batch.bytes);
    PutVarint(batch.strings.Intern("piece"), batch.bytes);
    PutString("piece-" + std::to_string(MixBits(i) % 5), batch.bytes);
    batch.EndAttributes();
  }
  return batch;
}

void Extract(benchmark::State& state, const char* row, const char* program) {
  const EventBatch batch = Spans(static_cast<size_t>(state.range(0)));
  const Trace trace = BuildTrace(batch);
  const auto compiled = DatasetPlan::Compile({"", row, program, {}}, {});
  if (!compiled.plan) {
    state.SkipWithError(compiled.diagnostics[0].diagnostic.message.c_str());
    return;
  }
  for (auto _ : state) {
    DatasetTable table = compiled.plan->NewTable();
    benchmark::DoNotOptimize(compiled.plan->Extract(trace, table).rows);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

#define FEATURE_BENCHMARK(name, row, program)                          \
  void name(benchmark::State& state) { Extract(state, row, program); } \
  BENCHMARK(name)->Arg(100)->Arg(7500)->Unit(benchmark::kMicrosecond)

FEATURE_BENCHMARK(Flat, "", "Blocks | Duration | Sum | RecordAs(\"t\")");
FEATURE_BENCHMARK(ByLabel, "",
                  "Blocks | Filter(piece = \"piece-1\") | Counter(bytes) | Sum | RecordAs(\"b\")");
FEATURE_BENCHMARK(Ancestors, "",
                  "Blocks | Map(It | Ancestors | Count) | Max | RecordAs(\"depth\")");
FEATURE_BENCHMARK(Descendants, "",
                  "Blocks | Filter(name = \"op-1\") | Descendants | Count | RecordAs(\"n\")");
FEATURE_BENCHMARK(Path, "", "CriticalPath | Segments | Duration | Max | RecordAs(\"longest\")");
FEATURE_BENCHMARK(RowPerGroup, "Blocks | GroupBy(piece)", "Row | Duration | Sum | RecordAs(\"t\")");
FEATURE_BENCHMARK(TenColumns, "", R"(
  P = CriticalPath
  P | Blocks | Filter(name = "op-1") | Duration | Sum | RecordAs("a")
  P | Blocks | Filter(name = "op-2") | Duration | Sum | RecordAs("b")
  P | Segments | Count | RecordAs("c")
  P | Segments | Duration | Percentile(50) | RecordAs("d")
  Blocks | Count | RecordAs("e")
  Blocks | Duration | Max | RecordAs("f")
  Blocks | Filter(piece = "piece-1") | Counter(bytes) | Sum | RecordAs("g")
  Blocks | Map(It | Ancestors | Count) | Max | RecordAs("h")
  Blocks | Label(service) | Distinct | Count | RecordAs("i")
  Trace | Duration | RecordAs("j"))");

void CompileFigure8(benchmark::State& state) {
  const char* program = R"(
Begin = ExecUnits | Filter(name="Client") | Points | First
DisplayDone = ExecUnits | Filter(name="Client") | Points | Filter(marker="display_done") | First
DisplayDone | Timestamp | Subtract(Begin | Timestamp) | RecordAs("display_done")
ResourceEdges = CriticalPath(Begin->DisplayDone) | Edges | Filter(type="resource")
ResourceEdges | Duration | Sum | RecordAs("res_load")
ResourceEdges | Filter(resource="css") | Counter(bytes) | Sum | RecordAs("css_bytes"))";
  for (auto _ : state)
    benchmark::DoNotOptimize(DatasetPlan::Compile({"", "", program, {}}, {}).plan.has_value());
}
BENCHMARK(CompileFigure8)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace wf::feature
