// Canonical order of all elements: the same events give the same trace, whatever order they came in. From here on no
// element is added, removed or moved.
#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "model/repair_passes.h"

namespace wf {
namespace {

// new position of each old index, for `order` = old indices in their new order.
std::vector<uint32_t> Positions(const std::vector<uint32_t>& order) {
  std::vector<uint32_t> position(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  return position;
}

template <typename T>
void Permute(std::vector<T>& items, const std::vector<uint32_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(items.size());
  for (const uint32_t old : order) sorted.push_back(items[old]);
  items.swap(sorted);
}

// Sorts by (time, id) through flat keys: moving 24 bytes beats chasing indices into 100-byte elements.
template <typename T, typename Time>
std::vector<uint32_t> OrderByTime(const std::vector<T>& items, Time time) {
  struct Key {
    Nanos time;
    uint64_t id;
    uint32_t index;
    bool operator<(const Key& o) const {
      return std::tie(time, id, index) < std::tie(o.time, o.id, o.index);
    }
  };
  std::vector<Key> keys;
  keys.reserve(items.size());
  for (uint32_t i = 0; i < items.size(); ++i) keys.push_back({time(items[i]), items[i].id, i});
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys) order.push_back(key.index);
  return order;
}

// Only the processes of this trace, in an order that does not depend on the batch: by service, host, attributes.
void OrderProcesses(BuildState& state) {
  Trace& trace = state.trace;
  const EventBatch& events = state.events;
  std::vector<bool> used(trace.processes.size(), false);
  for (const Unit& unit : trace.units) {
    if (unit.process != kNone) used[unit.process] = true;
  }
  for (const Block& block : trace.blocks) {
    if (block.process != kNone) used[block.process] = true;
  }
  struct Key {
    std::string_view service, host;
    std::string attributes;
    uint32_t index;
    bool operator<(const Key& o) const {
      return std::tie(service, host, attributes, index) <
             std::tie(o.service, o.host, o.attributes, o.index);
    }
  };
  std::vector<Key> keys;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    if (!used[p]) continue;
    const Process& process = events.processes[trace.processes[p]];
    std::string attributes;
    AttributeReader reader(events.Slice(process.attrs_begin, process.attrs_end));
    uint32_t key;
    for (Value value; reader.Next(key, value);) {
      attributes.append(events.str(key)).push_back('\0');
      PutValue(value, attributes);
    }
    keys.push_back(
        {events.str(process.service), events.str(process.host), std::move(attributes), p});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> processes, position(trace.processes.size(), kNone);
  std::vector<const HostClock*> clocks;
  for (const Key& key : keys) {
    position[key.index] = static_cast<uint32_t>(processes.size());
    processes.push_back(trace.processes[key.index]);
    clocks.push_back(state.known_clock[key.index]);
  }
  trace.processes.swap(processes);
  state.known_clock.swap(clocks);
  for (Unit& unit : trace.units) {
    if (unit.process != kNone) unit.process = position[unit.process];
  }
  for (Block& block : trace.blocks) {
    if (block.process != kNone) block.process = position[block.process];
  }
}

void Move(uint32_t& index, const std::vector<uint32_t>& position) {
  if (index != kNone) index = position[index];
}

void FindChildrenAndRoots(Trace& trace) {
  const size_t n = trace.blocks.size();
  trace.children_begin.assign(n + 1, 0);
  for (const Block& block : trace.blocks) {
    if (block.parent != kNone) ++trace.children_begin[block.parent + 1];
  }
  std::partial_sum(trace.children_begin.begin(), trace.children_begin.end(),
                   trace.children_begin.begin());
  trace.children.resize(trace.children_begin[n]);
  std::vector<uint32_t> fill(trace.children_begin.begin(), trace.children_begin.end() - 1);
  for (uint32_t b = 0; b < n; ++b) {
    const uint32_t parent = trace.blocks[b].parent;
    if (parent != kNone)
      trace.children[fill[parent]++] = b;
    else
      trace.roots.push_back(b);
  }
  // The main root: real before stand-in, then earliest, longest, smallest id.
  const auto main =
      std::min_element(trace.roots.begin(), trace.roots.end(), [&](uint32_t x, uint32_t y) {
        const Block& a = trace.blocks[x];
        const Block& b = trace.blocks[y];
        return std::make_tuple(a.stand_in(), a.start_ns, -a.duration(), a.id) <
               std::make_tuple(b.stand_in(), b.start_ns, -b.duration(), b.id);
      });
  if (main != trace.roots.end()) std::rotate(trace.roots.begin(), main, main + 1);
}

}  // namespace

void LayOut(BuildState& state) {
  Trace& trace = state.trace;
  OrderProcesses(state);
  for (Edge& edge : trace.edges) {
    if (edge.id != 0) continue;
    const uint64_t ends = trace.points[edge.from].id * 31 + trace.points[edge.to].id;
    edge.id = DeriveId(ends + static_cast<uint64_t>(edge.type), kRoleEdge);
  }

  const auto unit_order = OrderByTime(trace.units, [](const Unit& u) { return u.start_ns; });
  const auto block_order = OrderByTime(trace.blocks, [](const Block& b) { return b.start_ns; });
  const auto point_order = OrderByTime(trace.points, [](const Point& p) { return p.time_ns; });
  const auto units = Positions(unit_order), blocks = Positions(block_order),
             points = Positions(point_order);

  Permute(trace.units, unit_order);
  Permute(trace.blocks, block_order);
  Permute(trace.points, point_order);
  for (Unit& unit : trace.units) Move(unit.parent_block, blocks);
  for (Block& block : trace.blocks) {
    Move(block.parent, blocks);
    Move(block.unit, units);
    Move(block.begin_point, points);
    Move(block.end_point, points);
  }
  for (Point& point : trace.points) Move(point.block, blocks);
  for (Edge& edge : trace.edges) {
    Move(edge.from, points);
    Move(edge.to, points);
  }
  // Points now lie in (time, id) order, so their indices order edges by (time of from, from, to).
  std::vector<uint32_t> edge_order(trace.edges.size());
  std::iota(edge_order.begin(), edge_order.end(), 0);
  std::sort(edge_order.begin(), edge_order.end(), [&](uint32_t x, uint32_t y) {
    const Edge& a = trace.edges[x];
    const Edge& b = trace.edges[y];
    return std::tie(a.from, a.to, a.type, a.id, x) < std::tie(b.from, b.to, b.type, b.id, y);
  });
  Permute(trace.edges, edge_order);

  if (!trace.annotations.empty()) {
    const auto edges = Positions(edge_order);
    for (Annotation& annotation : trace.annotations) {
      switch (annotation.element) {
        case ElementKind::kUnit:
          Move(annotation.index, units);
          break;
        case ElementKind::kBlock:
          Move(annotation.index, blocks);
          break;
        case ElementKind::kPoint:
          Move(annotation.index, points);
          break;
        case ElementKind::kEdge:
          Move(annotation.index, edges);
          break;
      }
    }
    std::stable_sort(trace.annotations.begin(), trace.annotations.end(),
                     [](const Annotation& a, const Annotation& b) {
                       return std::tie(a.element, a.index) < std::tie(b.element, b.index);
                     });
  }
  FindChildrenAndRoots(trace);

  trace.start_ns = trace.end_ns = 0;
  for (size_t b = 0; b < trace.blocks.size(); ++b) {
    trace.start_ns =
        b == 0 ? trace.blocks[b].start_ns : std::min(trace.start_ns, trace.blocks[b].start_ns);
    trace.end_ns = b == 0 ? trace.blocks[b].end_ns : std::max(trace.end_ns, trace.blocks[b].end_ns);
  }
}

}  // namespace wf
