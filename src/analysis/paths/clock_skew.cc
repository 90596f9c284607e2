#include "analysis/paths/clock_skew.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace wf::paths {
namespace {

// Lags are looked for this far to either side. Clocks further apart than that are not kept by anything.
constexpr Nanos kFarthest = 500 * kMilli;
constexpr Nanos kBin = 250 * kMicro;
constexpr size_t kBins = 2 * static_cast<size_t>(kFarthest / kBin);
constexpr size_t kMostMessages = 4000;  // of one pair of nodes; more do not sharpen the result
constexpr size_t kMostLags = 2'000'000;
constexpr double kLeastDeviations = 8;  // a pile lower than that may be chance
constexpr size_t kLeastMessages = 5;
// The shortest delay is this quantile: one wrong time must not decide.
constexpr double kShortest = 0.01;
// Min error after removal: times of the other end do not include the time on the wire, which varies.
constexpr Nanos kLeastWindow = kMilli;
constexpr Nanos kMostWindow = 50 * kMilli;

std::optional<Nanos> Shortest(std::vector<Nanos>& delays) {
  if (delays.size() < kLeastMessages) return std::nullopt;
  const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(delays.size()) * kShortest);
  std::nth_element(delays.begin(), delays.begin() + at, delays.end());
  return delays[static_cast<size_t>(at)];
}

constexpr Nanos kNever = INT64_MIN;

struct Cause {
  Nanos time = 0;
  Nanos not_by = 0;  // an event at this time cannot be its effect: it is what the message answers
};

// Where the times of `effects` cluster after those of `causes`: the near edge of the cluster.
std::optional<Nanos> NearEdgeOfPile(std::vector<Cause> causes, const std::vector<Nanos>& effects) {
  if (causes.size() < kLeastMessages || effects.size() < kLeastMessages) return std::nullopt;
  std::sort(causes.begin(), causes.end(),
            [](const Cause& a, const Cause& b) { return a.time < b.time; });
  std::vector<uint32_t> histogram(kBins, 0);
  std::vector<Nanos> lags;
  const size_t stride = std::max<size_t>(1, causes.size() / kMostMessages);
  size_t first = 0;
  for (size_t i = 0; i < causes.size() && lags.size() < kMostLags; i += stride) {
    while (first < effects.size() && effects[first] < causes[i].time - kFarthest) ++first;
    for (size_t j = first; j < effects.size() && effects[j] < causes[i].time + kFarthest; ++j) {
      if (effects[j] == causes[i].not_by) continue;
      const Nanos lag = effects[j] - causes[i].time;
      ++histogram[static_cast<size_t>((lag + kFarthest) / kBin)];
      lags.push_back(lag);
    }
  }
  if (lags.empty()) return std::nullopt;
  std::vector<double> sum(kBins + 1, 0);
  for (size_t i = 0; i < kBins; ++i) sum[i + 1] = sum[i] + histogram[i];
  // The cluster: the window that exceeds its surroundings most, at several widths.
  double best = 0, best_around = 0;
  size_t best_from = 0, best_width = 0;
  for (size_t width = 1; width <= 64; width *= 2) {
    const size_t margin = 8 * width;
    for (size_t from = 0; from + width <= kBins; from += std::max<size_t>(1, width / 2)) {
      const double inside = sum[from + width] - sum[from];
      const size_t lo = from > margin ? from - margin : 0;
      const size_t hi = std::min(kBins, from + width + margin);
      const double around = (sum[hi] - sum[lo] - inside) / static_cast<double>(hi - lo - width);
      const double expected = around * static_cast<double>(width);
      const double deviations = (inside - expected) / std::sqrt(expected + 1);
      if (deviations < kLeastDeviations) continue;
      // The excess divided by the root of the width is largest where the window is as wide as the cluster.
      const double sharp = (inside - expected) / std::sqrt(static_cast<double>(width));
      if (sharp > best) {
        best = sharp;
        best_around = around;
        best_from = from;
        best_width = width;
      }
    }
  }
  if (best_width == 0) return std::nullopt;
  // Its near edge, in the lags themselves: a twentieth of the excess is before it.
  const Nanos from =
      static_cast<Nanos>(best_from) * kBin - kFarthest - static_cast<Nanos>(best_width) * kBin;
  const Nanos to = static_cast<Nanos>(best_from + best_width) * kBin - kFarthest;
  std::vector<Nanos> near;
  for (Nanos lag : lags) {
    if (lag >= from && lag < to) near.push_back(lag);
  }
  std::sort(near.begin(), near.end());
  const double rate = best_around / static_cast<double>(kBin);
  const double excess = static_cast<double>(near.size()) - rate * static_cast<double>(to - from);
  for (size_t i = 0; i < near.size(); ++i) {
    const double over = static_cast<double>(i + 1) - rate * static_cast<double>(near[i] - from);
    if (over >= 0.05 * excess) return near[i];
  }
  return std::nullopt;
}

// The callee's clock minus the caller's, and its bounds.
struct Difference {
  NodeId caller = 0, callee = 0;
  Nanos offset = 0, uncertainty = 0;
  bool both_ends = false;  // of single messages
  bool one_sided = false;  // one bound only: nothing is known of the uncertainty
  size_t messages = 0;
};

struct Link {
  std::vector<Nanos> there, back;    // by both ends: received - sent, returned - replied
  std::vector<Nanos> round;          // replied by the callee - sent by the caller
  std::vector<Cause> sent, replied;  // by the caller's clock, by the callee's
  size_t order = 0;                  // of first appearance
};

struct Node {
  std::vector<Nanos> sends, acts;  // own clock: calls out; calls out and replies
};

std::optional<Difference> Compare(Link& link, const Node& caller, const Node& callee) {
  Difference difference;
  const auto there = Shortest(link.there), back = Shortest(link.back);
  if (there && back) {
    difference.offset = (*there - *back) / 2;
    difference.uncertainty = std::abs(*there + *back) / 2;
    difference.both_ends = true;
    difference.messages = link.there.size() + link.back.size();
    return difference;
  }
  // The callee's clock is ahead by no more than `most` and by no less than `least`.
  std::optional<Nanos> most = there, least;
  if (back) least = -*back;
  const auto lower = [&](std::optional<Nanos> bound) {
    if (bound && (!most || *bound < *most)) most = bound;
  };
  if (!there) {
    lower(Shortest(link.round));
    lower(NearEdgeOfPile(link.sent, callee.sends));
  }
  if (!back) {
    const auto edge = NearEdgeOfPile(link.replied, caller.acts);
    if (edge) least = -*edge;
  }
  if (!most && !least) return std::nullopt;
  difference.messages = link.sent.size();
  // Clocks are taken to agree unless the messages show otherwise.
  if (!most || !least) {
    difference.offset = most ? std::min<Nanos>(0, *most) : std::max<Nanos>(0, *least);
    difference.one_sided = true;
    return difference;
  }
  const bool may_agree = *least <= 0 && *most >= 0;
  difference.offset = may_agree ? 0 : *least + (*most - *least) / 2;
  difference.uncertainty = may_agree ? std::max(-*least, *most) : std::abs(*most - *least) / 2;
  return difference;
}

}  // namespace

ClockSkew EstimateSkew(std::span<const Call> calls) {
  std::map<std::pair<NodeId, NodeId>, Link> links;
  std::map<NodeId, Node> nodes;
  std::vector<NodeId> order;  // nodes that have a clock, by first appearance
  const auto node = [&](NodeId id) -> Node& {
    const auto [it, fresh] = nodes.try_emplace(id);
    if (fresh) order.push_back(id);
    return it->second;
  };
  for (const Call& call : calls) {
    if (call.caller == call.callee) continue;
    Link& link = links[{call.caller, call.callee}];
    if (link.order == 0) link.order = links.size();
    const bool own_replied = call.returned && call.own_replied;
    const bool own_returned = call.returned && call.own_returned;
    if (call.own_sent) {
      Node& caller = node(call.caller);
      caller.sends.push_back(call.sent_ns);
      caller.acts.push_back(call.sent_ns);
      link.sent.push_back({call.sent_ns, kNever});
    }
    if (call.own_received) node(call.callee);
    if (own_replied) {
      node(call.callee).acts.push_back(call.replied_ns);
      link.replied.push_back({call.replied_ns, call.own_sent ? call.sent_ns : kNever});
    }
    if (call.own_sent && call.own_received) link.there.push_back(call.received_ns - call.sent_ns);
    if (own_replied && own_returned) link.back.push_back(call.returned_ns - call.replied_ns);
    if (call.own_sent && own_replied) link.round.push_back(call.replied_ns - call.sent_ns);
  }
  for (auto& [id, n] : nodes) {
    std::sort(n.sends.begin(), n.sends.end());
    std::sort(n.acts.begin(), n.acts.end());
  }
  std::vector<std::pair<size_t, Difference>> differences;
  for (auto& [ends, link] : links) {
    const auto caller = nodes.find(ends.first), callee = nodes.find(ends.second);
    if (caller == nodes.end() || callee == nodes.end()) continue;
    if (auto difference = Compare(link, caller->second, callee->second)) {
      difference->caller = ends.first;
      difference->callee = ends.second;
      differences.emplace_back(link.order, *difference);
    }
  }
  // The surest comparisons make a tree.
  std::sort(differences.begin(), differences.end(), [](const auto& a, const auto& b) {
    if (a.second.both_ends != b.second.both_ends) return a.second.both_ends;
    if (a.second.one_sided != b.second.one_sided) return b.second.one_sided;
    if (a.second.uncertainty != b.second.uncertainty)
      return a.second.uncertainty < b.second.uncertainty;
    return a.first < b.first;
  });
  ClockSkew skew;
  Nanos window = 0;
  bool taken_over = false;
  for (const Call& call : calls) {
    taken_over |= !call.own_sent || !call.own_received ||
                  (call.returned && (!call.own_replied || !call.own_returned));
  }
  std::map<NodeId, std::vector<std::pair<NodeId, Nanos>>> tree;
  std::map<NodeId, NodeId> component;
  const auto find = [&](NodeId id) {
    while (component.contains(id)) id = component[id];
    return id;
  };
  for (const auto& [appearance, difference] : differences) {
    const NodeId a = find(difference.caller), b = find(difference.callee);
    if (a == b) continue;
    if (!difference.both_ends) window = std::max(window, 2 * difference.uncertainty);
    component[a] = b;
    tree[difference.caller].emplace_back(difference.callee, difference.offset);
    tree[difference.callee].emplace_back(difference.caller, -difference.offset);
  }
  for (NodeId reference : order) {
    if (!skew.offset_ns.try_emplace(reference, 0).second) continue;
    std::vector<NodeId> open{reference};
    while (!open.empty()) {
      const NodeId at = open.back();
      open.pop_back();
      for (const auto& [next, offset] : tree[at]) {
        if (skew.offset_ns.try_emplace(next, skew.offset_ns[at] + offset).second)
          open.push_back(next);
      }
    }
  }
  if (taken_over) skew.window_ns = std::clamp(window, kLeastWindow, kMostWindow);
  return skew;
}

void RemoveSkew(const ClockSkew& skew, std::span<Call> calls) {
  const auto of = [&](NodeId id) {
    const auto it = skew.offset_ns.find(id);
    return it == skew.offset_ns.end() ? Nanos{0} : it->second;
  };
  for (Call& call : calls) {
    const Nanos caller = of(call.caller), callee = of(call.callee);
    call.sent_ns -= call.own_sent ? caller : callee;
    call.received_ns -= call.own_received ? callee : caller;
    call.replied_ns -= call.own_replied ? callee : caller;
    call.returned_ns -= call.own_returned ? caller : callee;
  }
}

}  // namespace wf::paths
