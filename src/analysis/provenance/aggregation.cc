// Two events are alike if type, node, tuple name and origin agree. Off-path events that were waited for merge
// when they are alike; then causes of one merged vertex merge when they are alike, until nothing changes.
//
// This is congruence closure: a vertex has at most one cause of each kind, so merging two vertices merges
// their causes kind by kind. A table holds, for (vertex, kind), one cause; when two vertices become one, the
// entries of the one with fewer move over, and where the other has an entry already, the two causes are to be
// merged. An entry moves at most log n times. The paper tries each new subgraph with all aggregates, O(n²).
// The result is the smallest equivalence that satisfies the rule, so it does not depend on any order: the
// procedure is commutative and associative.
#include "analysis/provenance/aggregation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/hash.h"

namespace wf::provenance {
namespace {

// (vertex, kind) → cause. Open addressing; entries of vertices that were merged into others stay and are
// never read.
class CauseTable {
 public:
  explicit CauseTable(size_t entries) {
    size_t slots = 64;
    while (slots < entries * 2) slots *= 2;
    slots_.resize(slots);
  }
  // The cause that is there already, or kNoEvent after putting this one.
  uint32_t PutOrGet(uint32_t vertex, uint32_t kind, uint32_t cause) {
    if ((used_ + 1) * 2 > slots_.size()) Grow();
    Slot& slot = Find(static_cast<uint64_t>(vertex) << 32 | kind);
    if (slot.cause != kNoEvent) return slot.cause;
    slot = {static_cast<uint64_t>(vertex) << 32 | kind, cause};
    ++used_;
    return kNoEvent;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t cause = kNoEvent;
  };
  Slot& Find(uint64_t key) {
    const size_t mask = slots_.size() - 1;
    size_t i = MixBits(key) & mask;
    while (slots_[i].cause != kNoEvent && slots_[i].key != key) i = (i + 1) & mask;
    return slots_[i];
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.cause != kNoEvent) Find(slot.key) = slot;
    }
  }
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

class Merging {
 public:
  Merging(const Execution& execution, const AggregationInput& input)
      : x_(execution), in_(input), parent_(input.shown.size(), kNoEvent) {
    for (uint32_t e = 0; e < parent_.size(); ++e) {
      if (in_.shown[e] != 0) parent_[e] = e;
    }
  }

  std::vector<uint32_t> Run() {
    NameKinds();
    MergeWaitedFor();
    if (off_path_ != 0) MergeCauses();
    return Firsts();
  }

 private:
  bool OffPath(uint32_t e) const { return in_.shown[e] != 0 && in_.functional[e] == 0; }

  uint32_t Root(uint32_t e) {
    while (parent_[e] != e) e = parent_[e] = parent_[parent_[e]];
    return e;
  }

  // A small number for each (type, node, name, origin).
  void NameKinds() {
    kind_.assign(parent_.size(), kNoEvent);
    // Two steps through one table: the texts are few.
    CauseTable pairs(64), kinds(64);
    uint32_t next_pair = 0;
    for (uint32_t e = 0; e < parent_.size(); ++e) {
      if (!OffPath(e)) continue;
      ++off_path_;
      uint32_t pair = pairs.PutOrGet(x_.node[e], x_.name[e], next_pair);
      if (pair == kNoEvent) pair = next_pair++;
      // The type shares a number with the pair: there are six of them.
      const uint32_t typed = pair * 6 + static_cast<uint32_t>(x_.type[e]);
      uint32_t kind = kinds.PutOrGet(typed, x_.origin[e], next_kind_);
      if (kind == kNoEvent) kind = next_kind_++;
      kind_[e] = kind;
    }
  }

  void MergeWaitedFor() {
    std::vector<uint32_t> first(next_kind_, kNoEvent);
    for (uint32_t e = 0; e < parent_.size(); ++e) {
      if (!OffPath(e) || in_.waited_for[e] == 0) continue;
      if (first[kind_[e]] == kNoEvent)
        first[kind_[e]] = e;
      else
        parent_[e] = first[kind_[e]];
    }
  }

  // Entries of a vertex: a list of causes, one of each kind except for duplicates that wait to be merged.
  void MergeCauses() {
    const auto n = static_cast<uint32_t>(parent_.size());
    head_.assign(n, kNoEvent);
    tail_.assign(n, kNoEvent);
    count_.assign(n, 0);
    CauseTable table(off_path_);
    std::vector<std::pair<uint32_t, uint32_t>> todo;
    const auto put = [&](uint32_t root, uint32_t cause) {
      const uint32_t other = table.PutOrGet(root, kind_[cause], cause);
      if (other == kNoEvent) return true;
      if (other != cause) todo.emplace_back(other, cause);
      return false;
    };
    for (uint32_t e = 0; e < n; ++e) {
      if (!OffPath(e)) continue;
      const uint32_t root = Root(e);
      for (uint32_t i = x_.causes_begin[e]; i < x_.causes_begin[e + 1]; ++i) {
        if (in_.functional[x_.causes[i]] == 0 && put(root, x_.causes[i]))
          Append(root, x_.causes[i]);
      }
    }
    while (!todo.empty()) {
      uint32_t a = Root(todo.back().first), b = Root(todo.back().second);
      todo.pop_back();
      if (a == b) continue;
      if (count_[a] < count_[b]) std::swap(a, b);
      parent_[b] = a;
      for (uint32_t i = head_[b]; i != kNoEvent;) {
        const Entry entry = entries_[i];
        if (put(a, entry.cause)) Link(a, i);
        i = entry.next;
      }
    }
  }

  void Append(uint32_t root, uint32_t cause) {
    entries_.push_back({cause, kNoEvent});
    Link(root, static_cast<uint32_t>(entries_.size() - 1));
  }
  void Link(uint32_t root, uint32_t entry) {
    entries_[entry].next = kNoEvent;
    if (head_[root] == kNoEvent)
      head_[root] = entry;
    else
      entries_[tail_[root]].next = entry;
    tail_[root] = entry;
    ++count_[root];
  }

  std::vector<uint32_t> Firsts() {
    std::vector<uint32_t> first(parent_.size(), kNoEvent), out(parent_.size(), kNoEvent);
    for (uint32_t e = 0; e < parent_.size(); ++e) {
      if (parent_[e] == kNoEvent) continue;
      const uint32_t root = Root(e);
      if (first[root] == kNoEvent) first[root] = e;
      out[e] = first[root];
    }
    return out;
  }

  struct Entry {
    uint32_t cause, next;
  };

  const Execution& x_;
  const AggregationInput& in_;
  std::vector<uint32_t> parent_;  // union-find over the shown events
  std::vector<uint32_t> kind_;    // of each off-path event
  uint32_t next_kind_ = 0;
  size_t off_path_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint32_t> head_, tail_, count_;  // by root
};

}  // namespace

std::vector<uint32_t> MergeAlike(const Execution& execution, const AggregationInput& input) {
  return Merging(execution, input).Run();
}

}  // namespace wf::provenance
