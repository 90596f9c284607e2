#include "analysis/paths/linking_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"

namespace wf {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostRows = 2000;    // samples per density: more no longer sharpen it
constexpr size_t kLookBack = 12;      // earlier calls of the same parent that can set one off
constexpr int kMixtureRounds = 8;
constexpr double kLeastWeight = 0.02;  // components that explain less are dropped

uint64_t SignatureOf(const NodeProblem& problem, std::span<const uint32_t> kids) {
  uint64_t signature = 0;
  for (uint32_t child : kids) signature += MixBits(problem.children[child].kind + 0x9E3779B97F4A7C15ull);
  return signature;
}

}  // namespace

// Delays of one slot: a row per sample, a column per possible trigger.
struct LinkModel::Rows {
  std::vector<Component> columns;
  std::vector<double> delays;  // row-major; kAbsent: that trigger had not happened
  size_t size() const { return columns.empty() ? 0 : delays.size() / columns.size(); }
};

LinkModel::LinkModel(const NodeProblem& problem, const LinkState& state) : problem_(&problem) {
  behaviours_.resize(problem.parent_kinds);
  LearnPatterns(state);
  LearnDelays(state);
  LearnThreads(state);
  LearnOrphans(state);
}

void LinkModel::LearnPatterns(const LinkState& state) {
  const NodeProblem& problem = *problem_;
  const uint32_t kinds = problem.child_kinds;
  std::vector<std::vector<std::vector<double>>> seen(problem.parent_kinds);
  std::vector<std::vector<double>> outliving(problem.parent_kinds), total(problem.parent_kinds);
  for (uint32_t k = 0; k < problem.parent_kinds; ++k) {
    seen[k].resize(kinds);
    outliving[k].assign(kinds, 0);
    total[k].assign(kinds, 0);
  }
  std::vector<uint32_t> count(kinds);
  for (uint32_t i = 0; i < problem.parents.size(); ++i) {
    const LinkParent& parent = problem.parents[i];
    Behaviour& behaviour = behaviours_[parent.kind];
    ++behaviour.parents;
    behaviour.patterns[SignatureOf(problem, state.kids[i])] += 1;
    std::fill(count.begin(), count.end(), 0);
    for (uint32_t child : state.kids[i]) {
      const LinkChild& c = problem.children[child];
      ++count[c.kind];
      total[parent.kind][c.kind] += 1;
      if (parent.returned && c.returned && c.ended > parent.replied + problem.slack) {
        outliving[parent.kind][c.kind] += 1;
      }
    }
    for (uint32_t kind = 0; kind < kinds; ++kind) {
      auto& histogram = seen[parent.kind][kind];
      const size_t n = std::min<size_t>(count[kind], 15);
      if (histogram.size() <= n) histogram.resize(n + 1);
      histogram[n] += 1;
    }
  }
  for (uint32_t k = 0; k < problem.parent_kinds; ++k) {
    Behaviour& behaviour = behaviours_[k];
    const double n = static_cast<double>(behaviour.parents);
    const double smoothing = 1 + 0.02 * n;
    for (auto& [signature, seen_count] : behaviour.patterns) {
      seen_count = std::log(seen_count / (n + smoothing));
    }
    behaviour.unseen_pattern = std::log(smoothing / (n + smoothing));
    behaviour.counts.resize(kinds);
    for (uint32_t kind = 0; kind < kinds; ++kind) {
      auto& histogram = seen[k][kind];
      histogram.resize(17);
      for (size_t i = 0; i < histogram.size(); ++i) {
        // Numbers not seen have half an observation, thinning out with the number.
        behaviour.counts[kind].push_back(
            std::log((histogram[i] + 0.5 * std::pow(0.5, static_cast<double>(i) + 1)) / (n + 0.5)));
      }
      const double share = (outliving[k][kind] + 0.01) / (total[k][kind] + 1);
      behaviour.outlives.push_back(std::log(share));
      behaviour.ends_within.push_back(std::log1p(-share));
    }
  }
}

double LinkModel::PatternScore(const Behaviour& behaviour, std::span<const uint32_t> kids) const {
  // Independent counts, for patterns not seen as a whole.
  std::vector<uint32_t> count(problem_->child_kinds);
  for (uint32_t child : kids) ++count[problem_->children[child].kind];
  double apart = behaviour.unseen_pattern;
  for (uint32_t kind = 0; kind < count.size(); ++kind) {
    apart += behaviour.counts[kind][std::min<uint32_t>(count[kind], 16)];
  }
  const auto found = behaviour.patterns.find(SignatureOf(*problem_, kids));
  if (found == behaviour.patterns.end()) return apart;
  return std::max(apart, found->second);
}

// When the component's event happened, of those no later than `at`; `before`: number of kids sent before.
double LinkModel::TriggerTime(const Component& component, uint32_t parent,
                              std::span<const uint32_t> kids, size_t before, Nanos at) const {
  const NodeProblem& problem = *problem_;
  const LinkParent& p = problem.parents[parent];
  switch (component.trigger) {
    case Trigger::kArrival:
      return static_cast<double>(at - p.opened);
    case Trigger::kReply:
      return p.returned && at > p.replied ? static_cast<double>(at - p.replied) : kAbsent;
    case Trigger::kSiblingArrival:
    case Trigger::kSiblingReply: {
      Nanos latest = std::numeric_limits<Nanos>::min();
      for (uint32_t sibling : problem.SiblingsOf(parent)) {
        if (sibling == parent) continue;
        const LinkParent& s = problem.parents[sibling];
        if (component.trigger == Trigger::kSiblingReply && !s.returned) continue;
        const Nanos time = component.trigger == Trigger::kSiblingArrival ? s.opened : s.replied;
        if (time <= at) latest = std::max(latest, time);
      }
      return latest == std::numeric_limits<Nanos>::min() ? kAbsent : static_cast<double>(at - latest);
    }
    default:
      break;
  }
  const bool send = component.trigger == Trigger::kAnySend || component.trigger == Trigger::kSendOf;
  const bool any = component.trigger == Trigger::kAnySend || component.trigger == Trigger::kAnyReturn;
  Nanos latest = std::numeric_limits<Nanos>::min();
  const size_t first = before > kLookBack ? before - kLookBack : 0;
  for (size_t i = before; i-- > first;) {
    const LinkChild& kid = problem.children[kids[i]];
    if (!any && kid.kind != component.kind) continue;
    if (send) {
      if (kid.sent <= at) {
        latest = kid.sent;
        break;
      }
    } else if (kid.returned && kid.ended <= at + problem.slack) {
      latest = std::max(latest, kid.ended);
    }
  }
  return latest == std::numeric_limits<Nanos>::min() ? kAbsent : static_cast<double>(at - latest);
}

double LinkModel::Density(const Mixture& mixture, uint32_t parent, std::span<const uint32_t> kids,
                          size_t before, Nanos at) const {
  double density = 1e-18;
  for (const Component& component : mixture) {
    const double delay = TriggerTime(component, parent, kids, before, at);
    if (!std::isnan(delay)) density += component.weight * component.density.At(delay);
  }
  return density;
}

double LinkModel::Score(uint32_t parent, std::span<const uint32_t> kids) const {
  const NodeProblem& problem = *problem_;
  const LinkParent& p = problem.parents[parent];
  const Behaviour& behaviour = behaviours_[p.kind];
  double score = PatternScore(behaviour, kids);
  size_t before_reply = 0;
  for (size_t i = 0; i < kids.size(); ++i) {
    const LinkChild& kid = problem.children[kids[i]];
    uint32_t slot = 0;
    for (size_t j = 0; j < i && slot + 1 < kSlots; ++j) slot += problem.children[kids[j]].kind == kid.kind;
    score += std::log(Density(behaviour.sends[kid.kind * kSlots + slot], parent, kids, i, kid.sent));
    if (p.returned && kid.returned) {
      score += kid.ended > p.replied + problem.slack ? behaviour.outlives[kid.kind]
                                                     : behaviour.ends_within[kid.kind];
    }
    if (kid.sent <= p.replied + problem.slack) before_reply = i + 1;
    score += ThreadScore(parent, kids[i]);
  }
  if (p.returned) score += std::log(Density(behaviour.reply, parent, kids, before_reply, p.replied));
  return score;
}

double LinkModel::ThreadScore(uint32_t parent, uint32_t child) const {
  const uint64_t a = problem_->parents[parent].thread, b = problem_->children[child].thread;
  if (a == 0 || b == 0) return 0;
  return a == b ? same_thread_ : other_thread_;
}

LinkModel::Mixture LinkModel::Fit(const Rows& rows) {
  const size_t n = rows.size(), width = rows.columns.size();
  Mixture mixture = rows.columns;
  if (n == 0) {
    mixture.resize(1);
    mixture[0].weight = 1;
    return mixture;
  }
  std::vector<double> belief(n * width, 0);
  std::vector<std::vector<uint32_t>> order(width);
  for (size_t r = 0; r < n; ++r) {
    size_t present = 0;
    for (size_t c = 0; c < width; ++c) present += !std::isnan(rows.delays[r * width + c]);
    for (size_t c = 0; c < width; ++c) {
      if (std::isnan(rows.delays[r * width + c])) continue;
      belief[r * width + c] = 1.0 / static_cast<double>(present);
      order[c].push_back(static_cast<uint32_t>(r));
    }
  }
  for (size_t c = 0; c < width; ++c) {
    std::sort(order[c].begin(), order[c].end(), [&](uint32_t a, uint32_t b) {
      const double x = rows.delays[a * width + c], y = rows.delays[b * width + c];
      return x != y ? x < y : a < b;
    });
  }
  std::vector<WeightedDelay> samples;
  for (int round = 0; round < kMixtureRounds; ++round) {
    for (size_t c = 0; c < width; ++c) {
      if (round > 0 && mixture[c].weight == 0) continue;
      samples.clear();
      double weight = 0;
      for (uint32_t r : order[c]) {
        samples.push_back({rows.delays[r * width + c], belief[r * width + c]});
        weight += belief[r * width + c];
      }
      mixture[c].weight = weight / static_cast<double>(n);
      if (round >= 3 && mixture[c].weight < kLeastWeight) mixture[c].weight = 0;
      mixture[c].density = mixture[c].weight > 0 ? DelayDensity(samples) : DelayDensity();
    }
    if (round + 1 == kMixtureRounds) break;
    for (size_t r = 0; r < n; ++r) {
      double sum = 0;
      for (size_t c = 0; c < width; ++c) {
        const double delay = rows.delays[r * width + c];
        double& b = belief[r * width + c];
        b = std::isnan(delay) || mixture[c].weight == 0 ? 0 : mixture[c].weight * mixture[c].density.At(delay);
        sum += b;
      }
      if (sum <= 0) continue;
      for (size_t c = 0; c < width; ++c) belief[r * width + c] /= sum;
    }
  }
  std::erase_if(mixture, [](const Component& c) { return c.weight == 0; });
  if (mixture.empty()) mixture.push_back(rows.columns[0]);
  return mixture;
}

void LinkModel::LearnDelays(const LinkState& state) {
  const NodeProblem& problem = *problem_;
  // Parents by kind, thinned evenly so that no slot has far more rows than it can use.
  std::vector<std::vector<uint32_t>> of_kind(problem.parent_kinds);
  for (uint32_t i = 0; i < problem.parents.size(); ++i) of_kind[problem.parents[i].kind].push_back(i);
  for (uint32_t k = 0; k < problem.parent_kinds; ++k) {
    Behaviour& behaviour = behaviours_[k];
    std::vector<double> frequency(problem.child_kinds, 0);
    for (uint32_t i : of_kind[k]) {
      for (uint32_t child : state.kids[i]) frequency[problem.children[child].kind] += 1;
    }
    std::vector<Component> columns;
    columns.push_back({Trigger::kArrival, 0, 0, {}});
    columns.push_back({Trigger::kAnyReturn, 0, 0, {}});
    columns.push_back({Trigger::kAnySend, 0, 0, {}});
    std::vector<uint32_t> frequent;
    for (uint32_t kind = 0; kind < problem.child_kinds; ++kind) {
      if (frequency[kind] >= 0.02 * static_cast<double>(of_kind[k].size()) && frequency[kind] > 2) {
        frequent.push_back(kind);
      }
    }
    std::stable_sort(frequent.begin(), frequent.end(),
                     [&](uint32_t a, uint32_t b) { return frequency[a] > frequency[b]; });
    if (frequent.size() > 6) frequent.resize(6);
    if (frequent.size() > 1) {
      for (uint32_t kind : frequent) {
        columns.push_back({Trigger::kReturnOf, kind, 0, {}});
        columns.push_back({Trigger::kSendOf, kind, 0, {}});
      }
    }
    columns.push_back({Trigger::kReply, 0, 0, {}});
    if (!problem.siblings.empty()) {
      columns.push_back({Trigger::kSiblingArrival, 0, 0, {}});
      columns.push_back({Trigger::kSiblingReply, 0, 0, {}});
    }

    std::vector<Rows> rows(problem.child_kinds * kSlots);
    for (Rows& r : rows) r.columns = columns;
    Rows reply;
    reply.columns = columns;
    const auto add = [&](Rows& to, uint32_t parent, std::span<const uint32_t> kids, size_t before, Nanos at) {
      for (const Component& column : columns) {
        to.delays.push_back(TriggerTime(column, parent, kids, before, at));
      }
    };
    const size_t stride = std::max<size_t>(1, of_kind[k].size() / kMostRows);
    for (size_t n = 0; n < of_kind[k].size(); n += stride) {
      const uint32_t i = of_kind[k][n];
      const auto& kids = state.kids[i];
      const LinkParent& parent = problem.parents[i];
      std::vector<uint32_t> slot(problem.child_kinds, 0);
      size_t before_reply = 0;
      for (size_t j = 0; j < kids.size(); ++j) {
        const LinkChild& kid = problem.children[kids[j]];
        add(rows[kid.kind * kSlots + std::min(slot[kid.kind]++, kSlots - 1)], i, kids, j, kid.sent);
        if (kid.sent <= parent.replied + problem.slack) before_reply = j + 1;
      }
      if (parent.returned) add(reply, i, kids, before_reply, parent.replied);
    }
    behaviour.sends.reserve(rows.size());
    for (const Rows& r : rows) behaviour.sends.push_back(Fit(r));
    behaviour.reply = Fit(reply);
  }
}

void LinkModel::LearnThreads(const LinkState& state) {
  // How much more often is the thread the same for the chosen parents than for the others in question?
  const NodeProblem& problem = *problem_;
  double chosen = 1, chosen_same = 0.5, other = 1, other_same = 0.5;
  for (uint32_t i = 0; i < problem.children.size(); ++i) {
    const uint64_t thread = problem.children[i].thread;
    if (thread == 0 || state.parent_of[i] == kNoParent) continue;
    for (uint32_t parent : problem.CandidatesOf(i)) {
      const uint64_t at = problem.parents[parent].thread;
      if (at == 0) continue;
      (parent == state.parent_of[i] ? chosen : other) += 1;
      if (at == thread) (parent == state.parent_of[i] ? chosen_same : other_same) += 1;
    }
  }
  const double r = chosen_same / chosen, q = other_same / other;
  same_thread_ = std::log(r / q);
  other_thread_ = std::log((1 - r) / (1 - q));
}

void LinkModel::LearnOrphans(const LinkState& state) {
  const NodeProblem& problem = *problem_;
  std::vector<double> orphans(problem.child_kinds, 0.05);
  for (uint32_t i = 0; i < problem.children.size(); ++i) {
    if (state.parent_of[i] == kNoParent) orphans[problem.children[i].kind] += 1;
  }
  const double span = static_cast<double>(problem.last - problem.first) + 1e6;
  for (double n : orphans) orphan_.push_back(std::log(n / span));
}

}  // namespace wf
