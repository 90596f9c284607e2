// CriticalPath and what lies on one; Gaps.
#include <algorithm>
#include <map>

#include "lang/feature/plan_runner.h"

namespace wf::feature {
namespace {

critical_path::PathPlace PlaceOf(const ElementView& view, Element kind, uint32_t index,
                                 bool at_end) {
  if (kind == Element::kPoint) return {view.trace.points[index].block, view.Start(kind, index)};
  const uint32_t block = view.Base(kind, index);
  const Block& b = view.trace.blocks[block];
  return {block, at_end ? b.end_ns : b.start_ns};
}

}  // namespace

LaneVector PlanRunner::FindPaths(const Node& node) {
  const Trace& t = view_.trace;
  const bool between = node.in[0] != kNoNode;
  LaneVector out;
  out.type = node.type;
  out.lanes = between ? In(node, 0).lanes : 1;
  out.items.assign(out.lanes, kNone);
  for (size_t lane = 0; lane < out.lanes; ++lane) {
    critical_path::CriticalPathOptions options;
    if (between) {
      const LaneVector& from = In(node, 0);
      const LaneVector& to = In(node, 1);
      if (from.items[lane] == kNone || to.items[lane] == kNone) continue;
      options.from = PlaceOf(view_, from.type.element, from.items[lane], false);
      options.to = PlaceOf(view_, to.type.element, to.items[lane], true);
    }
    if (t.blocks.empty()) continue;
    if (!Charge(t.blocks.size() + t.edges.size())) return out;
    Result<critical_path::CriticalPath> path = critical_path::FindCriticalPath(t, options);
    if (!path.ok()) continue;  // one did not happen before the other: no path, null
    if (!Charge(path->segments.size())) return out;
    out.items[lane] = static_cast<uint32_t>(view_.paths.size());
    view_.paths.push_back(std::move(path).value());
  }
  return out;
}

void PlanRunner::ReachPath(Navigation navigation, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  const critical_path::CriticalPath& path = view_.paths[index];
  switch (navigation) {
    case Navigation::kSegments:
      for (const critical_path::PathSegment& segment : path.segments) {
        out.push_back(static_cast<uint32_t>(view_.segments.size()));
        view_.segments.push_back(segment);
      }
      return;
    case Navigation::kBlocks:
    case Navigation::kEdges: {
      // Each element once, with all its time on the path.
      const bool blocks = navigation == Navigation::kBlocks;
      std::map<uint32_t, Nanos> times;
      for (const critical_path::PathSegment& segment : path.segments) {
        const uint32_t element = blocks ? segment.block : segment.edge;
        if (element != kNone) times[element] += segment.end_ns - segment.start_ns;
      }
      std::vector<PathElement>& elements = blocks ? view_.path_blocks : view_.path_edges;
      for (const auto& [element, time] : times) {
        out.push_back(static_cast<uint32_t>(elements.size()));
        elements.push_back({element, time});
      }
      return;
    }
    case Navigation::kUnits:
      for (const critical_path::PathSegment& segment : path.segments) {
        if (segment.block != kNone) out.push_back(t.blocks[segment.block].unit);
      }
      return;
    case Navigation::kPoints:
      for (const critical_path::PathSegment& segment : path.segments) {
        if (segment.block == kNone) continue;
        const IndexLists& points = view_.PointsOfBlock();
        for (const uint32_t* p = points.first(segment.block); p != points.last(segment.block);
             ++p) {
          const Nanos time = t.points[*p].time_ns;
          if (segment.start_ns <= time && time <= segment.end_ns) out.push_back(*p);
        }
      }
      return;
    default:
      return;
  }
}

void PlanRunner::ReachGaps(Element kind, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  index = view_.Base(kind, index);
  kind = ElementView::BaseKind(kind);
  const Nanos start = view_.Start(kind, index), end = view_.End(kind, index);
  std::vector<uint32_t> inside;
  if (kind == Element::kBlock)
    ReachChildren(kind, index, inside);
  else
    ReachBlocks(kind, index, inside);
  if (!Charge(inside.size())) return;
  Nanos reached = start;
  const auto gap_until = [&](Nanos until) {
    if (until <= reached) return;
    out.push_back(static_cast<uint32_t>(view_.gaps.size()));
    view_.gaps.push_back({reached, until});
  };
  for (const uint32_t b : inside) {  // by start
    const Block& block = t.blocks[b];
    // Waiting is not running, and a stand-in only says that some block must have been there.
    if (block.kind == BlockKind::kWait || block.stand_in()) continue;
    if (block.end_ns <= block.start_ns) continue;
    gap_until(std::min(block.start_ns, end));
    reached = std::max(reached, block.end_ns);
  }
  gap_until(end);
}

}  // namespace wf::feature
