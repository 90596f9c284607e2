// Solving clocks as a system of difference constraints.
//
// Problem: each host's clock is off by some x (true = recorded - x). A message from u to v gives x_v - x_u <= w(u, v),
// where w is the least (receive - send) recorded between them. Absolute time is unknown, so one host of each connected
// component is the reference and all others are told relative to it.
//
// Method, per window and component: shortest paths over w give the exact interval [lo, hi] that the constraints leave
// each host (lo from paths to the reference, hi from paths from it). Hosts are then fixed one after another: a host
// stays where it was (at first: with the reference) if its interval allows that, because then nothing shows that it is
// off; otherwise it takes the middle. After each, the intervals of the others shrink along the paths, so every choice
// keeps the system solvable. The error is the greatest distance to the ends of the host's interval before others were
// fixed: wherever in it the truth is, it is no further away.
//
// All windows together are solved first, as if they were one: that is where a host stands before its first window. A
// window whose messages go one way only proves little; clocks seldom jump, so what its neighbours prove holds in it too.
//
// A window in which clocks drifted, or in which a sender lied, may have no solution (a cycle of negative weight).
// Then the least slack e is found for which w + e has one, that is solved, and e is added to every error: the greatest
// violation is as small as it can be, and the answer says how large.
//
// The reference is a host whose clock is known from an earlier window, else one heard of in the earliest: a newcomer would
// move all that were there. Among these it is the one with most exchanges over all windows (ties: the smaller name), so
// that it seldom changes. A reference keeps the offset it had.
//
// Limits: with messages in one direction only, an interval has one end; a host that must move takes that end, and its
// error is what it was, or the distance it moved, because nothing bounds it better.
#include "model/clock.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>

namespace wf {
namespace {

using Wide = __int128;  // sums of differences between any two 64-bit times
constexpr Wide kUnbounded = static_cast<Wide>(1) << 100;

struct Arc {
  uint32_t from, to;
  Wide weight;
};

struct Graph {
  size_t hosts = 0;
  std::vector<Arc> arcs;
  std::vector<std::vector<uint32_t>> out, in;  // arcs by host

  explicit Graph(size_t n) : hosts(n), out(n), in(n) {}
  void Add(uint32_t from, uint32_t to, Wide weight) {
    out[from].push_back(static_cast<uint32_t>(arcs.size()));
    in[to].push_back(static_cast<uint32_t>(arcs.size()));
    arcs.push_back({from, to, weight});
  }
};

// Bellman-Ford from everywhere at once.
bool HasSolution(const Graph& graph, Wide slack) {
  std::vector<Wide> bound(graph.hosts, 0);
  for (size_t pass = 0; pass <= graph.hosts; ++pass) {
    bool changed = false;
    for (const Arc& arc : graph.arcs) {
      if (bound[arc.from] + arc.weight + slack < bound[arc.to]) {
        bound[arc.to] = bound[arc.from] + arc.weight + slack;
        changed = true;
      }
    }
    if (!changed) return true;
  }
  return false;
}

Wide LeastSlack(const Graph& graph) {
  if (HasSolution(graph, 0)) return 0;
  Wide low = 0, high = 0;  // none at low, one at high
  for (const Arc& arc : graph.arcs) high = std::max(high, -arc.weight);
  while (high - low > 1) {
    const Wide middle = low + (high - low) / 2;
    (HasSolution(graph, middle) ? high : low) = middle;
  }
  return high;
}

// The interval each host is left, tightened whenever a host is fixed.
class Intervals {
 public:
  Intervals(const Graph& graph, Wide slack)
      : graph_(graph),
        slack_(slack),
        low_(graph.hosts, -kUnbounded),
        high_(graph.hosts, kUnbounded) {}

  Wide low(uint32_t host) const { return low_[host]; }
  Wide high(uint32_t host) const { return high_[host]; }

  void Fix(uint32_t host, Wide value) {
    low_[host] = high_[host] = value;
    std::deque<uint32_t> work{host};
    while (!work.empty()) {
      const uint32_t at = work.front();
      work.pop_front();
      for (const uint32_t a : graph_.out[at]) {
        const Arc& arc = graph_.arcs[a];
        if (high_[at] < kUnbounded && high_[at] + arc.weight + slack_ < high_[arc.to]) {
          high_[arc.to] = high_[at] + arc.weight + slack_;
          work.push_back(arc.to);
        }
      }
      for (const uint32_t a : graph_.in[at]) {
        const Arc& arc = graph_.arcs[a];
        if (low_[at] > -kUnbounded && low_[at] - arc.weight - slack_ > low_[arc.from]) {
          low_[arc.from] = low_[at] - arc.weight - slack_;
          work.push_back(arc.from);
        }
      }
    }
  }

 private:
  const Graph& graph_;
  Wide slack_;
  std::vector<Wide> low_, high_;
};

Nanos Narrow(Wide value) {
  return static_cast<Nanos>(std::clamp<Wide>(value, INT64_MIN / 2, INT64_MAX / 2));
}

struct Solved {
  Wide offset = 0, error = 0;
};

// `hosts` of one component in order of rank, the reference first; `before`: where each stood.
std::vector<Solved> SolveComponent(const Graph& graph, const std::vector<Solved>& before) {
  const Wide slack = LeastSlack(graph);
  Intervals now(graph, slack);
  now.Fix(0, before[0].offset);
  const Intervals first = now;
  std::vector<Solved> solved(graph.hosts);
  solved[0] = {before[0].offset, slack};
  for (uint32_t host = 1; host < graph.hosts; ++host) {
    const Wide low = now.low(host), high = now.high(host);
    const bool bounded = low > -kUnbounded && high < kUnbounded;
    Wide offset = before[host].offset;
    if (offset < low || offset > high) {
      if (bounded)
        offset = low + (high - low) / 2;
      else
        offset = high < kUnbounded ? high : low;
    }
    now.Fix(host, offset);
    Wide error = 0;
    if (first.high(host) < kUnbounded) error = std::max(error, first.high(host) - offset);
    if (first.low(host) > -kUnbounded) error = std::max(error, offset - first.low(host));
    if (!bounded) {
      const Wide moved = offset - before[host].offset;
      error = std::max({error, before[host].error, moved < 0 ? -moved : moved});
    }
    solved[host] = {offset, error + slack};
  }
  return solved;
}

// The least delay by (from, to), hosts by rank.
using Bounds = std::map<std::pair<uint32_t, uint32_t>, Nanos>;

void Tighten(Bounds& bounds, std::pair<uint32_t, uint32_t> pair, Nanos least) {
  const auto [at, fresh] = bounds.try_emplace(pair, least);
  if (!fresh) at->second = std::min(at->second, least);
}

struct Standing {
  Solved at;
  bool known = false;  // from an earlier window
};

// One window: every host that its messages tell of, moved from where it stood.
std::map<uint32_t, Solved> SolveWindow(const Bounds& bounds, const std::vector<Standing>& hosts) {
  // Components by union-find; the smallest rank of each names it.
  std::map<uint32_t, uint32_t> up;
  const auto top = [&](uint32_t host) {
    while (up.try_emplace(host, host).first->second != host) host = up[host];
    return host;
  };
  for (const auto& [pair, least] : bounds) {
    const uint32_t a = top(pair.first), b = top(pair.second);
    up[std::max(a, b)] = std::min(a, b);
  }
  std::map<uint32_t, std::vector<uint32_t>> components;
  for (const auto& [host, parent] : std::map<uint32_t, uint32_t>(up))
    components[top(host)].push_back(host);
  std::map<uint32_t, Solved> solved;
  for (auto& [smallest, members] : components) {
    std::stable_partition(members.begin(), members.end(),
                          [&](uint32_t host) { return hosts[host].known; });
    std::map<uint32_t, uint32_t> index;
    for (uint32_t i = 0; i < members.size(); ++i) index[members[i]] = i;
    Graph graph(members.size());
    for (const auto& [pair, least] : bounds) {
      if (top(pair.first) == smallest) graph.Add(index[pair.first], index[pair.second], least);
    }
    std::vector<Solved> before;
    for (const uint32_t host : members) before.push_back(hosts[host].at);
    const std::vector<Solved> after = SolveComponent(graph, before);
    for (size_t i = 0; i < members.size(); ++i) solved[members[i]] = after[i];
  }
  return solved;
}

}  // namespace

std::vector<ClockOffset> SolveClocks(const std::vector<ClockExchange>& exchanges,
                                     const std::vector<ClockOffset>& known) {
  // Names and ranks: who is heard of first, then who talks most.
  struct Heard {
    Nanos since = INT64_MAX;
    int64_t traffic = 0;
  };
  std::map<std::string_view, Heard> heard;
  for (const ClockExchange& e : exchanges) {
    if (e.from_host == e.to_host || e.from_host.empty() || e.to_host.empty()) continue;
    for (const std::string_view host :
         {std::string_view(e.from_host), std::string_view(e.to_host)}) {
      heard[host].since = std::min(heard[host].since, e.window_ns);
      heard[host].traffic += e.count;
    }
  }
  std::vector<std::string_view> names;
  for (const auto& [name, count] : heard) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [&](std::string_view a, std::string_view b) {
    const Heard &x = heard[a], &y = heard[b];
    return x.since != y.since ? x.since < y.since : x.traffic > y.traffic;
  });
  std::map<std::string_view, uint32_t> rank;
  for (uint32_t i = 0; i < names.size(); ++i) rank[names[i]] = i;

  // Bounds, the tightest of each pair and window, and over all windows.
  std::map<Nanos, Bounds> windows;
  Bounds all;
  for (const ClockExchange& e : exchanges) {
    if (e.from_host == e.to_host || e.from_host.empty() || e.to_host.empty()) continue;
    const auto pair = std::make_pair(rank[e.from_host], rank[e.to_host]);
    Tighten(windows[e.window_ns], pair, e.least_ns);
    Tighten(all, pair, e.least_ns);
  }

  std::vector<Standing> hosts(names.size());
  std::vector<Nanos> known_since(names.size(), INT64_MIN);
  for (const ClockOffset& offset : known) {
    const auto at = rank.find(offset.host);
    const bool earlier = windows.empty() || offset.from_ns < windows.begin()->first;
    if (at == rank.end() || !earlier || offset.from_ns < known_since[at->second]) continue;
    known_since[at->second] = offset.from_ns;
    hosts[at->second] = {{offset.offset_ns, offset.error_ns}, true};
  }
  for (const auto& [host, solved] : SolveWindow(all, hosts)) {
    if (!hosts[host].known) hosts[host].at = solved;
  }
  std::vector<ClockOffset> offsets;
  for (const auto& [window, bounds] : windows) {
    for (const auto& [host, solved] : SolveWindow(bounds, hosts)) {
      hosts[host] = {solved, true};
      offsets.push_back(
          {std::string(names[host]), window, Narrow(solved.offset), Narrow(solved.error)});
    }
  }
  std::sort(offsets.begin(), offsets.end(), [](const ClockOffset& a, const ClockOffset& b) {
    return std::tie(a.host, a.from_ns) < std::tie(b.host, b.from_ns);
  });
  return offsets;
}

}  // namespace wf
