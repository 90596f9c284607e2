// For tests: the speed-up procedure of Zeno §A.6. A barrier moves from the end of an execution to its beginning; what
// it meets must be the vertex to blame for that stretch, or a terminal event; it pushes their times before it. If it
// meets anything else, the graph is not well-annotated (definition A.6).
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/nanos.h"

namespace wf::testing {}

namespace wf::provenance::testing {

using namespace wf::testing;

struct SpeedUpVertex {
  std::string id;
  Nanos start = 0, end = 0;
  bool annotated = false;
  // Annotation and speedup interval, not empty.
  std::optional<std::pair<Nanos, Nanos>> alpha, delta;
};

class SpeedUp {
 public:
  // Edges from what came first; those of predecessors go straight to the vertex that waited.
  SpeedUp(std::vector<SpeedUpVertex> vertices, std::vector<std::pair<size_t, size_t>> edges,
          size_t root, Nanos begin)
      : v_(std::move(vertices)), edges_(std::move(edges)), root_(root), begin_(begin) {}

  // `watch` is called after each move of the barrier. Returns what went wrong, or nothing.
  std::string Run(const std::function<void(Nanos, const std::vector<SpeedUpVertex>&)>& watch = {}) {
    while (v_[root_].end > begin_) {
      const Nanos right = v_[root_].end;
      size_t fast = v_.size();
      for (size_t i = 0; i < v_.size(); ++i) {
        if (!v_[i].delta || v_[i].delta->second != right) continue;
        if (fast != v_.size()) return v_[fast].id + " and " + v_[i].id + " are to blame at once";
        fast = i;
      }
      if (fast == v_.size()) return "nobody is to blame at " + std::to_string(right);
      if (v_[fast].end != right) return v_[fast].id + " is to blame and does not end last";
      steps.push_back(v_[fast].id);
      const Nanos left = v_[fast].delta->first;
      if (const std::string wrong = Move(fast, right, left, watch); !wrong.empty()) return wrong;
      v_[fast].delta.reset();
    }
    return "";
  }

  std::vector<std::string> steps;  // who sped up, in order

 private:
  std::string Move(size_t fast, Nanos right, Nanos left,
                   const std::function<void(Nanos, const std::vector<SpeedUpVertex>&)>& watch) {
    for (Nanos barrier = right; barrier > left;) {
      Nanos next = left;  // the next time at which something happens
      for (const SpeedUpVertex& u : v_) {
        for (const Nanos t :
             {u.start, u.end, u.alpha ? u.alpha->first : left, u.delta ? u.delta->first : left}) {
          if (t < barrier) next = std::max(next, t);
        }
      }
      std::vector<size_t> met;
      for (size_t i = 0; i < v_.size(); ++i) {
        if (v_[i].end < barrier) continue;
        if (i != fast && !Terminal(i, barrier))
          return v_[i].id + " is in the way of " + v_[fast].id + " at " + std::to_string(barrier);
        met.push_back(i);
      }
      for (const size_t i : met) Push(v_[i], next);
      barrier = next;
      for (const auto& [from, to] : edges_) {
        if (v_[from].end > v_[to].start)
          return v_[from].id + " ends after " + v_[to].id + " starts";
      }
      if (watch) watch(barrier, v_);
    }
    return "";
  }

  static void Push(SpeedUpVertex& v, Nanos barrier) {
    v.start = std::min(v.start, barrier);
    v.end = std::min(v.end, barrier);
    for (auto* interval : {&v.alpha, &v.delta}) {
      if (!*interval) continue;
      (*interval)->first = std::min((*interval)->first, barrier);
      (*interval)->second = std::min((*interval)->second, barrier);
      if ((*interval)->first == (*interval)->second) interval->reset();
    }
  }

  bool Terminal(size_t i, Nanos end) const {
    if (v_[i].annotated) return v_[i].end == end && !v_[i].delta;
    std::set<size_t> seen = {i};
    for (std::vector<size_t> todo = {i}; !todo.empty();) {
      const size_t at = todo.back();
      todo.pop_back();
      for (const auto& [from, to] : edges_) {
        if (from != at || !seen.insert(to).second) continue;
        if (!v_[to].annotated)
          todo.push_back(to);
        else if (v_[to].alpha)
          return false;
      }
    }
    return true;
  }

  std::vector<SpeedUpVertex> v_;
  std::vector<std::pair<size_t, size_t>> edges_;
  const size_t root_;
  const Nanos begin_;
};

}  // namespace wf::provenance::testing
