// For tests: random executions. A case is a seed and a size, so that it can be run again by itself.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analysis/provenance/event_lines_test.h"
#include "analysis/provenance/reference_test.h"

namespace wf::testing {}

namespace wf::provenance::testing {

using namespace wf::testing;

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  int operator()(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<uint64_t>(most - least + 1));
  }
  bool OneIn(int n) { return (*this)(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

struct RandomCase {
  EventList list;
  std::string from, to;
};

// `to` is some event, `from` one of its causal ancestors, perhaps itself.
inline void AnyQuestion(Dice& dice, RandomCase& c) {
  const Reference reference(c.list.events, c.list.servers);
  const int n = static_cast<int>(reference.events().size());
  int to = dice(0, n - 1);
  if (!dice.OneIn(4)) to = dice(n / 2, n - 1);
  if (dice.OneIn(2)) {  // the one that waited longest
    const auto waited = [&](int v) {
      const Reference::Event& e = reference.events()[static_cast<size_t>(v)];
      return e.causes.empty() ? -1 : e.e.start_ns - e.ready;
    };
    for (int v = 0; v < n; ++v) to = waited(v) > waited(to) ? v : to;
  }
  const std::set<int> ancestors = reference.Ancestors({to});
  auto from = ancestors.begin();
  std::advance(from, dice.OneIn(2) ? 0 : dice(0, static_cast<int>(ancestors.size()) - 1));
  c.from = reference.events()[static_cast<size_t>(*from)].e.id;
  c.to = reference.events()[static_cast<size_t>(to)].e.id;
}

// Work that queues for resources of one to three servers, taking them one after another and holding the first while it
// waits for the next; some of it idles, some takes no time. Long waits, and many alike in the way.
inline RandomCase BusyExecution(uint64_t seed, int size) {
  Dice dice(seed);
  RandomCase c;
  const int resources = dice(1, 4), nodes = dice(1, 2);
  std::vector<std::vector<Nanos>> free;  // by resource and server: from when on
  for (int r = 0; r < resources; ++r) {
    const int servers = dice.OneIn(3) ? 1 : dice(1, 3);
    free.emplace_back(static_cast<size_t>(servers), 0);
    if (servers > 1) c.list.servers.push_back({"r" + std::to_string(r), servers});
  }
  for (int i = 0; i < size; ++i) {
    ProvenanceEvent e;
    e.id = "e" + std::to_string(i);
    e.node = "n" + std::to_string(dice(0, nodes - 1));
    if (dice.OneIn(5)) e.origin = "o1";
    Nanos ready = dice(0, dice.OneIn(2) ? 6 : 14);
    std::vector<const ProvenanceEvent*> before, sends;
    for (const ProvenanceEvent& other : c.list.events) {
      if (other.end_ns > ready) continue;
      before.push_back(&other);
      if (other.type == ProvenanceType::kSend) sends.push_back(&other);
    }
    const auto any = [&](const std::vector<const ProvenanceEvent*>& of) {
      return of[static_cast<size_t>(dice(0, static_cast<int>(of.size()) - 1))];
    };
    Nanos last = 0;
    e.type = dice.OneIn(4) ? ProvenanceType::kDelete : ProvenanceType::kInsert;
    if (!sends.empty() && dice.OneIn(4)) {
      e.type = ProvenanceType::kReceive;
      e.causes = {any(sends)->id};
    } else if (!before.empty() && !dice.OneIn(3)) {
      e.type = dice.OneIn(2)   ? ProvenanceType::kDerive
               : dice.OneIn(2) ? ProvenanceType::kUnderive
                               : ProvenanceType::kSend;
      for (int k = dice(1, 3); k > 0; --k) {
        const ProvenanceEvent* cause = any(before);
        e.causes.push_back(cause->id);
        last = std::max(last, cause->end_ns);
      }
      if (dice.OneIn(2)) ready = last;
    }
    const bool caused = !e.causes.empty() && e.type != ProvenanceType::kReceive;
    if (!caused || ready != last || dice.OneIn(4)) e.ready_ns = ready;
    Nanos time = ready;
    e.holds.emplace();
    for (int k = dice.OneIn(2) ? dice(0, 3) : 1; k > 0; --k) {
      const int r = dice(0, resources - 1);
      const std::string resource = "r" + std::to_string(r);
      if (std::any_of(e.holds->begin(), e.holds->end(),
                      [&](const ProvenanceHold& h) { return h.resource == resource; }))
        continue;
      std::vector<Nanos>& servers = free[static_cast<size_t>(r)];
      time = std::max(time, *std::min_element(servers.begin(), servers.end()));
      if (dice.OneIn(3)) time += dice(0, 2);
      e.holds->push_back({resource, time});
    }
    e.start_ns = time + (dice.OneIn(6) ? dice(0, 3) : 0);
    e.end_ns = e.start_ns + (dice.OneIn(6) ? 0 : dice(1, 4));
    for (ProvenanceHold& hold : *e.holds) {
      std::vector<Nanos>& servers = free[static_cast<size_t>(std::stoi(hold.resource.substr(1)))];
      *std::min_element(servers.begin(), servers.end()) = e.end_ns;
      if (dice.OneIn(3)) continue;
      if (*hold.since_ns == e.start_ns) hold.since_ns.reset();
    }
    if (e.ready_ns && e.type != ProvenanceType::kDerive && dice.OneIn(8)) e.ready_ns = e.start_ns;
    const bool message = e.type == ProvenanceType::kSend || e.type == ProvenanceType::kReceive;
    e.tuple =
        std::string(message ? "+" : "") + (dice.OneIn(4) ? "q(" : "p(") + std::to_string(i) + ")";
    c.list.events.push_back(e);
    // Simultaneous events may turn out to be in another order than they were thought of; then less is held.
    while (!Reference(c.list.events, c.list.servers).ok() && !c.list.events.back().holds->empty())
      c.list.events.back().holds->pop_back();
  }
  AnyQuestion(dice, c);
  return c;
}

// Everything the contract allows, on few nodes and few instants: resources of several servers, several holds, holds
// that begin before the event, told ready times, simultaneous and empty events, lines in any order.
inline RandomCase AnyExecution(uint64_t seed, int size) {
  if (seed % 2 == 0) return BusyExecution(seed, size);
  Dice dice(seed);
  RandomCase c;
  const int instants = dice(2, 16), nodes = dice(1, 2), resources = dice(1, 3);
  for (int r = 0; r < resources; ++r) {
    if (dice.OneIn(2)) c.list.servers.push_back({"r" + std::to_string(r), dice(1, 3)});
  }
  for (int n = 0; n < nodes; ++n) {
    if (dice.OneIn(3)) c.list.servers.push_back({"n" + std::to_string(n), dice(1, 3)});
  }
  std::vector<ProvenanceEvent> events;
  for (int i = 0; i < size; ++i) {
    ProvenanceEvent& e = events.emplace_back();
    // Often one begins when another ends: it may have waited for it.
    e.start_ns = i == 0 || dice.OneIn(3)
                     ? dice(0, instants)
                     : events[static_cast<size_t>(dice(std::max(0, i - 3), i - 1))].end_ns;
    e.end_ns = e.start_ns + (dice.OneIn(5) ? 0 : dice(0, 5));
  }
  // Lines as they come; the order of time decides who may cause whom.
  std::vector<size_t> order(events.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(events[a].start_ns, events[a].end_ns) <
           std::tie(events[b].start_ns, events[b].end_ns);
  });
  EventList so_far;
  so_far.servers = c.list.servers;
  for (size_t i = 0; i < order.size(); ++i) {
    ProvenanceEvent& e = events[order[i]];
    e.id = "e" + std::to_string(order[i]);
    e.node = "n" + std::to_string(dice(0, nodes - 1));
    std::vector<const ProvenanceEvent*> before, sends;
    for (size_t j = 0; j < i; ++j) {
      const ProvenanceEvent& other = events[order[j]];
      if (other.end_ns > e.start_ns) continue;
      before.push_back(&other);
      if (other.type == ProvenanceType::kSend) sends.push_back(&other);
    }
    const int kind = before.empty() || dice.OneIn(3) ? 0 : sends.empty() ? dice(1, 4) : dice(1, 6);
    Nanos last = e.start_ns - 4;
    if (kind == 0) {
      e.type = dice.OneIn(4) ? ProvenanceType::kDelete : ProvenanceType::kInsert;
    } else if (kind >= 5) {
      e.type = ProvenanceType::kReceive;
      const ProvenanceEvent& send =
          *sends[sends.size() - 1 -
                 static_cast<size_t>(dice(0, std::min(2, static_cast<int>(sends.size()) - 1)))];
      e.causes = {send.id};
      last = send.end_ns;
    } else {
      e.type = kind <= 2   ? ProvenanceType::kDerive
               : kind == 3 ? ProvenanceType::kUnderive
                           : ProvenanceType::kSend;
      const int causes = dice(1, 3);
      for (int k = 0; k < causes; ++k) {
        const int back = dice.OneIn(3) ? static_cast<int>(before.size()) - 1
                                       : std::min(4, static_cast<int>(before.size()) - 1);
        const ProvenanceEvent& cause =
            *before[before.size() - 1 - static_cast<size_t>(dice(0, back))];
        e.causes.push_back(cause.id);
        last = k == 0 ? cause.end_ns : std::max(last, cause.end_ns);
      }
    }
    const bool message = e.type == ProvenanceType::kSend || e.type == ProvenanceType::kReceive;
    e.tuple = std::string(message ? (dice.OneIn(3) ? "-" : "+") : "") +
              (dice.OneIn(3) ? "q(" : "p(") + std::to_string(i) + ")";
    if (dice.OneIn(4)) e.origin = "o1";
    if (dice.OneIn(3)) {
      last = dice.OneIn(2) ? last : dice(static_cast<int>(last), static_cast<int>(e.start_ns));
      e.ready_ns = last;
    }
    // It holds what there is room for; if it says nothing, its node.
    so_far.events.push_back(e);
    const auto fits = [&] {
      so_far.events.back() = e;
      return Reference(so_far.events, so_far.servers).ok();
    };
    if (dice.OneIn(3) && fits()) continue;
    e.holds.emplace();
    const int wanted = dice.OneIn(6) ? 0 : dice(1, 4);
    for (int k = 0; k < wanted; ++k) {
      ProvenanceHold hold;
      hold.resource = dice.OneIn(4) ? e.node : "r" + std::to_string(dice(0, resources - 1));
      if (dice.OneIn(2)) hold.since_ns = e.start_ns - dice(0, 5);
      e.holds->push_back(hold);
      if (!fits()) e.holds->pop_back();
    }
    fits();
  }
  c.list.events = std::move(events);
  AnyQuestion(dice, c);
  return c;
}

// The paper's model (§3.2): nodes that work one event at a time, first come first served, never idle while one waits;
// every event takes time. Ready times are not told.
inline RandomCase PaperExecution(uint64_t seed, int size) {
  Dice dice(seed);
  struct Task {
    Nanos arrival;
    int number;
    ProvenanceEvent event;
    bool operator<(const Task& o) const {
      return std::tie(arrival, number) < std::tie(o.arrival, o.number);
    }
  };
  const int nodes = dice(1, 3);
  std::vector<std::set<Task>> queues(static_cast<size_t>(nodes));
  std::vector<Nanos> free(static_cast<size_t>(nodes), 0);
  std::vector<std::vector<ProvenanceEvent>> state(static_cast<size_t>(nodes));
  int number = 0;
  const auto enqueue = [&](int node, Nanos arrival, ProvenanceType type, std::string tuple,
                           std::vector<std::string> causes, std::string origin) {
    Task task{arrival, number, {}};
    task.event.id = "e" + std::to_string(number++);
    task.event.type = type;
    task.event.node = "n" + std::to_string(node);
    task.event.tuple = std::move(tuple);
    task.event.causes = std::move(causes);
    task.event.origin = std::move(origin);
    queues[static_cast<size_t>(node)].insert(task);
  };
  const int inputs = dice(1, 4);
  for (int i = 0; i < inputs; ++i) {
    enqueue(dice(0, nodes - 1), dice(0, 12),
            dice.OneIn(5) ? ProvenanceType::kDelete : ProvenanceType::kInsert,
            "in(" + std::to_string(i) + ")", {}, "o" + std::to_string(dice(0, 1)));
  }
  RandomCase c;
  while (static_cast<int>(c.list.events.size()) < size) {
    int node = -1;
    Nanos start = 0;
    for (int n = 0; n < nodes; ++n) {
      const auto& queue = queues[static_cast<size_t>(n)];
      if (queue.empty()) continue;
      const Nanos at = std::max(free[static_cast<size_t>(n)], queue.begin()->arrival);
      if (node < 0 || at < start) node = n, start = at;
    }
    if (node < 0) break;
    auto& queue = queues[static_cast<size_t>(node)];
    ProvenanceEvent e = queue.begin()->event;
    queue.erase(queue.begin());
    e.start_ns = start;
    e.end_ns = start + dice(1, 5);
    free[static_cast<size_t>(node)] = e.end_ns;
    c.list.events.push_back(e);
    const char sign = dice.OneIn(4) ? '-' : '+';
    const std::string tuple = (dice.OneIn(2) ? "p(" : "q(") + std::to_string(number) + ")";
    if (e.type == ProvenanceType::kSend) {
      enqueue(dice(0, nodes - 1), e.end_ns + dice(0, 4), ProvenanceType::kReceive, e.tuple, {e.id},
              e.origin);
      continue;
    }
    const int next = dice(0, 2) + (c.list.events.size() < 4 ? 1 : 0);
    for (int k = 0; k < next; ++k) {
      if (dice.OneIn(3)) {
        enqueue(node, e.end_ns, ProvenanceType::kSend, sign + tuple, {e.id}, e.origin);
        continue;
      }
      std::vector<std::string> causes = {e.id};
      auto& known = state[static_cast<size_t>(node)];
      for (int j = dice(0, 2); j > 0 && !known.empty(); --j) {
        const auto some = static_cast<size_t>(dice(0, static_cast<int>(known.size()) - 1));
        if (std::count(causes.begin(), causes.end(), known[some].id) == 0)
          causes.push_back(known[some].id);
      }
      enqueue(node, e.end_ns, sign == '+' ? ProvenanceType::kDerive : ProvenanceType::kUnderive,
              tuple, causes, e.origin);
    }
    state[static_cast<size_t>(node)].push_back(e);
  }
  AnyQuestion(dice, c);
  return c;
}

}  // namespace wf::provenance::testing
