// ElementView: one trace as the operators of the feature language see it: elements by (kind, index),
// neighbourhoods as flat lists made on first use, and storage for what is not in the trace: paths, segments,
// gaps, computed texts. Lifetime: borrows the trace. Thread safety: none; each extraction has its own.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/critical_path/critical_path.h"
#include "lang/feature/feature_type.h"
#include "model/trace.h"

namespace wf::feature {

// Lists of indices: list i is items[begin[i], begin[i + 1]).
struct IndexLists {
  std::vector<uint32_t> begin, items;
  bool made() const { return !begin.empty(); }
  const uint32_t* first(uint32_t i) const { return items.data() + begin[i]; }
  const uint32_t* last(uint32_t i) const { return items.data() + begin[i + 1]; }
};

struct Interval {
  Nanos start_ns = 0, end_ns = 0;
};

// A block or an edge on a critical path, with its time there.
struct PathElement {
  uint32_t base = kNone;
  Nanos duration_ns = 0;
};

class ElementView {
 public:
  explicit ElementView(const Trace& trace) : trace(trace) {}

  const Trace& trace;
  std::vector<critical_path::CriticalPath> paths;
  std::vector<PathElement> path_blocks, path_edges;
  std::vector<critical_path::PathSegment> segments;
  std::vector<Interval> gaps;

  // The kind of an element in the trace itself: a block on a path is a block, a segment is its block. Other
  // kinds are unchanged.
  static Element BaseKind(Element kind);
  uint32_t Base(Element kind, uint32_t index) const;

  Nanos Start(Element kind, uint32_t index) const;  // by the trace's clock, absolute
  Nanos End(Element kind, uint32_t index) const;
  Nanos Duration(Element kind, uint32_t index) const;
  uint64_t Id(Element kind, uint32_t index) const;
  std::string_view Name(Element kind, uint32_t index) const;
  // The recorded stack, frames outermost first with '\n' between them; false when there is none.
  bool Stack(Element kind, uint32_t index, std::string_view& out);

  // Sorts by (start, id) and removes duplicates.
  void Order(Element kind, uint32_t* begin, uint32_t*& end) const;

  const IndexLists& BlocksOfUnit();
  const IndexLists& PointsOfBlock();
  const IndexLists& EdgesInto();   // by receiving block
  const IndexLists& EdgesOutOf();  // by sending block
  const std::vector<uint32_t>& EdgesInOrder();

  std::string_view Keep(std::string text) { return texts_.emplace_back(std::move(text)); }

 private:
  const IndexLists& EdgesBy(IndexLists& lists, uint32_t Edge::*end);

  IndexLists blocks_of_unit_, points_of_block_, edges_into_, edges_out_of_;
  std::vector<uint32_t> edges_in_order_;
  std::deque<std::string> texts_;  // never moves its elements
};

}  // namespace wf::feature
