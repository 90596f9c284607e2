#include "live/emitted_events.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "lang/query/execution.h"
#include "lang/query/plan_advice.h"
#include "live/query_intervals.h"

namespace wf::live {
namespace {

constexpr Nanos kLookForQuiet = 5 * kSecond;
// Up to this many ids before an event are searched for those that others imply; if there are more, all are
// used.
constexpr size_t kFewBefore = 16;

constexpr size_t kNodeBytes = 208;  // with its entries in the maps
// A process reports some hundred kilobytes at a time, which become more when decoded.
constexpr size_t kMostAtOnce = 4 << 20;

size_t BytesOf(const advice::Value& value) {
  size_t bytes = sizeof value;
  if (const auto* text = std::get_if<std::string>(&value)) bytes += text->size();
  if (const auto* list = std::get_if<advice::List>(&value)) {
    for (const advice::Value& element : *list) bytes += BytesOf(element);
  }
  return bytes;
}

size_t BytesOf(const advice::EmittedEvent& event) {
  size_t bytes = kNodeBytes + event.after.size() * sizeof(uint64_t);
  for (const advice::Value& value : event.values) bytes += BytesOf(value);
  return bytes;
}

std::shared_ptr<const advice::Program> WithoutSample(const advice::Program& program) {
  auto copy = std::make_shared<advice::Program>(program);
  copy->sample.reset();
  return copy;
}

}  // namespace

// The result of an evaluation, before it is encoded.
class EmittedEvents::Pending {
 public:
  Pending(const advice::Program& program, Nanos interval, Nanos now)
      : program_(program), interval_(interval), now_(now) {}

  void Add(Nanos time, const advice::Rows& rows) {
    if (Open* open = At(time)) {
      open->results.Add(rows);
    } else {
      Lose(time, rows.size(), &Losses::room);
    }
  }
  void Lose(Nanos time, uint64_t count, uint64_t Losses::*why) {
    if (count == 0) return;
    Open* open = At(time);
    if (open == nullptr) open = At(now_);
    if (open != nullptr) open->lost += count;
    lost_.*why += count;
  }
  Evaluation Finish() const {
    Evaluation evaluation;
    for (const auto& [start, open] : opens_)
      evaluation.parts[start] = {open.results.Encode(), open.lost + open.results.lost()};
    evaluation.lost = lost_;
    return evaluation;
  }

 private:
  struct Open {
    advice::Results results;
    uint64_t lost = 0;
  };
  // Times come from outside, and QueryIntervals would reject more open intervals than this anyway. The
  // current interval always has a place.
  Open* At(Nanos time) {
    const Nanos start = IntervalStart(time, interval_);
    const auto found = opens_.find(start);
    if (found != opens_.end()) return &found->second;
    if (opens_.size() >= QueryIntervals::kMostOpen && start != IntervalStart(now_, interval_))
      return nullptr;
    return &opens_.try_emplace(start, Open{advice::Results(program_, QueryIntervals::kMostRows), 0})
                .first->second;
  }

  const advice::Program& program_;
  const Nanos interval_, now_;
  std::map<Nanos, Open> opens_;
  Losses lost_;
};

EmittedEvents::EmittedEvents(std::shared_ptr<const advice::Program> program, Nanos interval,
                             std::shared_ptr<EmittedMemory> memory, EmittedLimits limits)
    : program_(WithoutSample(*program)),
      places_(advice::EmittedPlaces(*program_)),
      interval_(interval),
      memory_(std::move(memory)),
      limits_(limits) {}

EmittedEvents::~EmittedEvents() { Release(bytes()); }

void EmittedEvents::Charge(size_t bytes) {
  bytes_ += bytes;
  memory_->used += bytes;
}

void EmittedEvents::Release(size_t bytes) {
  bytes_ -= bytes;
  memory_->used -= bytes;
}

bool EmittedEvents::Take(const Process& process, std::string_view bytes, Nanos now) {
  Arrived arrived{std::make_shared<const Process>(process), {}, now};
  if (bytes.size() > kMostAtOnce || !advice::DecodeEvents(bytes, places_, arrived.events))
    return false;
  size_t size = 0, hits = 0;
  for (const advice::EmittedEvent& event : arrived.events) {
    size += BytesOf(event);
    hits += event.place != 0;
  }
  const std::lock_guard lock(mutex_);
  waiting_ = true;
  if (this->bytes() + size > limits_.bytes || memory_->used + size > EmittedMemory::kMost) {
    refused_ += hits;
    return true;
  }
  Charge(size);
  arrived_.push_back(std::move(arrived));
  return true;
}

EmittedEvents::Node& EmittedEvents::Know(uint64_t id, Nanos now) {
  const auto [at, fresh] = nodes_.try_emplace(id);
  if (fresh) {
    Charge(kNodeBytes);
    at->second.request = ++next_request_;
    at->second.came = now;
    requests_[next_request_] = {{id}, now, false};
  }
  return at->second;
}

// Merges the smaller request into the larger one.
void EmittedEvents::Unite(uint64_t a, uint64_t b) {
  if (a == b) return;
  if (requests_[a].ids.size() < requests_[b].ids.size()) std::swap(a, b);
  Request& into = requests_[a];
  const Request& from = requests_[b];
  for (const uint64_t id : from.ids) nodes_[id].request = a;
  into.ids.insert(into.ids.end(), from.ids.begin(), from.ids.end());
  into.heard = std::max(into.heard, from.heard);
  into.too_large = into.too_large || from.too_large;
  requests_.erase(b);
  if (open_.erase(b) != 0) open_.insert(a);
}

void EmittedEvents::Insert(const std::shared_ptr<const Process>& process,
                           advice::EmittedEvent event, Nanos now) {
  const uint64_t id = event.id;
  const size_t bytes = BytesOf(event);
  Node& known = Know(id, now);
  Release(kNodeBytes);  // of the id, or of a duplicate event; charged with the event
  if (known.state != State::kAwaited) return Release(bytes - kNodeBytes);
  ++known_;
  known.state = State::kWaiting;
  known.came = now;
  known.process = process;
  const std::vector<uint64_t> after = event.after;
  known.event = std::move(event);
  for (const uint64_t before : after) {
    if (before == advice::kLostPast) continue;
    const uint64_t request = Know(before, now).request;
    Unite(nodes_[id].request, request);
  }
  const uint64_t number = nodes_[id].request;
  requests_[number].heard = now;
  open_.insert(number);
}

void EmittedEvents::Lose(Node& node, uint64_t Losses::*why, Pending& pending) {
  node.state = State::kLost;
  if (node.event.place != 0) pending.Lose(node.event.time_ns, 1, why);
}

void EmittedEvents::Forget(uint64_t number, uint64_t Losses::*why, Pending& pending) {
  const auto request = requests_.find(number);
  for (const uint64_t id : request->second.ids) {
    const auto node = nodes_.find(id);
    if (node->second.state == State::kWaiting) Lose(node->second, why, pending);
    if (node->second.state != State::kAwaited) --known_;
    Release(node->second.state == State::kAwaited ? kNodeBytes : BytesOf(node->second.event));
    nodes_.erase(node);
  }
  requests_.erase(request);
  open_.erase(number);
}

// Goes along the edges, because a complete event may complete those after it. Returns whether some still
// wait.
bool EmittedEvents::FindComplete(const Request& request, Nanos now, Rest rest, Pending& pending) {
  std::unordered_map<uint64_t, std::vector<uint64_t>> next;  // of events that are not complete
  std::unordered_map<uint64_t, size_t> open;                 // how many before it are not complete
  std::vector<uint64_t> complete;
  for (const uint64_t id : request.ids) {
    const Node& node = nodes_[id];
    if (node.state != State::kWaiting) continue;
    size_t count = 0;
    for (const uint64_t before : node.event.after) {
      const auto found = nodes_.find(before);  // kLostPast is no node
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
  bool waits = false;
  for (const uint64_t id : request.ids) {
    Node& node = nodes_[id];
    if (node.state != State::kWaiting) continue;
    const auto& after = node.event.after;
    const bool never = std::find(after.begin(), after.end(), advice::kLostPast) != after.end();
    if (never || rest == Rest::kIsLost ||
        now - node.came > std::max(limits_.patience, 3 * interval_)) {
      Lose(node, &Losses::past, pending);
    } else {
      waits = true;
    }
  }
  return waits;
}

// Runs the query over the complete events; those that have not emitted yet emit now.
void EmittedEvents::Run(Request& request, Pending& pending) {
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
  const auto lose = [&](Node& node) {
    if (!std::exchange(node.told, true) && node.event.place != 0)
      pending.Lose(node.event.time_ns, 1, &Losses::work);
  };
  if (request.too_large) {
    for (Node* node : nodes) lose(*node);
    return;
  }
  execution.events.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    query::Event& event = execution.events[i];
    event.id.resize(sizeof node.event.id);  // as in live advice, which breaks ties by id
    std::memcpy(event.id.data(), &node.event.id, sizeof node.event.id);
    event.time_ns = node.event.time_ns;
    // A branch repeats ids that another branch already implies. Such edges add nothing, and cost time.
    const auto& ids = node.event.after;
    const auto implied = [&](uint64_t before) {
      return ids.size() <= kFewBefore && std::any_of(ids.begin(), ids.end(), [&](uint64_t other) {
               const auto& after = nodes_[other].event.after;
               return after.size() <= kFewBefore &&
                      std::find(after.begin(), after.end(), before) != after.end();
             });
    };
    for (const uint64_t before : ids)
      if (!implied(before)) event.after.push_back(index[before]);
    std::sort(event.after.begin(), event.after.end());
    event.after.erase(std::unique(event.after.begin(), event.after.end()), event.after.end());
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
  (void)query::Arrange(execution, on_cycle);  // events on a cycle are never complete
  const query::AdviceRunAt run = query::RunAdviceAt(
      *program_, execution, limits_.work, [&](uint32_t event, const advice::Rows& rows) {
        if (!nodes[event]->told) pending.Add(execution.events[event].time_ns, rows);
      });
  for (const uint32_t event : run.overflowed) lose(*nodes[event]);
  request.too_large = run.ended_at < execution.order.size();
  for (size_t i = run.ended_at; i < execution.order.size(); ++i) lose(*nodes[execution.order[i]]);
  for (Node* node : nodes) node->told = true;
}

// No message says that a request has ended, so quiet requests are forgotten.
void EmittedEvents::ForgetQuiet(Nanos now, Pending& pending) {
  const bool full = bytes() > limits_.bytes / 4 * 3 || memory_->used > EmittedMemory::kMost / 4 * 3;
  if (!full && now - looked_for_quiet_ < kLookForQuiet) return;
  looked_for_quiet_ = now;
  // First those in which nothing waits: they have probably ended, and forgetting them loses nothing.
  struct Silent {
    bool open;
    Nanos heard;
    uint64_t number;
  };
  std::vector<Silent> by_silence;
  for (const auto& [number, request] : requests_)
    by_silence.push_back({open_.count(number) != 0, request.heard, number});
  std::sort(by_silence.begin(), by_silence.end(), [](const Silent& a, const Silent& b) {
    return std::tie(a.open, a.heard, a.number) < std::tie(b.open, b.heard, b.number);
  });
  const size_t leave = full ? std::min(bytes() / 2, limits_.bytes / 2) : SIZE_MAX;
  for (const Silent& one : by_silence) {
    const bool quiet = now - one.heard > std::max(limits_.quiet, 5 * interval_);
    if (!quiet && bytes() <= leave) continue;
    Forget(one.number, quiet ? &Losses::past : &Losses::room, pending);
  }
}

EmittedEvents::Evaluation EmittedEvents::Evaluate(Nanos now, Rest rest, Nanos budget) {
  const Nanos until = MonotonicNow() + budget;
  Pending pending(*program_, interval_, now);
  {
    std::vector<Arrived> arrived;
    {
      const std::lock_guard lock(mutex_);
      arrived.swap(arrived_);
      pending.Lose(now, std::exchange(refused_, 0), &Losses::room);
      waiting_ = false;
    }
    for (Arrived& one : arrived)
      for (advice::EmittedEvent& event : one.events) Insert(one.process, std::move(event), one.now);
  }
  bool more = false;
  std::vector<uint64_t> grown;
  auto at = open_.lower_bound(resume_at_);  // where the last evaluation ended
  // At least one request, however short the budget.
  for (size_t done = 0, all = open_.size(); done < all; ++done) {
    if (at == open_.end()) at = open_.begin();
    if (done != 0 && MonotonicNow() >= until) {
      resume_at_ = *at;
      more = true;
      break;
    }
    Request& request = requests_[*at];
    const bool waits = FindComplete(request, now, rest, pending);
    Run(request, pending);
    if (request.ids.size() > limits_.events_of_a_request) grown.push_back(*at);
    at = waits ? std::next(at) : open_.erase(at);
  }
  for (const uint64_t number : grown) Forget(number, &Losses::room, pending);
  if (rest == Rest::kIsLost) {
    for (const uint64_t number : std::vector<uint64_t>(open_.begin(), open_.end()))
      Forget(number, &Losses::work, pending);
    more = false;
  }
  ForgetQuiet(now, pending);
  if (!open_.empty()) waiting_ = true;
  Evaluation evaluation = pending.Finish();
  evaluation.more = more;
  return evaluation;
}

}  // namespace wf::live
