#include "tailer_load.h"

#include "base/hash.h"

namespace wf {
namespace {

constexpr int kServices = 5;
constexpr const char* kNames[] = {"render", "fetch", "query", "decode", "authorize", "log"};

uint32_t AddProcess(const std::string& service, EventBatch& batch) {
  const uint32_t begin = batch.ArenaSize();
  PutVarint(batch.strings.Intern("service.version"), batch.bytes);
  PutString("1.4.2", batch.bytes);
  batch.processes.push_back({batch.strings.Intern(service), batch.strings.Intern(service + "-host"),
                             begin, batch.ArenaSize()});
  return static_cast<uint32_t>(batch.processes.size() - 1);
}

}  // namespace

TraceId TailedTraceId(uint64_t number) { return {MixBits(number + 1), MixBits(~number)}; }

void AddTailedTrace(const TailedTrace& trace, EventBatch& batch) {
  const TraceId id = TailedTraceId(trace.number);
  if (batch.scopes.empty()) batch.scopes.push_back({});
  const auto first_process = static_cast<uint32_t>(batch.processes.size());
  AddProcess(trace.service, batch);
  for (int s = 1; s < kServices; ++s) AddProcess(trace.service + "-" + std::to_string(s), batch);
  const uint32_t size_key = batch.strings.Intern("bytes"),
                 route_key = batch.strings.Intern("route");
  // Span i hangs below span (i - 1) / 4; every level is half as long as the one above.
  for (size_t i = 0; i < trace.events; ++i) {
    const size_t parent = i == 0 ? 0 : (i - 1) / 4;
    size_t depth = 0;
    for (size_t up = i; up != 0; up = (up - 1) / 4) ++depth;
    const Nanos length = 200 * kMilli >> std::min<size_t>(depth, 12);
    const auto place = static_cast<Nanos>(i == 0 ? 0 : (i - 1) % 4);
    batch.AddRow();
    batch.trace_hi.back() = id.hi;
    batch.trace_lo.back() = id.lo;
    batch.id1.back() = (trace.number << 20) + i + 1;
    batch.id2.back() = i == 0 ? 0 : (trace.number << 20) + parent + 1;
    batch.start_ns.back() =
        trace.start_ns + static_cast<Nanos>(depth) * 10 * kMicro + place * length / 4;
    batch.end_ns.back() = batch.start_ns.back() + length / 2 + place * kMicro;
    batch.marks.back() = kHasStart | kHasEnd;
    batch.parent_ref.back() = i == 0 ? ParentRef::kNone : ParentRef::kChildOf;
    batch.kind.back() = depth % 3 == 1   ? SpanKind::kClient
                        : depth % 3 == 2 ? SpanKind::kServer
                                         : SpanKind::kInternal;
    batch.status.back() = i % 97 == 96 ? SpanStatus::kError : SpanStatus::kUnset;
    batch.name.back() = batch.strings.Intern(kNames[i % std::size(kNames)]);
    // A SERVER span runs in the next service; what is below stays there.
    batch.process.back() =
        first_process + static_cast<uint32_t>((depth / 3 + (depth % 3 == 2)) % kServices);
    PutVarint(size_key, batch.bytes);
    PutInt(static_cast<int64_t>(MixBits(trace.number * 31 + i) % 100'000), batch.bytes);
    PutVarint(route_key, batch.bytes);
    PutString(i % 3 == 0 ? "/page" : "/api/items", batch.bytes);
    batch.EndAttributes();
  }
}

}  // namespace wf
