// ns of CPU per span of the ingest decoder, on the load of docs/measured/benchmarks.md: 512 spans a request, 6 resource
// attributes, 8 span attributes, about 316 bytes a span on the wire. Budget: 800 ns.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "base/hash.h"
#include "import/decode/attribute_writer.h"
#include "import/otlp/otlp_decoder.h"
#include "import/otlp/otlp_encoder.h"

namespace wf::otlp {
namespace {

constexpr int kSpans = 512;

EventBatch MakeBatch(uint64_t seed) {
  EventBatch batch;
  decode::DecodeOptions options;
  decode::DecodeReport report;
  decode::AttributeWriter writer(batch, options, report);
  uint64_t state = seed;
  const auto random = [&](uint64_t below) {
    return MixBits(state += 0x9E3779B97F4A7C15ull) % below;
  };

  writer.StartList(decode::AttributePlace::kProcess);
  writer.Text("service.name", fmt::format("service-{}", random(10)));
  writer.Text("service.instance.id", fmt::format("instance-{}", random(3)));
  writer.Text("host.name", fmt::format("host-{}", random(30)));
  writer.Int("process.pid", static_cast<int64_t>(random(30000)));
  writer.Text("telemetry.sdk.language", "cpp");
  writer.Text("deployment.environment", "production");
  const uint32_t process = decode::FinishProcess(batch, 0);
  const uint32_t scope = decode::FinishScope(batch, batch.strings.Intern("shop"),
                                             batch.strings.Intern("1.0"), batch.ArenaSize());
  TraceId trace;
  for (int i = 0; i < kSpans; ++i) {
    if (i % 8 == 0) trace = {MixBits(state), random(UINT64_MAX)};
    batch.AddRow();
    batch.process.back() = process;
    batch.scope.back() = scope;
    batch.trace_hi.back() = trace.hi;
    batch.trace_lo.back() = trace.lo;
    batch.id1.back() = random(UINT64_MAX);
    batch.id2.back() = i % 8 == 0 ? 0 : random(UINT64_MAX);
    batch.start_ns.back() = 1'700'000'000'000'000'000 + static_cast<int64_t>(random(1'000'000'000));
    batch.end_ns.back() = batch.start_ns.back() + static_cast<int64_t>(random(100'000'000));
    batch.marks.back() = kHasStart | kHasEnd;
    batch.parent_ref.back() = batch.id2.back() != 0 ? ParentRef::kChildOf : ParentRef::kNone;
    batch.kind.back() = SpanKind::kServer;
    batch.name.back() = batch.strings.Intern(fmt::format("GET /op/{}", random(40)));
    writer.StartList(decode::AttributePlace::kSpan);
    writer.Text("http.request.method", random(4) == 0 ? "POST" : "GET");
    writer.Text("url.path", fmt::format("/products/{}/details", random(5000)));
    writer.Int("http.response.status_code", random(20) == 0 ? 500 : 200);
    writer.Text("user.id", fmt::format("user-{}", random(200000)));
    writer.Text("network.peer.address", fmt::format("10.0.{}.{}", random(4), random(256)));
    writer.Int("thread.id", static_cast<int64_t>(random(64)));
    writer.Int("http.request.body.size", static_cast<int64_t>(random(100000)));
    writer.Text("session.id", ToHex64(MixBits(random(UINT64_MAX))));
    batch.EndAttributes();
  }
  return batch;
}

void Decode(benchmark::State& state, const decode::DecodeOptions& options) {
  const EventBatch source = MakeBatch(7);
  std::string request;
  EncodeOtlpProtobuf(source, AllRows(source), request);
  int64_t spans = 0;
  for (auto _ : state) {
    EventBatch batch;
    decode::DecodeReport report;
    const Status status = DecodeOtlpProtobuf(request, options, batch, report);
    if (!status.ok() || report.accepted != kSpans) state.SkipWithError("not decoded");
    benchmark::DoNotOptimize(batch.bytes.data());
    spans += report.accepted;
  }
  state.counters["CPU per span"] = benchmark::Counter(
      static_cast<double>(spans), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["wire B/span"] = static_cast<double>(request.size()) / kSpans;
}

void BM_DecodeOtlpProtobuf(benchmark::State& state) { Decode(state, {}); }
BENCHMARK(BM_DecodeOtlpProtobuf);

void BM_DecodeOtlpProtobufWithRules(benchmark::State& state) {
  decode::DecodeOptions options;
  options.rules = {{true, {}, "user.*", decode::AttributeAction::kHash},
                   {true, {}, "secret.*", decode::AttributeAction::kDrop}};
  Decode(state, options);
}
BENCHMARK(BM_DecodeOtlpProtobufWithRules);

void BM_DecodeOtlpJson(benchmark::State& state) {
  const EventBatch source = MakeBatch(7);
  const std::string request = EncodeOtlpJson(source, AllRows(source));
  int64_t spans = 0;
  for (auto _ : state) {
    EventBatch batch;
    decode::DecodeReport report;
    const Status status = DecodeOtlpJson(request, {}, batch, report);
    if (!status.ok() || report.accepted != kSpans) state.SkipWithError("not decoded");
    spans += report.accepted;
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(request.size()));
  state.counters["CPU per span"] = benchmark::Counter(
      static_cast<double>(spans), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_DecodeOtlpJson);

}  // namespace
}  // namespace wf::otlp
