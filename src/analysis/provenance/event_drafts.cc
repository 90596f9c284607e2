#include "analysis/provenance/event_drafts.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace wf::provenance {
namespace {

// For each draft its place in an order in which causes come first; a cycle is cut somewhere, always the same way.
std::vector<uint32_t> CausesFirst(const std::vector<Draft>& drafts) {
  const auto n = static_cast<uint32_t>(drafts.size());
  std::vector<uint32_t> place(n, UINT32_MAX);
  std::vector<bool> entered(n, false);
  struct Step {
    uint32_t draft;
    size_t next;
  };
  std::vector<Step> path;
  uint32_t places = 0;
  for (uint32_t root = 0; root < n; ++root) {
    if (entered[root]) continue;
    entered[root] = true;
    path.push_back({root, 0});
    while (!path.empty()) {
      Step& step = path.back();
      const auto& causes = drafts[step.draft].causes;
      if (step.next == causes.size()) {
        place[step.draft] = places++;
        path.pop_back();
        continue;
      }
      const uint32_t cause = causes[step.next++];
      if (entered[cause]) continue;
      entered[cause] = true;
      path.push_back({cause, 0});
    }
  }
  return place;
}

}  // namespace

SettledOrder SettleDrafts(std::vector<Draft>& drafts) {
  SettledOrder settled;
  const std::vector<uint32_t> tie = CausesFirst(drafts);
  settled.order.resize(drafts.size());
  std::iota(settled.order.begin(), settled.order.end(), 0);
  std::sort(settled.order.begin(), settled.order.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(drafts[a].start, drafts[a].end, tie[a]) <
           std::tie(drafts[b].start, drafts[b].end, tie[b]);
  });
  std::vector<uint32_t> position(drafts.size());
  for (uint32_t i = 0; i < settled.order.size(); ++i) position[settled.order[i]] = i;
  for (const uint32_t d : settled.order) {
    Draft& draft = drafts[d];
    auto& causes = draft.causes;
    std::sort(causes.begin(), causes.end(),
              [&](uint32_t a, uint32_t b) { return position[a] < position[b]; });
    causes.erase(std::unique(causes.begin(), causes.end()), causes.end());
    const size_t before = causes.size();
    const auto impossible = [&](uint32_t cause) {
      return position[cause] >= position[d] || drafts[cause].end > draft.start;
    };
    causes.erase(std::remove_if(causes.begin(), causes.end(), impossible), causes.end());
    settled.causes_dropped += static_cast<int64_t>(before - causes.size());
    // In order, so what its SND became is known.
    const bool orphan = causes.empty() || (draft.type == ProvenanceType::kReceive &&
                                           drafts[causes[0]].type != ProvenanceType::kSend);
    if (draft.type != ProvenanceType::kInsert && orphan) {
      settled.causes_dropped += static_cast<int64_t>(causes.size());
      causes.clear();
      draft.type = ProvenanceType::kInsert;
    }
    Nanos earliest = INT64_MIN;
    for (const uint32_t cause : causes) earliest = std::max(earliest, drafts[cause].end);
    if (draft.ready) draft.ready = std::max(earliest, std::min(*draft.ready, draft.start));
  }
  return settled;
}

int64_t FitHolds(std::vector<Draft>& drafts, const std::vector<uint32_t>& order,
                 const std::vector<int64_t>& servers) {
  struct Use {
    uint32_t resource;
    Nanos since;
    uint32_t position, hold;
  };
  std::vector<Use> uses;
  for (uint32_t p = 0; p < order.size(); ++p) {
    const auto& holds = drafts[order[p]].holds;
    for (uint32_t h = 0; h < holds.size(); ++h)
      uses.push_back({holds[h].resource, holds[h].since, p, h});
  }
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return std::tie(a.resource, a.since, a.position) < std::tie(b.resource, b.since, b.position);
  });
  // Current occupants, by (end, position). One that ends as another begins has left if it comes first in the
  // order.
  std::set<std::pair<Nanos, uint32_t>> there;
  std::vector<std::pair<uint32_t, uint32_t>> unfit;  // position, hold
  for (size_t i = 0; i < uses.size(); ++i) {
    const Use& use = uses[i];
    if (i == 0 || uses[i - 1].resource != use.resource) there.clear();
    while (!there.empty() && *there.begin() < std::make_pair(use.since, use.position))
      there.erase(there.begin());
    if (static_cast<int64_t>(there.size()) < servers[use.resource])
      there.emplace(drafts[order[use.position]].end, use.position);
    else
      unfit.emplace_back(use.position, use.hold);
  }
  std::sort(unfit.rbegin(), unfit.rend());
  for (const auto& [position, hold] : unfit) {
    auto& holds = drafts[order[position]].holds;
    holds.erase(holds.begin() + hold);
  }
  return static_cast<int64_t>(unfit.size());
}

}  // namespace wf::provenance
