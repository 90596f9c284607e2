#include "model/trace.h"

#include <algorithm>

namespace wf {

std::string_view BlockKindName(BlockKind kind) {
  static constexpr std::string_view kNames[] = {"unspecified", "internal", "server",
                                                "client",      "producer", "consumer",
                                                "wait",        "work",     "hold"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view PointTypeName(const Point& point) {
  switch (point.type) {
    case PointType::kBegin:
      return "begin";
    case PointType::kEnd:
      return "end";
    case PointType::kEvent:
      return "event";
    case PointType::kOfEvent:
      return wherefore::EventTypeName(point.event);
  }
  return "event";
}

std::string_view EdgeTypeName(EdgeType type) {
  static constexpr std::string_view kNames[] = {
      "request", "response", "call",         "return",    "one_way", "one_way",  "queue",
      "dequeue", "lock",     "continuation", "rpc_queue", "join",    "resource", "edge"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view AnnotationKindName(AnnotationKind kind) {
  static constexpr std::string_view kNames[] = {"label", "message", "counter", "set", "stack"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view RepairPassName(RepairPass pass) {
  static constexpr std::string_view kNames[] = {
      "shared_span_id", "duplicate_id",  "missing_block", "missing_parent",
      "cycle",          "missing_begin", "missing_end",   "end_before_start",
      "missing_unit",   "stray_point",   "half_edge",     "no_response",
      "several_roots",  "late"};
  static_assert(std::size(kNames) == kRepairPasses);
  return kNames[static_cast<size_t>(pass)];
}

std::string_view MissingWhatName(MissingWhat what) {
  static constexpr std::string_view kNames[] = {"parent", "begin",   "end",    "block",  "unit",
                                                "send",   "receive", "caller", "callee", "element"};
  return kNames[static_cast<size_t>(what)];
}

std::string_view InvariantName(Invariant invariant) {
  static constexpr std::string_view kNames[] = {"no_cycle", "block_in_unit", "point_in_block",
                                                "edge_ends", "receive_after_send"};
  return kNames[static_cast<size_t>(invariant)];
}

uint32_t Trace::Intern(std::string_view text) {
  if (text.empty()) return 0;
  const uint32_t known = events->strings.Find(text);
  if (known != UINT32_MAX) return known;
  return static_cast<uint32_t>(events->strings.size()) + own_strings.Intern(text);
}

std::pair<const Annotation*, const Annotation*> Trace::annotations_of(ElementKind element,
                                                                      uint32_t index) const {
  const auto key = std::make_pair(element, index);
  const auto less = [](const Annotation& a, const std::pair<ElementKind, uint32_t>& k) {
    return std::make_pair(a.element, a.index) < k;
  };
  const auto begin = std::lower_bound(annotations.begin(), annotations.end(), key, less);
  auto end = begin;
  while (end != annotations.end() && end->element == element && end->index == index) ++end;
  return {annotations.data() + (begin - annotations.begin()),
          annotations.data() + (end - annotations.begin())};
}

std::vector<Nanos> OwnTimes(const Trace& trace) {
  std::vector<Nanos> own(trace.blocks.size());
  for (size_t b = 0; b < trace.blocks.size(); ++b) {
    const Block& block = trace.blocks[b];
    Nanos covered = 0, reached = block.start_ns;
    // Children are ordered by start, so one sweep finds the union.
    for (uint32_t i = trace.children_begin[b]; i < trace.children_begin[b + 1]; ++i) {
      const Block& child = trace.blocks[trace.children[i]];
      if (child.async()) continue;
      const Nanos from = std::max(child.start_ns, reached);
      const Nanos to = std::min(child.end_ns, block.end_ns);
      if (to <= from) continue;
      covered = SaturatingAdd(covered, SaturatingSub(to, from));
      reached = to;
    }
    own[b] = std::max<Nanos>(0, SaturatingSub(block.duration(), covered));
  }
  return own;
}

}  // namespace wf
