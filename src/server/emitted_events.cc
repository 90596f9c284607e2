#include "server/emitted_events.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lang/query/execution.h"
#include "lang/query/plan_advice.h"
#include "server/query_intervals.h"

namespace wf {
namespace {

std::shared_ptr<const advice::Program> WithoutSample(const advice::Program& program) {
  auto copy = std::make_shared<advice::Program>(program);
  copy->sample.reset();
  return copy;
}

}  // namespace

// What an evaluation gives, before it is encoded.
struct EmittedEvents::Pending {
  struct Open {
    advice::Results results;
    uint64_t lost = 0;
  };
  Pending(const advice::Program& of, Nanos length) : program(of), interval(length) {}

  Open& At(Nanos time) {
    return opens
        .try_emplace(IntervalStart(time, interval),
                     Open{advice::Results(program, QueryIntervals::kMostRows), 0})
        .first->second;
  }
  const advice::Program& program;
  const Nanos interval;
  std::map<Nanos, Open> opens;
};

EmittedEvents::EmittedEvents(std::shared_ptr<const advice::Program> program, Nanos interval)
    : program_(WithoutSample(*program)),
      places_(advice::EmittedPlaces(*program_)),
      interval_(interval) {}

EmittedEvents::Node& EmittedEvents::Know(uint64_t id, Nanos now) {
  const auto [at, fresh] = nodes_.try_emplace(id);
  if (fresh) {
    at->second.request = ++next_request_;
    at->second.came = now;
    requests_[next_request_] = {{id}, now, 0};
  }
  return at->second;
}

// The smaller one goes into the larger one.
void EmittedEvents::Unite(uint32_t a, uint32_t b) {
  if (a == b) return;
  if (requests_[a].ids.size() < requests_[b].ids.size()) std::swap(a, b);
  Request& into = requests_[a];
  const Request& from = requests_[b];
  for (const uint64_t id : from.ids) nodes_[id].request = a;
  into.ids.insert(into.ids.end(), from.ids.begin(), from.ids.end());
  into.heard = std::max(into.heard, from.heard);
  into.waiting += from.waiting;
  requests_.erase(b);
}

bool EmittedEvents::Add(const Process& process, std::string_view bytes, Nanos now) {
  std::vector<advice::EmittedEvent> events;
  if (!advice::DecodeEvents(bytes, places_, events)) return false;
  const auto from = std::make_shared<const Process>(process);
  for (advice::EmittedEvent& event : events) {
    if (nodes_.size() >= 2 * kMostEvents) {  // until the next evaluation makes room
      if (event.place != 0) ++refused_[IntervalStart(now, interval_)];
      continue;
    }
    const uint64_t id = event.id;
    Node& known = Know(id, now);
    if (known.state != State::kAwaited) continue;  // a report that was sent twice
    ++known_;
    known.state = State::kWaiting;
    known.came = now;
    known.process = from;
    const std::vector<uint64_t> after = event.after;
    known.event = std::move(event);
    for (const uint64_t before : after) {
      if (before == advice::kLostPast) continue;
      const uint32_t request = Know(before, now).request;
      Unite(nodes_[id].request, request);
    }
    Request& request = requests_[nodes_[id].request];
    request.heard = now;
    ++request.waiting;
  }
  return true;
}

void EmittedEvents::Lose(Node& node, Pending& pending) {
  node.state = State::kLost;
  if (node.event.place != 0) ++pending.At(node.event.time_ns).lost;
}

void EmittedEvents::Forget(uint32_t number, Pending& pending) {
  const auto request = requests_.find(number);
  for (const uint64_t id : request->second.ids) {
    const auto node = nodes_.find(id);
    if (node->second.state == State::kWaiting) Lose(node->second, pending);
    if (node->second.state != State::kAwaited) --known_;
    nodes_.erase(node);
  }
  requests_.erase(request);
}

// In passes along the edges: an event that became complete may complete those behind it.
void EmittedEvents::FindComplete(Request& request, Nanos now, Rest rest, Pending& pending) {
  std::unordered_map<uint64_t, std::vector<uint64_t>> next;  // of what is not complete
  std::unordered_map<uint64_t, size_t> open;                 // how many before it are not
  std::vector<uint64_t> complete;
  for (const uint64_t id : request.ids) {
    const Node& node = nodes_[id];
    if (node.state != State::kWaiting) continue;
    size_t count = 0;
    for (const uint64_t before : node.event.after) {
      const auto found = nodes_.find(before);  // kLostPast is none
      if (found != nodes_.end() && found->second.state == State::kComplete) continue;
      ++count;
      next[before].push_back(id);
    }
    open[id] = count;
    if (count == 0) complete.push_back(id);
  }
  while (!complete.empty()) {
    const uint64_t id = complete.back();
    complete.pop_back();
    nodes_[id].state = State::kComplete;
    const auto behind = next.find(id);
    if (behind == next.end()) continue;
    for (const uint64_t other : behind->second)
      if (--open[other] == 0) complete.push_back(other);
  }
  request.waiting = 0;
  for (const uint64_t id : request.ids) {
    Node& node = nodes_[id];
    if (node.state != State::kWaiting) continue;
    const auto& after = node.event.after;
    const bool never = std::find(after.begin(), after.end(), advice::kLostPast) != after.end();
    if (never || rest == Rest::kIsLost || now - node.came > std::max(kPatience, 3 * interval_)) {
      Lose(node, pending);
    } else {
      ++request.waiting;
    }
  }
}

// Over all of it that is complete; those that have not been told yet are now.
void EmittedEvents::Run(const Request& request, Pending& pending) {
  query::Execution execution;
  std::unordered_map<uint64_t, uint32_t> index;
  std::vector<Node*> nodes;
  bool fresh = false;
  for (const uint64_t id : request.ids) {
    Node& node = nodes_[id];
    if (node.state != State::kComplete) continue;
    index.emplace(id, static_cast<uint32_t>(nodes.size()));
    nodes.push_back(&node);
    fresh = fresh || !node.told;
  }
  if (!fresh) return;
  execution.events.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    query::Event& event = execution.events[i];
    event.id.resize(sizeof node.event.id);  // as live advice has it, which breaks ties by it
    std::memcpy(event.id.data(), &node.event.id, sizeof node.event.id);
    event.time_ns = node.event.time_ns;
    // A branch brings along again what is behind another already: such edges say nothing, and cost.
    const auto implied = [&](uint64_t before) {
      return std::any_of(node.event.after.begin(), node.event.after.end(), [&](uint64_t other) {
        const auto& after = nodes_[other].event.after;
        return std::find(after.begin(), after.end(), before) != after.end();
      });
    };
    for (const uint64_t before : node.event.after)
      if (!implied(before)) event.after.push_back(index[before]);
    if (node.event.place == 0) continue;
    const advice::EmittedPlace& place = places_[node.event.place - 1];
    event.tracepoint = place.tracepoint;
    event.host = node.process->host;
    event.proc = node.process->name;
    event.pid = node.process->pid;
    for (size_t v = 0; v < place.variables.size(); ++v)
      event.variables.emplace(place.variables[v], node.event.values[v]);
  }
  uint32_t on_cycle = 0;
  (void)query::Arrange(execution, on_cycle);  // what is on a cycle is never complete
  const std::vector<uint32_t> overflowed =
      query::RunAdviceAt(*program_, execution, [&](uint32_t event, const advice::Rows& rows) {
        if (!nodes[event]->told) pending.At(execution.events[event].time_ns).results.Add(rows);
      });
  for (const uint32_t event : overflowed)
    if (!nodes[event]->told) ++pending.At(execution.events[event].time_ns).lost;
  for (Node* node : nodes) node->told = true;
}

std::map<Nanos, EmittedEvents::Part> EmittedEvents::Evaluate(Nanos now, Rest rest) {
  Pending pending(*program_, interval_);
  for (const auto& [start, count] : std::exchange(refused_, {})) pending.At(start).lost += count;
  std::vector<uint32_t> to_forget;
  std::vector<std::pair<Nanos, uint32_t>> quiet;
  for (auto& [number, request] : requests_) {
    if (request.waiting != 0) {
      FindComplete(request, now, rest, pending);
      Run(request, pending);
    }
    if (now - request.heard > std::max(kQuiet, 5 * interval_) ||
        request.ids.size() > kMostOfOneRequest)
      to_forget.push_back(number);
    else if (known_ > kMostEvents)
      quiet.emplace_back(request.heard, number);
  }
  for (const uint32_t number : to_forget) Forget(number, pending);
  std::sort(quiet.begin(), quiet.end());
  for (const auto& [heard, number] : quiet) {
    if (known_ <= kMostEvents) break;
    Forget(number, pending);
  }
  std::map<Nanos, Part> parts;
  for (const auto& [start, open] : pending.opens)
    parts[start] = {open.results.Encode(), open.lost + open.results.lost()};
  return parts;
}

}  // namespace wf
