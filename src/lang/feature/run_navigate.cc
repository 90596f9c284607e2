// Stages that lead from elements to elements: ExecUnits Blocks Points Edges Parent Children Ancestors Descendants Unit
// In Out. What they reach from each kind of element is the table in docs/reference/feature-language.md.
#include <algorithm>

#include "lang/feature/plan_runner.h"

namespace wf::feature {

LaneVector PlanRunner::Navigate(const Node& node) {
  const LaneVector& in = In(node, 0);
  const auto navigation = static_cast<Navigation>(node.sub);
  LaneVector out;
  out.type = node.type;
  out.lanes = in.lanes;
  out.null_lane = in.null_lane;
  if (!Charge(in.lanes)) return out;
  const bool one = node.type.shape == Shape::kElement;
  if (!one) {
    out.offsets.reserve(in.lanes + 1);
    out.offsets.push_back(0);
  }
  if (reached_.empty()) reached_.resize(view_.trace.blocks.size(), 0);
  for (size_t lane = 0; lane < in.lanes; ++lane) {
    const size_t first = out.items.size();
    ++reaching_;
    for (uint32_t i = in.begin(lane); i < in.end(lane); ++i) {
      if (in.items[i] == kNone) {
        if (!in.has_offsets() && !one) out.MarkNull(lane);
        continue;
      }
      const size_t before = out.items.size();
      Reach(navigation, in.type.element, in.items[i], out.items);
      if (!Charge(1 + out.items.size() - before)) return out;
    }
    if (one) {
      if (out.items.size() == first) out.items.push_back(kNone);
      continue;
    }
    uint32_t* end = out.items.data() + out.items.size();
    view_.Order(node.type.element, out.items.data() + first, end);
    out.items.resize(static_cast<size_t>(end - out.items.data()));
    out.offsets.push_back(static_cast<uint32_t>(out.items.size()));
  }
  return out;
}

void PlanRunner::Reach(Navigation navigation, Element kind, uint32_t index,
                       std::vector<uint32_t>& out) {
  if (kind == Element::kPath) return ReachPath(navigation, index, out);
  if (navigation == Navigation::kGaps) return ReachGaps(kind, index, out);
  index = view_.Base(kind, index);
  kind = ElementView::BaseKind(kind);
  switch (navigation) {
    case Navigation::kUnits:
    case Navigation::kUnit:
      return ReachUnits(kind, index, out);
    case Navigation::kBlocks:
      return ReachBlocks(kind, index, out);
    case Navigation::kPoints:
      return ReachPoints(kind, index, out);
    case Navigation::kEdges:
    case Navigation::kIn:
    case Navigation::kOut:
      return ReachEdges(navigation, kind, index, out);
    case Navigation::kParent:
      return ReachParent(kind, index, out);
    case Navigation::kChildren:
      return ReachChildren(kind, index, out);
    case Navigation::kAncestors:
      return ReachAncestors(kind, index, out);
    case Navigation::kDescendants:
      return ReachDescendants(kind, index, out);
    case Navigation::kSegments:
    case Navigation::kGaps:
      return;  // of a path; above
  }
}

void PlanRunner::ReachUnits(Element kind, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  switch (kind) {
    case Element::kTrace:
      for (uint32_t u = 0; u < t.units.size(); ++u) out.push_back(u);
      return;
    case Element::kUnit:
      out.push_back(index);
      return;
    case Element::kBlock:
      out.push_back(t.blocks[index].unit);
      return;
    case Element::kPoint:
      out.push_back(t.blocks[t.points[index].block].unit);
      return;
    case Element::kEdge:
      for (const uint32_t point : {t.edges[index].from, t.edges[index].to})
        out.push_back(t.blocks[t.points[point].block].unit);
      return;
    default:
      return;
  }
}

void PlanRunner::ReachBlocks(Element kind, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  switch (kind) {
    case Element::kTrace:
      out.reserve(out.size() + t.blocks.size());
      for (uint32_t b = 0; b < t.blocks.size(); ++b) out.push_back(b);
      return;
    case Element::kUnit: {
      const IndexLists& blocks = view_.BlocksOfUnit();
      out.insert(out.end(), blocks.first(index), blocks.last(index));
      return;
    }
    case Element::kBlock:
      out.push_back(index);
      return;
    case Element::kPoint:
      out.push_back(t.points[index].block);
      return;
    case Element::kEdge:
      for (const uint32_t point : {t.edges[index].from, t.edges[index].to})
        out.push_back(t.points[point].block);
      return;
    default:
      return;
  }
}

void PlanRunner::ReachPoints(Element kind, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  switch (kind) {
    case Element::kTrace:
      out.reserve(out.size() + t.points.size());
      for (uint32_t p = 0; p < t.points.size(); ++p) out.push_back(p);
      return;
    case Element::kUnit: {
      const IndexLists& blocks = view_.BlocksOfUnit();
      const IndexLists& points = view_.PointsOfBlock();
      for (const uint32_t* b = blocks.first(index); b != blocks.last(index); ++b)
        out.insert(out.end(), points.first(*b), points.last(*b));
      return;
    }
    case Element::kBlock: {
      const IndexLists& points = view_.PointsOfBlock();
      out.insert(out.end(), points.first(index), points.last(index));
      return;
    }
    case Element::kPoint:
      out.push_back(index);
      return;
    case Element::kEdge:
      out.push_back(t.edges[index].from);
      out.push_back(t.edges[index].to);
      return;
    default:
      return;
  }
}

void PlanRunner::ReachEdges(Navigation navigation, Element kind, uint32_t index,
                            std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  const bool into = navigation != Navigation::kOut, out_of = navigation != Navigation::kIn;
  const auto of_block = [&](uint32_t block) {
    if (into) out.insert(out.end(), view_.EdgesInto().first(block), view_.EdgesInto().last(block));
    if (out_of)
      out.insert(out.end(), view_.EdgesOutOf().first(block), view_.EdgesOutOf().last(block));
  };
  switch (kind) {
    case Element::kTrace:
      out.insert(out.end(), view_.EdgesInOrder().begin(), view_.EdgesInOrder().end());
      return;
    case Element::kUnit: {
      const IndexLists& blocks = view_.BlocksOfUnit();
      const size_t before = out.size();
      for (const uint32_t* b = blocks.first(index); b != blocks.last(index); ++b) of_block(*b);
      if (navigation == Navigation::kEdges) return;
      // In and Out of a unit: what crosses its border.
      const auto inside = [&](uint32_t e) {
        return t.blocks[t.points[t.edges[e].from].block].unit ==
               t.blocks[t.points[t.edges[e].to].block].unit;
      };
      out.erase(
          std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), inside),
          out.end());
      return;
    }
    case Element::kBlock:
      return of_block(index);
    case Element::kPoint: {
      const size_t before = out.size();
      of_block(t.points[index].block);
      const auto elsewhere = [&](uint32_t e) {
        return !(into && t.edges[e].to == index) && !(out_of && t.edges[e].from == index);
      };
      out.erase(
          std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), elsewhere),
          out.end());
      return;
    }
    case Element::kEdge:  // its ends: In where it leaves from, Out where it arrives
      if (navigation == Navigation::kIn) out.push_back(t.edges[index].from);
      if (navigation == Navigation::kOut) out.push_back(t.edges[index].to);
      if (navigation == Navigation::kEdges) out.push_back(index);
      return;
    default:
      return;
  }
}

void PlanRunner::ReachParent(Element kind, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  uint32_t parent = kNone;
  if (kind == Element::kBlock) parent = t.blocks[index].parent;
  if (kind == Element::kPoint) parent = t.points[index].block;
  if (kind == Element::kUnit) parent = t.units[index].parent_block;
  if (parent != kNone) out.push_back(parent);
}

void PlanRunner::ReachChildren(Element kind, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  switch (kind) {
    case Element::kTrace:
      out.insert(out.end(), t.roots.begin(), t.roots.end());
      return;
    case Element::kUnit: {
      const IndexLists& blocks = view_.BlocksOfUnit();
      for (const uint32_t* b = blocks.first(index); b != blocks.last(index); ++b) {
        const uint32_t parent = t.blocks[*b].parent;
        if (parent == kNone || t.blocks[parent].unit != index) out.push_back(*b);
      }
      return;
    }
    case Element::kBlock:
      out.insert(out.end(), t.children.begin() + t.children_begin[index],
                 t.children.begin() + t.children_begin[index + 1]);
      return;
    default:
      return;
  }
}

void PlanRunner::ReachAncestors(Element kind, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  uint32_t b = kind == Element::kPoint  ? t.points[index].block
               : kind == Element::kUnit ? t.units[index].parent_block
                                        : t.blocks[index].parent;
  for (; b != kNone && reached_[b] != reaching_; b = t.blocks[b].parent) {
    reached_[b] = reaching_;
    out.push_back(b);
  }
}

void PlanRunner::ReachDescendants(Element kind, uint32_t index, std::vector<uint32_t>& out) {
  const Trace& t = view_.trace;
  stack_.clear();
  if (kind == Element::kBlock) {
    stack_.push_back(index);
  } else {
    std::vector<uint32_t> tops;
    ReachChildren(kind, index, tops);
    for (const uint32_t b : tops) {
      if (reached_[b] == reaching_) continue;
      reached_[b] = reaching_;
      out.push_back(b);
      stack_.push_back(b);
    }
  }
  while (!stack_.empty()) {
    const uint32_t b = stack_.back();
    stack_.pop_back();
    for (uint32_t i = t.children_begin[b]; i < t.children_begin[b + 1]; ++i) {
      const uint32_t child = t.children[i];
      if (reached_[child] == reaching_) continue;  // then all below it was reached too
      reached_[child] = reaching_;
      out.push_back(child);
      stack_.push_back(child);
    }
  }
}

}  // namespace wf::feature
