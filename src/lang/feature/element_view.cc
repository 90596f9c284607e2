#include "lang/feature/element_view.h"

#include <algorithm>
#include <numeric>

namespace wf::feature {
namespace {

// Counting sort: item i goes to the list of_item(i); kNone: to none. Items keep their order within a list.
template <typename OfItem>
void MakeLists(IndexLists& lists, size_t list_count, size_t item_count, const OfItem& of_item) {
  lists.begin.assign(list_count + 1, 0);
  for (uint32_t i = 0; i < item_count; ++i) {
    if (const uint32_t list = of_item(i); list != kNone) ++lists.begin[list + 1];
  }
  std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
  lists.items.resize(lists.begin.back());
  std::vector<uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  for (uint32_t i = 0; i < item_count; ++i) {
    if (const uint32_t list = of_item(i); list != kNone) lists.items[next[list]++] = i;
  }
}

}  // namespace

Element ElementView::BaseKind(Element kind) {
  switch (kind) {
    case Element::kPathBlock:
    case Element::kSegment:
      return Element::kBlock;
    case Element::kPathEdge:
      return Element::kEdge;
    default:
      return kind;
  }
}

uint32_t ElementView::Base(Element kind, uint32_t index) const {
  if (index == kNone) return kNone;
  switch (kind) {
    case Element::kPathBlock:
      return path_blocks[index].base;
    case Element::kPathEdge:
      return path_edges[index].base;
    case Element::kSegment:
      return segments[index].block;
    default:
      return index;
  }
}

Nanos ElementView::Start(Element kind, uint32_t index) const {
  switch (kind) {
    case Element::kTrace:
      return trace.start_ns;
    case Element::kUnit:
      return trace.units[index].start_ns;
    case Element::kBlock:
      return trace.blocks[index].start_ns;
    case Element::kPoint:
      return trace.points[index].time_ns;
    case Element::kEdge:
      return trace.points[trace.edges[index].from].time_ns;
    case Element::kPath:
      return paths[index].start_ns;
    case Element::kPathBlock:
      return trace.blocks[path_blocks[index].base].start_ns;
    case Element::kPathEdge:
      return Start(Element::kEdge, path_edges[index].base);
    case Element::kSegment:
      return segments[index].start_ns;
    case Element::kGap:
      return gaps[index].start_ns;
  }
  return 0;
}

Nanos ElementView::End(Element kind, uint32_t index) const {
  switch (kind) {
    case Element::kTrace:
      return trace.end_ns;
    case Element::kUnit:
      return trace.units[index].end_ns;
    case Element::kBlock:
      return trace.blocks[index].end_ns;
    case Element::kPoint:
      return trace.points[index].time_ns;
    case Element::kEdge:
      return trace.points[trace.edges[index].to].time_ns;
    case Element::kPath:
      return paths[index].end_ns;
    case Element::kPathBlock:
      return trace.blocks[path_blocks[index].base].end_ns;
    case Element::kPathEdge:
      return End(Element::kEdge, path_edges[index].base);
    case Element::kSegment:
      return segments[index].end_ns;
    case Element::kGap:
      return gaps[index].end_ns;
  }
  return 0;
}

Nanos ElementView::Duration(Element kind, uint32_t index) const {
  if (kind == Element::kPathBlock) return path_blocks[index].duration_ns;
  if (kind == Element::kPathEdge) return path_edges[index].duration_ns;
  return SaturatingSub(End(kind, index), Start(kind, index));
}

uint64_t ElementView::Id(Element kind, uint32_t index) const {
  switch (kind) {
    case Element::kUnit:
      return trace.units[index].id;
    case Element::kBlock:
      return trace.blocks[index].id;
    case Element::kPoint:
      return trace.points[index].id;
    case Element::kEdge:
      return trace.edges[index].id;
    case Element::kPathBlock:
    case Element::kPathEdge:
    case Element::kSegment:
      return Id(BaseKind(kind), Base(kind, index));
    default:
      return index;
  }
}

std::string_view ElementView::Name(Element kind, uint32_t index) const {
  switch (kind) {
    case Element::kTrace: {
      const uint32_t root = trace.main_root();
      return root == kNone ? std::string_view() : trace.str(trace.blocks[root].name);
    }
    case Element::kUnit:
      return trace.str(trace.units[index].name);
    case Element::kBlock:
      return trace.str(trace.blocks[index].name);
    case Element::kPoint:
      return trace.str(trace.points[index].name);
    case Element::kEdge:
      return trace.edge_type(trace.edges[index]);
    case Element::kPathBlock:
    case Element::kPathEdge:
    case Element::kSegment:
      return Name(BaseKind(kind), Base(kind, index));
    default:
      return {};
  }
}

bool ElementView::Stack(Element kind, uint32_t index, std::string_view& out) {
  ElementKind element;
  switch (BaseKind(kind)) {
    case Element::kUnit:
      element = ElementKind::kUnit;
      break;
    case Element::kBlock:
      element = ElementKind::kBlock;
      break;
    case Element::kPoint:
      element = ElementKind::kPoint;
      break;
    case Element::kEdge:
      element = ElementKind::kEdge;
      break;
    default:
      return false;
  }
  const auto [begin, end] = trace.annotations_of(element, Base(kind, index));
  for (const Annotation* a = begin; a != end; ++a) {
    if (a->kind != AnnotationKind::kStack || a->value.type != wf::ValueType::kString) continue;
    out = a->value.text;
    // Folded stacks ("main;load;parse") are common; frames that contain ';' come with newlines.
    if (out.find('\n') == std::string_view::npos && out.find(';') != std::string_view::npos) {
      std::string frames(out);
      std::replace(frames.begin(), frames.end(), ';', '\n');
      out = Keep(std::move(frames));
    }
    return true;
  }
  return false;
}

void ElementView::Order(Element kind, uint32_t* begin, uint32_t*& end) const {
  const bool by_index =
      kind == Element::kUnit || kind == Element::kBlock || kind == Element::kPoint;
  if (end - begin < 2) return;
  if (by_index) {  // the trace holds these by (start, id)
    // Most come in order already, or upwards from child to parent: one look instead of sorting.
    const auto not_ascending = [](uint32_t a, uint32_t b) { return a >= b; };
    const auto not_descending = [](uint32_t a, uint32_t b) { return a <= b; };
    if (std::adjacent_find(begin, end, not_ascending) == end) return;
    if (std::adjacent_find(begin, end, not_descending) == end) return std::reverse(begin, end);
    std::sort(begin, end);
  } else {
    const auto before = [&](uint32_t a, uint32_t b) {
      const Nanos start_a = Start(kind, a), start_b = Start(kind, b);
      if (start_a != start_b) return start_a < start_b;
      const uint64_t id_a = Id(kind, a), id_b = Id(kind, b);
      return id_a != id_b ? id_a < id_b : a < b;
    };
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
  }
  end = std::unique(begin, end);
}

const IndexLists& ElementView::BlocksOfUnit() {
  if (!blocks_of_unit_.made()) {
    MakeLists(blocks_of_unit_, trace.units.size(), trace.blocks.size(),
              [&](uint32_t b) { return trace.blocks[b].unit; });
  }
  return blocks_of_unit_;
}

const IndexLists& ElementView::PointsOfBlock() {
  if (!points_of_block_.made()) {
    MakeLists(points_of_block_, trace.blocks.size(), trace.points.size(),
              [&](uint32_t p) { return trace.points[p].block; });
  }
  return points_of_block_;
}

const std::vector<uint32_t>& ElementView::EdgesInOrder() {
  if (edges_in_order_.empty() && !trace.edges.empty()) {
    edges_in_order_.resize(trace.edges.size());
    std::iota(edges_in_order_.begin(), edges_in_order_.end(), 0u);
    uint32_t* end = edges_in_order_.data() + edges_in_order_.size();
    Order(Element::kEdge, edges_in_order_.data(), end);
  }
  return edges_in_order_;
}

const IndexLists& ElementView::EdgesBy(IndexLists& lists, uint32_t Edge::*end) {
  if (!lists.made()) {
    MakeLists(lists, trace.blocks.size(), trace.edges.size(),
              [&](uint32_t e) { return trace.points[trace.edges[e].*end].block; });
  }
  return lists;
}

const IndexLists& ElementView::EdgesInto() { return EdgesBy(edges_into_, &Edge::to); }
const IndexLists& ElementView::EdgesOutOf() { return EdgesBy(edges_out_of_, &Edge::from); }

}  // namespace wf::feature
