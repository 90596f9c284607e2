#include "analysis/paths/pattern.h"

#include <algorithm>

#include "base/check.h"

namespace wf::paths {

Nanos HeldToNanos(WideSum sum) {
  return static_cast<Nanos>(std::clamp<WideSum>(sum, INT64_MIN, INT64_MAX));
}

Nanos MeanOf(WideSum sum, uint64_t count) {
  if (count == 0) return 0;
  const WideSum n = count, half = n / 2;
  return HeldToNanos(sum >= 0 ? (sum + half) / n : -((-sum + half) / n));
}

uint64_t PatternTable::NameHash(NodeId node) {
  while (name_hashes_.size() <= node)
    name_hashes_.push_back(
        KeyOf(names_.At(static_cast<NodeId>(name_hashes_.size()))));  // by name: ids differ by run
  return name_hashes_[node];
}

// Children before parents. Steps need a call's children in order of time, the hash in order of their hashes;
// the sort is stable, so equal siblings are still in order of time afterwards.
void PatternTable::HashAndSteps(std::span<const Call> calls, PathForest& forest) {
  hashes_.resize(calls.size());
  after_reply_.resize(calls.size());
  steps_.resize(forest.kids.size() + calls.size());
  for (size_t i = forest.order.size(); i-- > 0;) {
    const uint32_t at = forest.order[i];
    const Call& call = calls[at];
    const auto kids = forest.KidsOf(at);
    Nanos* step = steps_.data() + forest.first[at] + at;
    Nanos covered = call.received_ns;
    for (const uint32_t kid : kids) {
      const Call& child = calls[kid];
      *step++ = std::max<Nanos>(std::min(child.sent_ns, call.replied_ns) - covered, 0);
      covered = std::max(covered, std::min(child.returned_ns, call.replied_ns));
      after_reply_[kid] = child.sent_ns > call.replied_ns;
    }
    *step = std::max<Nanos>(call.replied_ns - covered, 0);
    if (kids.size() > 1)
      std::stable_sort(kids.begin(), kids.end(),
                       [&](uint32_t a, uint32_t b) { return hashes_[a] < hashes_[b]; });
    TreeHash hash(NameHash(call.callee));
    for (const uint32_t kid : kids) hash.AddChild(hashes_[kid]);
    hashes_[at] = hash.Finish();
  }
}

void PatternTable::Describe(Pattern& pattern, std::span<const Call> calls, const PathForest& forest,
                            uint32_t root) {
  pattern.client = calls[root].caller;
  walk_.assign(1, root);
  pattern.nodes.resize(1);
  uint32_t steps = 0;
  for (size_t i = 0; i < walk_.size(); ++i) {
    const auto kids = forest.KidsOf(walk_[i]);
    const uint32_t first_child = static_cast<uint32_t>(pattern.nodes.size());
    PatternNode& node = pattern.nodes[i];
    node.node = calls[walk_[i]].callee;
    node.first_child = first_child;
    node.children = static_cast<uint32_t>(kids.size());
    node.first_step = steps;
    steps += node.children + 1;
    walk_.insert(walk_.end(), kids.begin(), kids.end());
    pattern.nodes.resize(walk_.size());
    for (uint32_t c = first_child; c < pattern.nodes.size(); ++c)
      pattern.nodes[c].parent = static_cast<uint32_t>(i);
  }
  pattern.nodes.shrink_to_fit();
  pattern.steps.assign(steps, 0);
}

Pattern& PatternTable::Find(std::span<const Call> calls, const PathForest& forest, uint32_t root) {
  const uint64_t id = PathHash(NameHash(calls[root].caller), hashes_[root]);
  const auto [slot, is_new] = by_id_.try_emplace(id, nullptr);
  if (!is_new) return *slot->second;
  if (patterns_.size() >= kMaxPatterns) {
    ForgetRarest();
    by_id_.try_emplace(id, nullptr);
  }
  Pattern& pattern = patterns_.emplace_back();
  pattern.id = id;
  by_id_[id] = &pattern;
  Describe(pattern, calls, forest, root);
  return pattern;
}

namespace {

Nanos LinkTime(const Call& call) {
  if (!call.own_sent || !call.own_returned || !call.own_received || !call.own_replied) return 0;
  return (call.returned_ns - call.sent_ns) - (call.replied_ns - call.received_ns);
}

}  // namespace

// Breadth first over the instance, beside the pattern's nodes, which are in the same order.
void PatternTable::CountInstance(Pattern& pattern, std::span<const Call> calls,
                                 const PathForest& forest, uint32_t root) {
  const Call& first = calls[root];
  const Nanos latency = first.replied_ns - first.received_ns;
  ++pattern.count;
  pattern.total_latency += latency;
  const bool was_exact = pattern.latency.exact();
  exact_values_ -= pattern.latency.exact_values();
  pattern.latency.Add(latency);
  exact_values_ += pattern.latency.exact_values();
  if (was_exact && exact_values_ > kMaxExactValues) {
    auto largest = std::max_element(patterns_.begin(), patterns_.end(),
                                    [](const Pattern& a, const Pattern& b) {
                                      return a.latency.exact_values() < b.latency.exact_values();
                                    });
    exact_values_ -= largest->latency.exact_values();
    largest->latency.GiveUpExactness();
  }
  walk_.assign(1, root);
  WF_CHECK(!pattern.nodes.empty());
  const bool keep = keep_ == KeepDistributions::kYes;
  if (keep) pattern.distributions.resize(pattern.nodes.size());
  for (size_t i = 0; i < walk_.size(); ++i) {
    const uint32_t at = walk_[i];
    const Call& call = calls[at];
    PatternNode& node = pattern.nodes[i];
    const auto kids = forest.KidsOf(at);
    node.latency += call.replied_ns - call.received_ns;
    node.link += LinkTime(call);
    const Nanos* steps = steps_.data() + forest.first[at] + at;
    Nanos own = 0;
    for (size_t s = 0; s <= kids.size(); ++s) {
      pattern.steps[node.first_step + s] += steps[s];
      own += steps[s];
    }
    if (keep) {
      pattern.distributions[i].latency.Add(call.replied_ns - call.received_ns);
      pattern.distributions[i].own.Add(own);
    }
    for (size_t k = 0; k < kids.size(); ++k) {
      PatternNode& child = pattern.nodes[node.first_child + k];
      child.call_delay += calls[kids[k]].sent_ns - call.received_ns;
      child.after_reply += after_reply_[kids[k]];
      if (keep)
        pattern.distributions[node.first_child + k].call_delay.Add(calls[kids[k]].sent_ns -
                                                                   call.received_ns);
      walk_.push_back(kids[k]);
    }
  }
  CountTime(pattern, first.received_ns, latency);
}

void PatternTable::CountTime(Pattern& pattern, Nanos began, Nanos latency) {
  if (pattern.count == 1) pattern.first_ns = pattern.last_ns = began;
  pattern.first_ns = std::min(pattern.first_ns, began);
  pattern.last_ns = std::max(pattern.last_ns, began);
  if (!timeline_started_) timeline_start_ = began;
  timeline_started_ = true;
  const Nanos offset = std::max<Nanos>(SaturatingSub(began, timeline_start_), 0);
  while (offset / timeline_span_ >= static_cast<Nanos>(PatternTimeline::kSpans)) {
    timeline_span_ *= 2;
    for (Pattern& other : patterns_) {
      auto& counts = other.timeline.counts;
      for (size_t i = 0; i < counts.size(); ++i)
        counts[i] = 2 * i < counts.size() ? counts[2 * i] + counts[2 * i + 1] : 0;
    }
    for (size_t i = 0; i < timeline_.size(); ++i) {
      TimeSpan sum;
      for (size_t k = 2 * i; k < std::min(2 * i + 2, timeline_.size()); ++k) {
        sum.count += timeline_[k].count;
        sum.latency += timeline_[k].latency;
      }
      timeline_[i] = sum;
    }
  }
  const size_t at = static_cast<size_t>(offset / timeline_span_);
  ++pattern.timeline.counts[at];
  ++timeline_[at].count;
  timeline_[at].latency += latency;
}

void PatternTable::ForgetRarest() {
  std::vector<uint64_t> counts;
  for (const Pattern& pattern : patterns_) counts.push_back(pattern.count);
  std::nth_element(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(counts.size() / 2),
                   counts.end());
  const uint64_t border = counts[counts.size() / 2];
  size_t room = static_cast<size_t>(
      std::count_if(counts.begin(), counts.end(), [&](uint64_t c) { return c > border; }));
  room = counts.size() / 2 - std::min(room, counts.size() / 2);
  // Of those at the border the latest stay: the earlier ones had more time to come again.
  std::vector<uint8_t> stays(patterns_.size());
  for (size_t i = patterns_.size(); i-- > 0;) {
    stays[i] = patterns_[i].count > border || (patterns_[i].count == border && room > 0);
    if (patterns_[i].count == border && room > 0) --room;
  }
  std::deque<Pattern> kept;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    Pattern& pattern = patterns_[i];
    if (stays[i]) {
      kept.push_back(std::move(pattern));
      continue;
    }
    ++forgotten_patterns_;
    forgotten_paths_ += pattern.count;
    exact_values_ -= pattern.latency.exact_values();
  }
  patterns_ = std::move(kept);
  by_id_.clear();
  for (Pattern& pattern : patterns_) by_id_[pattern.id] = &pattern;
}

void PatternTable::Add(std::span<const Call> calls, PathForest& forest,
                       std::span<const uint32_t> roots) {
  HashAndSteps(calls, forest);
  for (const uint32_t root : roots) {
    ++paths_;
    CountInstance(Find(calls, forest, root), calls, forest, root);
  }
}

void PatternTable::ReleaseScratch() {
  // `= {}` would keep the room.
  hashes_ = std::vector<uint64_t>();
  steps_ = std::vector<Nanos>();
  after_reply_ = std::vector<uint8_t>();
  walk_ = std::vector<uint32_t>();
}

size_t PatternTable::MemoryBytes() const {
  constexpr size_t kMapEntry = 48;  // with its part of the buckets
  size_t bytes = sizeof *this + name_hashes_.capacity() * sizeof name_hashes_[0] +
                 by_id_.size() * kMapEntry + hashes_.capacity() * sizeof hashes_[0] +
                 steps_.capacity() * sizeof steps_[0] + after_reply_.capacity() +
                 walk_.capacity() * sizeof walk_[0];
  for (const Pattern& pattern : patterns_) {
    bytes += sizeof pattern + pattern.latency.MemoryBytes() +
             pattern.nodes.capacity() * sizeof(PatternNode) +
             pattern.steps.capacity() * sizeof(WideSum) +
             pattern.distributions.capacity() * sizeof(NodeDistribution);
    for (const NodeDistribution& node : pattern.distributions)
      bytes += node.latency.MemoryBytes() + node.call_delay.MemoryBytes() + node.own.MemoryBytes();
  }
  return bytes;
}

}  // namespace wf::paths
