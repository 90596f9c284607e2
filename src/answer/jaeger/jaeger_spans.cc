#include "answer/jaeger/jaeger_spans.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "model/trace_builder.h"

namespace wf::answer {
namespace {

// Jaeger has no kinds for waiting and holding; the name tells them apart.
SpanKind KindOf(BlockKind kind) {
  return kind <= BlockKind::kConsumer ? static_cast<SpanKind>(kind) : SpanKind::kInternal;
}

std::string NameOf(const Trace& trace, const Block& block) {
  const std::string name(trace.str(block.name));
  if (block.kind <= BlockKind::kConsumer) return name;
  const std::string kind(BlockKindName(block.kind));
  return name.empty() ? kind : name + " (" + kind + ")";
}

// `points`: the block's own, in time order.
void AddBlock(const Trace& trace, const Block& block, const std::vector<uint32_t>& points,
              RowCopier& copier, EventBatch& out) {
  copier.Copy(block.row);  // its process, scope, attributes and receipt
  if (trace.events->type[block.row] == EventType::kSpan) return;
  out.type.back() = EventType::kSpan;
  out.id1.back() = block.id;
  out.id2.back() = block.parent == kNone ? 0 : trace.blocks[block.parent].id;
  out.parent_ref.back() = block.async() ? ParentRef::kFollowsFrom : ParentRef::kChildOf;
  out.start_ns.back() = block.raw_start_ns;
  out.end_ns.back() = block.raw_end_ns;
  out.marks.back() = (block.marks & kBlockNoEnd) != 0 ? kHasStart : kHasStart | kHasEnd;
  out.kind.back() = KindOf(block.kind);
  out.status.back() = block.status;
  out.name.back() = out.strings.Intern(NameOf(trace, block));
  for (const uint32_t index : points) {
    const Point& point = trace.points[index];
    PutPoint({point.raw_time_ns, out.strings.Intern(trace.str(point.name)), {}}, out.bytes);
  }
  out.EndPoints();
}

}  // namespace

EventBatch BlocksAsSpans(EventBatch batch) {
  const auto is_span = [](EventType type) { return type == EventType::kSpan; };
  if (std::all_of(batch.type.begin(), batch.type.end(), is_span)) return batch;

  std::vector<std::vector<uint32_t>> traces;
  std::unordered_map<TraceId, size_t> index;
  for (uint32_t row = 0; row < batch.size(); ++row) {
    const auto [at, is_new] = index.try_emplace(batch.trace_id(row), traces.size());
    if (is_new) traces.emplace_back();
    traces[at->second].push_back(row);
  }
  EventBatch out;
  out.tenant = batch.tenant;
  out.received_ns = batch.received_ns;
  RowCopier copier(batch, out);
  BuildOptions options;
  options.clock = ClockMode::kRaw;
  for (const std::vector<uint32_t>& rows : traces) {
    if (std::all_of(rows.begin(), rows.end(),
                    [&](uint32_t row) { return is_span(batch.type[row]); })) {
      for (const uint32_t row : rows) copier.Copy(row);
      continue;
    }
    const Trace trace = BuildTrace(batch, rows, options);
    std::vector<std::vector<uint32_t>> points_of(trace.blocks.size());
    for (uint32_t point = 0; point < trace.points.size(); ++point) {
      const Point& p = trace.points[point];
      if (p.type == PointType::kEvent) points_of[p.block].push_back(point);
    }
    for (uint32_t b = 0; b < trace.blocks.size(); ++b) {
      const Block& block = trace.blocks[b];
      if (block.row != kNone) AddBlock(trace, block, points_of[b], copier, out);
    }
  }
  return out;
}

}  // namespace wf::answer
