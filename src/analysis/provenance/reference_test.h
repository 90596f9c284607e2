// For tests: the contract of docs/concepts/temporal-provenance.md word by word, without a thought for speed, and sharing no code with the
// engine: blame by walking from `to` for one instant between any two times at which something happens, the raw graph
// by closure, merging by trying all pairs until nothing changes.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/provenance/explanation.h"
#include "model/provenance_event.h"

namespace wf::testing {}

namespace wf::provenance::testing {

using namespace wf::testing;

class Reference {
 public:
  struct Event {
    ProvenanceEvent e;
    std::vector<int> causes;
    Nanos ready = 0;
    bool waits = false, expired = false;
    struct Held {
      std::string resource;
      int server = -1;
      Nanos since = 0;
    };
    std::vector<Held> holds;
  };

  // Events must be well-formed but for the number of occupants: ok() tells.
  Reference(std::vector<ProvenanceEvent> events, const std::vector<ResourceServers>& servers,
            std::optional<Nanos> retain_from = {}) {
    for (const ResourceServers& s : servers) servers_[s.resource] = static_cast<int>(s.servers);
    if (retain_from) {
      events.erase(std::remove_if(events.begin(), events.end(),
                                  [&](const auto& e) { return e.end_ns < *retain_from; }),
                   events.end());
    }
    std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
      return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
    });
    std::map<std::string, int> index;
    for (ProvenanceEvent& e : events) {
      const int self = static_cast<int>(v_.size());
      index[e.id] = self;
      Event one;
      one.e = std::move(e);
      std::optional<Nanos> last;
      for (const std::string& cause : one.e.causes) {
        const auto found = index.find(cause);
        if (found == index.end()) {
          one.expired = true;
          continue;
        }
        if (std::count(one.causes.begin(), one.causes.end(), found->second) > 0) continue;
        one.causes.push_back(found->second);
        last = std::max(last.value_or(INT64_MIN), v_[at(found->second)].e.end_ns);
      }
      if (!last && one.expired) last = std::min(*retain_from - 1, one.e.start_ns);
      const bool derived = one.e.type == ProvenanceType::kDerive ||
                           one.e.type == ProvenanceType::kUnderive ||
                           one.e.type == ProvenanceType::kSend;
      one.ready = one.e.ready_ns ? *one.e.ready_ns : derived ? *last : one.e.start_ns;
      one.waits = derived || one.e.ready_ns;
      if (!one.e.holds) {
        one.holds = {{one.e.node, -1, one.e.start_ns}};
      } else {
        for (const ProvenanceHold& h : *one.e.holds)
          one.holds.push_back({h.resource, -1, h.since_ns.value_or(one.e.start_ns)});
      }
      v_.push_back(std::move(one));
    }
    Assign();
  }

  bool ok() const { return ok_; }
  int Find(const std::string& id) const {
    for (size_t i = 0; i < v_.size(); ++i) {
      if (v_[i].e.id == id) return static_cast<int>(i);
    }
    return -1;
  }
  const std::vector<Event>& events() const { return v_; }
  std::set<int> Ancestors(const std::set<int>& of) const {
    std::set<int> in = of;
    for (bool changed = true; changed;) {
      changed = false;
      for (const int v : std::set<int>(in)) {
        for (const int c : v_[at(v)].causes) changed = in.insert(c).second || changed;
      }
    }
    return in;
  }

  struct Walked {
    std::vector<std::vector<int>> passed;   // by piece of time: the events of its walk
    std::vector<std::vector<bool>> causal;  // by piece: the kinds of its steps
    std::vector<Interval> pieces;
  };

  Walked Walk(int from, int to) const {
    std::set<Nanos> times;
    for (const Event& e : v_) {
      times.insert({e.e.start_ns, e.e.end_ns, e.ready});
      for (const auto& h : e.holds) times.insert(h.since);
    }
    Walked out;
    const Nanos begin = v_[at(from)].e.start_ns, end = v_[at(to)].e.end_ns;
    Nanos before = begin;
    for (const Nanos t : times) {
      if (t <= begin || t > end) continue;
      std::vector<int> passed = {to};
      std::vector<bool> causal;
      for (bool step = true; step;) step = Step(t, passed, causal);
      out.pieces.emplace_back(before, t);
      out.passed.push_back(passed);
      out.causal.push_back(causal);
      before = t;
    }
    return out;
  }

  std::string Explain(int from, int to, ExplanationView view,
                      const std::vector<ExplainWhatIf>& what_if = {}) const {
    const Walked walked = Walk(from, to);
    const std::set<int> functional = Ancestors({to});
    std::set<int> blamed = {to}, nonzero;
    for (const auto& passed : walked.passed) nonzero.insert(passed.begin(), passed.end());
    blamed.insert(nonzero.begin(), nonzero.end());
    const std::set<int> pruned = Ancestors(blamed);
    std::set<std::pair<int, int>> raw_sequencing;
    const std::set<int> raw = Raw(to, raw_sequencing);
    const std::map<int, std::set<int>> merged = Merge(pruned, functional, walked);

    std::map<int, std::set<int>> groups;  // by first member
    if (view == ExplanationView::kMerged) groups = merged;
    if (view == ExplanationView::kPruned)
      for (const int v : pruned) groups[v] = {v};
    if (view == ExplanationView::kRaw)
      for (const int v : raw) groups[v] = {v};

    std::ostringstream out;
    out << "delay " << v_[at(to)].e.end_ns - v_[at(from)].e.start_ns << "\n";
    std::map<int, int> group_of;
    std::vector<std::tuple<Nanos, Nanos, int>> order;  // start, end, first member
    for (const auto& [first, members] : groups) {
      Nanos end = v_[at(first)].e.end_ns;
      for (const int m : members) {
        group_of[m] = first;
        end = std::max(end, v_[at(m)].e.end_ns);
      }
      order.emplace_back(v_[at(first)].e.start_ns, end, first);
    }
    std::sort(order.begin(), order.end());
    std::map<int, int> rank;
    for (const auto& [start, end, first] : order) {
      rank.emplace(first, static_cast<int>(rank.size()));
      Print(first, groups.at(first), walked, functional.count(first) > 0, out);
    }
    PrintEdges(groups, group_of, rank, walked, view, raw_sequencing, out);
    out << "sizes " << raw.size() << " " << nonzero.size() << " " << pruned.size() << " "
        << merged.size() << "\n";
    if (!what_if.empty()) PrintWhatIf(from, to, what_if, out);
    return out.str();
  }

  // Predecessors of v, the nearest last; each hold's own chain.
  std::vector<std::vector<int>> Chains(int v) const {
    std::vector<std::vector<int>> chains;
    const Event& e = v_[at(v)];
    if (!e.waits) return chains;
    for (const auto& h : e.holds) {
      Nanos w = e.ready;
      for (const auto& other : e.holds) {
        if (other.since < h.since) w = std::max(w, other.since);
      }
      std::vector<int> chain;
      for (int u = 0; u < v; ++u) {
        if (Holds(u, h.resource, h.server) && v_[at(u)].e.end_ns > w) chain.push_back(u);
      }
      for (int u = v; u-- > 0;) {
        const bool cause = std::count(e.causes.begin(), e.causes.end(), u) > 0;
        if (cause && Holds(u, h.resource, h.server) && v_[at(u)].e.end_ns == w) {
          chain.insert(chain.begin(), u);
          break;
        }
      }
      chains.push_back(chain);
    }
    return chains;
  }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }

  bool Holds(int v, const std::string& resource, int server) const {
    for (const auto& h : v_[at(v)].holds) {
      if (h.resource == resource && h.server == server) return true;
    }
    return false;
  }

  int ServersOf(const std::string& resource) const {
    const auto told = servers_.find(resource);
    return told == servers_.end() ? 1 : told->second;
  }

  void Assign() {
    std::vector<std::tuple<Nanos, int, size_t>> takes;
    for (size_t v = 0; v < v_.size(); ++v) {
      for (size_t h = 0; h < v_[v].holds.size(); ++h)
        takes.emplace_back(v_[v].holds[h].since, static_cast<int>(v), h);
    }
    std::sort(takes.begin(), takes.end());
    // Occupant of a server that was used, and which of its holds that is.
    std::map<std::pair<std::string, int>, std::pair<int, size_t>> last;
    for (const auto& [since, v, h] : takes) {
      auto& hold = v_[at(v)].holds[h];
      int used = 0, best = -1;
      for (int s = 0; last.count({hold.resource, s}) > 0; ++s) {
        ++used;
        const auto [o, listed] = last[{hold.resource, s}];
        const Nanos end = v_[at(o)].e.end_ns;
        if (end > since || (end == since && o >= v)) continue;
        if (best >= 0) {
          const auto& b = last[{hold.resource, best}];
          const Nanos other = v_[at(b.first)].e.end_ns;
          if (end < other || (end == other && std::make_pair(o, listed) > b)) continue;
        }
        best = s;
      }
      if (best < 0 && used == ServersOf(hold.resource)) {
        ok_ = false;
        return;
      }
      hold.server = best < 0 ? used : best;
      last[{hold.resource, hold.server}] = {v, h};
    }
  }

  int OccupantAt(const std::string& resource, int server, Nanos t) const {
    for (size_t u = 0; u < v_.size(); ++u) {
      for (const auto& h : v_[u].holds) {
        if (h.resource == resource && h.server == server && h.since < t && t <= v_[u].e.end_ns)
          return static_cast<int>(u);
      }
    }
    return -1;
  }

  bool Step(Nanos t, std::vector<int>& passed, std::vector<bool>& causal) const {
    const Event& v = v_[at(passed.back())];
    if (t > v.e.start_ns) return false;
    int next = -1;
    for (const int c : v.causes) {
      if (v_[at(c)].e.end_ns < t) continue;
      if (next < 0 ||
          std::make_pair(v_[at(c)].e.end_ns, c) < std::make_pair(v_[at(next)].e.end_ns, next))
        next = c;
    }
    if (next >= 0) {
      passed.push_back(next);
      causal.push_back(true);
      return true;
    }
    if (t <= v.ready) return false;
    std::optional<Nanos> least;
    for (const auto& h : v.holds) {
      if (h.since >= t && (!least || h.since < *least)) least = h.since;
    }
    for (const auto& h : v.holds) {
      if (!least || h.since != *least) continue;
      bool full = true;
      for (int s = 0; s < ServersOf(h.resource); ++s)
        full = full && OccupantAt(h.resource, s, t) >= 0;
      if (!full) continue;
      passed.push_back(OccupantAt(h.resource, h.server, t));
      causal.push_back(false);
      return true;
    }
    return false;
  }

  std::set<int> Raw(int to, std::set<std::pair<int, int>>& sequencing) const {
    std::set<int> in = {to};
    for (std::vector<int> todo = {to}; !todo.empty();) {
      const int v = todo.back();
      todo.pop_back();
      std::vector<int> next = v_[at(v)].causes;
      if (v_[at(v)].e.type == ProvenanceType::kReceive) {
        for (const int c : next) sequencing.emplace(c, v);
      }
      for (std::vector<int> chain : Chains(v)) {
        next.insert(next.end(), chain.begin(), chain.end());
        chain.push_back(v);
        for (size_t i = 0; i + 1 < chain.size(); ++i) sequencing.emplace(chain[i], chain[i + 1]);
      }
      for (const int u : next) {
        if (in.insert(u).second) todo.push_back(u);
      }
    }
    return in;
  }

  bool Alike(int a, int b) const {
    const auto name = [&](int v) {
      return v_[at(v)].e.tuple.substr(0, v_[at(v)].e.tuple.find('('));
    };
    const ProvenanceEvent &x = v_[at(a)].e, &y = v_[at(b)].e;
    return x.type == y.type && x.node == y.node && name(a) == name(b) && x.origin == y.origin;
  }

  std::map<int, std::set<int>> Merge(const std::set<int>& pruned, const std::set<int>& functional,
                                     const Walked& walked) const {
    std::set<int> waited_for;
    for (size_t p = 0; p < walked.passed.size(); ++p) {
      for (size_t i = 0; i < walked.causal[p].size(); ++i) {
        if (!walked.causal[p][i]) waited_for.insert(walked.passed[p][i + 1]);
      }
    }
    std::map<int, int> group;
    for (const int v : pruned) group[v] = v;
    const auto merge = [&](int a, int b) {
      if (a == b || functional.count(a) > 0 || functional.count(b) > 0 || !Alike(a, b))
        return false;
      const int keep = std::min(group[a], group[b]), drop = std::max(group[a], group[b]);
      if (keep == drop) return false;
      for (auto& [v, g] : group) g = g == drop ? keep : g;
      return true;
    };
    for (const int a : waited_for) {
      for (const int b : waited_for) merge(a, b);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const int v : pruned) {
        for (const int w : pruned) {
          if (group[v] != group[w]) continue;
          for (const int a : v_[at(v)].causes) {
            for (const int b : v_[at(w)].causes) changed = merge(a, b) || changed;
          }
        }
      }
    }
    std::map<int, std::set<int>> out;
    for (const auto& [v, g] : group) out[g].insert(v);
    return out;
  }

  static std::vector<Interval> Joined(const std::vector<Interval>& pieces) {
    std::vector<Interval> out;
    for (const Interval& piece : pieces) {
      if (!out.empty() && out.back().second == piece.first)
        out.back().second = piece.second;
      else
        out.push_back(piece);
    }
    return out;
  }
  static Nanos Total(const std::vector<Interval>& pieces) {
    Nanos total = 0;
    for (const Interval& piece : pieces) total += piece.second - piece.first;
    return total;
  }

  void Print(int first, const std::set<int>& members, const Walked& walked, bool functional,
             std::ostream& out) const {
    std::vector<Interval> over, self;
    Nanos end = INT64_MIN;
    bool expired = false;
    for (const int m : members) {
      end = std::max(end, v_[at(m)].e.end_ns);
      expired = expired || v_[at(m)].expired;
    }
    for (size_t p = 0; p < walked.pieces.size(); ++p) {
      const auto& passed = walked.passed[p];
      if (std::any_of(passed.begin(), passed.end(), [&](int v) { return members.count(v) > 0; }))
        over.push_back(walked.pieces[p]);
      if (members.count(passed.back()) > 0) self.push_back(walked.pieces[p]);
    }
    out << v_[at(first)].e.id << " " << v_[at(first)].e.start_ns << ".." << end << " delay "
        << Total(over) << " self " << Total(self) << (functional ? " functional" : "")
        << (expired ? " expired" : "");
    if (members.size() > 1) {
      out << " members";
      for (const int m : members) out << " " << v_[at(m)].e.id;
    } else {
      out << " over";
      for (const auto& [a, b] : Joined(over)) out << " " << a << ".." << b;
      out << " self";
      for (const auto& [a, b] : Joined(self)) out << " " << a << ".." << b;
    }
    out << "\n";
  }

  void PrintEdges(const std::map<int, std::set<int>>& groups, std::map<int, int>& group_of,
                  const std::map<int, int>& rank, const Walked& walked, ExplanationView view,
                  const std::set<std::pair<int, int>>& raw_sequencing, std::ostream& out) const {
    std::map<std::tuple<int, int, int>, Nanos> edges;  // from, to, kind
    for (const auto& [first, members] : groups) {
      for (const int m : members) {
        for (const int c : v_[at(m)].causes) {
          if (group_of[c] != first) edges[{group_of[c], first, 0}];
        }
      }
    }
    if (view == ExplanationView::kRaw) {
      for (const auto& [a, b] : raw_sequencing) edges[{a, b, 1}];
    } else {
      for (size_t p = 0; p < walked.pieces.size(); ++p) {
        std::set<std::tuple<int, int, int>> taken;
        for (size_t i = 0; i < walked.causal[p].size(); ++i) {
          const int by = group_of[walked.passed[p][i + 1]], of = group_of[walked.passed[p][i]];
          if (by != of) taken.emplace(by, of, walked.causal[p][i] ? 0 : 1);
        }
        for (const auto& edge : taken)
          edges[edge] += walked.pieces[p].second - walked.pieces[p].first;
      }
    }
    std::map<std::tuple<int, int, int>, std::pair<std::tuple<int, int, int>, Nanos>> by_rank;
    for (const auto& [edge, delay] : edges) {
      const auto& [from, to, kind] = edge;
      by_rank[{rank.at(from), rank.at(to), kind}] = {edge, delay};
    }
    for (const auto& [place, weighted] : by_rank) {
      const auto& [edge, delay] = weighted;
      const auto& [from, to, kind] = edge;
      out << v_[at(from)].e.id << (kind == 0 ? " -> " : " ~> ") << v_[at(to)].e.id;
      if (view != ExplanationView::kRaw) out << " " << delay;
      out << "\n";
    }
  }

  void PrintWhatIf(int from, int to, const std::vector<ExplainWhatIf>& what_if,
                   std::ostream& out) const {
    std::vector<Nanos> start(v_.size()), end(v_.size());
    int matched = 0;
    for (size_t v = 0; v < v_.size(); ++v) {
      const Event& e = v_[v];
      Nanos ready = e.ready;
      if (!e.causes.empty()) {
        Nanos last = INT64_MIN, last_then = INT64_MIN;
        for (const int c : e.causes) {
          last = std::max(last, v_[at(c)].e.end_ns);
          last_then = std::max(last_then, end[at(c)]);
        }
        ready = last_then + (e.ready - last);
      }
      Nanos busy = e.ready, busy_then = ready;
      for (const auto& h : e.holds) {
        for (size_t u = v; u-- > 0;) {
          if (!Holds(static_cast<int>(u), h.resource, h.server)) continue;
          busy = std::max(busy, v_[u].e.end_ns);
          busy_then = std::max(busy_then, end[u]);
          break;
        }
      }
      start[v] = busy_then + (e.e.start_ns - busy);
      Nanos duration = e.e.end_ns - e.e.start_ns;
      bool hit = false;
      for (const ExplainWhatIf& change : what_if) {
        std::string name = e.e.tuple.substr(0, e.e.tuple.find('('));
        if (name[0] == '+' || name[0] == '-') name = name.substr(1);
        if (!change.node.empty() && change.node != e.e.node) continue;
        if (change.name != "*" && change.name != name) continue;
        hit = true;
        // Halves and whole numbers only, so that doubles are exact.
        duration = static_cast<Nanos>(static_cast<double>(duration) * change.factor);
      }
      matched += hit ? 1 : 0;
      end[v] = start[v] + duration;
    }
    out << "what-if " << matched << " " << end[at(to)] - start[at(from)] << "\n";
  }

  std::vector<Event> v_;  // in the order of time
  std::map<std::string, int> servers_;
  bool ok_ = true;
};

}  // namespace wf::provenance::testing
