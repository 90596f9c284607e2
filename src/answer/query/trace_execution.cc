#include "answer/query/trace_execution.h"

#include <algorithm>

namespace wf::answer {
namespace {

std::string_view StatusName(SpanStatus status) {
  return status == SpanStatus::kError ? "error" : status == SpanStatus::kOk ? "ok" : "unset";
}

class Maker {
 public:
  Maker(const Trace& trace, const std::unordered_set<std::string>& tracepoints,
        VariableReader& variables)
      : trace_(trace), tracepoints_(tracepoints), variables_(variables) {
    variables_.SetBatch(*trace.events);
  }

  TraceExecution Run() {
    auto& events = out_.execution.events;
    of_point_.assign(trace_.points.size(), kNone);
    for (uint32_t b = 0; b < trace_.blocks.size(); ++b) AddBlock(b);
    for (uint32_t p = 0; p < trace_.points.size(); ++p)
      if (of_point_[p] == kNone) AddPoint(p);
    for (uint32_t b = 0; b < trace_.blocks.size(); ++b) Nest(b);
    for (const Edge& edge : trace_.edges) {
      const uint32_t from = of_point_[edge.from], to = of_point_[edge.to];
      if (from != to) events[to].after.push_back(from);
    }
    Tidy();
    uint32_t on_cycle = 0;
    if (!query::Arrange(out_.execution, on_cycle)) DropCircles();
    query::DropImpliedEdges(out_.execution);
    // The request is the trace, whatever of it hangs together.
    out_.execution.request.assign(events.size(), 0);
    out_.execution.request_ids = {ToHex(trace_.id)};
    return std::move(out_);
  }

 private:
  uint32_t Begin(uint32_t block) const { return 2 * block; }
  uint32_t End(uint32_t block) const { return 2 * block + 1; }

  StoredEvent OfBlock(uint32_t b) const {
    const Block& block = trace_.blocks[b];
    StoredEvent event;
    if (block.process != kNone) event.process = trace_.processes[block.process];
    event.service = trace_.service(block);
    event.attributes = trace_.attrs(block);
    if (block.row != kNone && !trace_.events->scopes.empty())
      event.scope_attributes = trace_.events->scope_attrs(block.row);
    std::tie(event.annotations, event.annotations_end) =
        trace_.annotations_of(ElementKind::kBlock, b);
    event.trace_id = trace_.id;
    event.span_id = block.id;
    event.kind = BlockKindName(block.kind);
    event.status = StatusName(block.status);
    return event;
  }

  void AddBlock(uint32_t b) {
    const Block& block = trace_.blocks[b];
    of_point_[block.begin_point] = Begin(b);
    of_point_[block.end_point] = End(b);
    const std::string id = ToHex64(block.id);
    const std::string name = block.stand_in() ? "" : std::string(trace_.str(block.name));
    StoredEvent stored = OfBlock(b);
    stored.time_ns = block.raw_start_ns;
    stored.aligned_ns = block.start_ns;
    Add(stored, id + ".begin", name);
    stored.time_ns = block.raw_end_ns;
    stored.aligned_ns = block.end_ns;
    stored.duration_ns = SaturatingSub(block.raw_end_ns, block.raw_start_ns);
    Add(stored, id + ".end", block.stand_in() ? "" : name + ".end");
  }

  void AddPoint(uint32_t p) {
    const Point& point = trace_.points[p];
    of_point_[p] = static_cast<uint32_t>(out_.execution.events.size());
    StoredEvent stored = OfBlock(point.block);
    stored.time_ns = point.raw_time_ns;
    stored.aligned_ns = point.time_ns;
    stored.attributes = trace_.attrs(point);
    stored.scope_attributes = {};
    std::tie(stored.annotations, stored.annotations_end) =
        trace_.annotations_of(ElementKind::kPoint, p);
    Add(stored, ToHex64(point.id) + "." + std::to_string(p),
        std::string(point.name != 0 ? trace_.str(point.name) : PointTypeName(point)));
  }

  void Add(StoredEvent& stored, std::string id, std::string tracepoint) {
    query::Event event;
    event.id = std::move(id);
    event.tracepoint = std::move(tracepoint);
    event.time_ns = stored.time_ns;
    stored.tracepoint = event.tracepoint;
    if (tracepoints_.count(event.tracepoint) != 0) {
      for (size_t i = 0; i < variables_.names().size(); ++i) {
        const std::string& name = variables_.names()[i];
        advice::Value value = variables_.Read(i, stored);
        if (name == "host") {
          event.host = std::move(value);
        } else if (name == "procName") {
          event.proc = std::move(value);
        } else if (name == "procId") {
          event.pid = std::move(value);
        } else if (!query::IsDefaultVariable(name) && !value.null()) {
          event.variables.emplace(name, std::move(value));
        }
      }
    }
    out_.execution.events.push_back(std::move(event));
  }

  // begin → what is in it → end. Nobody waits for an asynchronous child, so its end says nothing about its parent's.
  void Nest(uint32_t b) {
    auto& events = out_.execution.events;
    const Block& block = trace_.blocks[b];
    events[End(b)].after.push_back(Begin(b));
    if (block.parent == kNone) return;
    events[Begin(b)].after.push_back(Begin(block.parent));
    if (!block.async()) events[End(block.parent)].after.push_back(End(b));
  }

  void Tidy() {
    auto& events = out_.execution.events;
    for (uint32_t p = 0; p < trace_.points.size(); ++p) {
      const uint32_t event = of_point_[p], block = trace_.points[p].block;
      if (event == Begin(block) || event == End(block)) continue;
      events[event].after.push_back(Begin(block));
      events[End(block)].after.push_back(event);
    }
    for (query::Event& event : events) {
      std::sort(event.after.begin(), event.after.end());
      event.after.erase(std::unique(event.after.begin(), event.after.end()), event.after.end());
    }
  }

  // Traces that violate the invariants may hold edges against the order of nesting. Each edge is taken that does not
  // close a circle with those before it; nesting goes first and never does.
  void DropCircles() {
    auto& events = out_.execution.events;
    for (query::Event& event : events) event.after.clear();
    for (uint32_t b = 0; b < trace_.blocks.size(); ++b) Nest(b);
    Tidy();
    for (const Edge& edge : trace_.edges) {
      const uint32_t from = of_point_[edge.from], to = of_point_[edge.to];
      if (from == to) continue;
      if (Reaches(from, to)) {
        ++out_.dropped_edges;
        continue;
      }
      events[to].after.push_back(from);
    }
    for (query::Event& event : events) {
      std::sort(event.after.begin(), event.after.end());
      event.after.erase(std::unique(event.after.begin(), event.after.end()), event.after.end());
    }
    uint32_t on_cycle = 0;
    query::Arrange(out_.execution, on_cycle);
  }

  // Whether `target` happened before `event`.
  bool Reaches(uint32_t event, uint32_t target) const {
    const auto& events = out_.execution.events;
    std::vector<bool> seen(events.size(), false);
    std::vector<uint32_t> open = {event};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      if (at == target) return true;
      for (const uint32_t before : events[at].after) {
        if (seen[before]) continue;
        seen[before] = true;
        open.push_back(before);
      }
    }
    return false;
  }

  const Trace& trace_;
  const std::unordered_set<std::string>& tracepoints_;
  VariableReader& variables_;
  TraceExecution out_;
  std::vector<uint32_t> of_point_;  // point → event
};

}  // namespace

TraceExecution ExecutionOf(const Trace& trace, const std::unordered_set<std::string>& tracepoints,
                           VariableReader& variables) {
  return Maker(trace, tracepoints, variables).Run();
}

}  // namespace wf::answer
