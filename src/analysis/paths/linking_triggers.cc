#include "analysis/paths/linking_triggers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wf::paths {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr Nanos kNeverTriggered = std::numeric_limits<Nanos>::min();
constexpr size_t kLookBack = 12;  // earlier calls of the same parent that can set one off
constexpr int kTriggerRounds = 8;
constexpr int kFreeRounds = 3;         // before components are dropped
constexpr double kLeastWeight = 0.02;  // components that explain less are dropped
constexpr double kPriorRows = 2;       // the weight, in rows, of both positions together
constexpr double kImpossible = 1e-18;  // per ns: once in thirty years

double DelaySince(Nanos at, Nanos time) {
  return time == kNeverTriggered ? kAbsent : static_cast<double>(at - time);
}

Nanos LatestOfSiblings(const NodeProblem& problem, Trigger trigger, const Moment& moment) {
  Nanos latest = kNeverTriggered;
  for (uint32_t sibling : problem.SiblingsOf(moment.parent)) {
    if (sibling == moment.parent) continue;
    const LinkParent& s = problem.parents[sibling];
    if (trigger == Trigger::kSiblingReply && !s.returned) continue;
    const Nanos time = trigger == Trigger::kSiblingReply ? s.replied : s.opened;
    if (time <= moment.at) latest = std::max(latest, time);
  }
  return latest;
}

Nanos LatestOfKids(const NodeProblem& problem, Trigger trigger, uint32_t kind,
                   const Moment& moment) {
  const bool send = trigger == Trigger::kAnySend || trigger == Trigger::kSendOf;
  const bool any = trigger == Trigger::kAnySend || trigger == Trigger::kAnyReturn;
  const size_t first = moment.before > kLookBack ? moment.before - kLookBack : 0;
  Nanos latest = kNeverTriggered;
  for (size_t i = moment.before; i-- > first;) {
    const LinkChild& kid = problem.children[moment.kids[i]];
    if (!any && kid.kind != kind) continue;
    if (send) return kid.sent;
    if (kid.returned && kid.ended <= moment.at + problem.slack)
      latest = std::max(latest, kid.ended);
  }
  return latest;
}

double DelayBehind(const NodeProblem& problem, Trigger trigger, uint32_t kind,
                   const Moment& moment) {
  const LinkParent& parent = problem.parents[moment.parent];
  switch (trigger) {
    case Trigger::kArrival:
      return static_cast<double>(moment.at - parent.opened);
    case Trigger::kReply:
      return parent.returned && moment.at > parent.replied ? DelaySince(moment.at, parent.replied)
                                                           : kAbsent;
    case Trigger::kSiblingArrival:
    case Trigger::kSiblingReply:
      return DelaySince(moment.at, LatestOfSiblings(problem, trigger, moment));
    default:
      return DelaySince(moment.at, LatestOfKids(problem, trigger, kind, moment));
  }
}

}  // namespace

TriggerRows::TriggerRows(const NodeProblem& problem, std::span<const uint32_t> frequent)
    : columns_{{Trigger::kArrival, 0}, {Trigger::kAnyReturn, 0}, {Trigger::kAnySend, 0}} {
  if (frequent.size() > 1) {
    for (uint32_t kind : frequent) {
      columns_.push_back({Trigger::kReturnOf, kind});
      columns_.push_back({Trigger::kSendOf, kind});
    }
  }
  columns_.push_back({Trigger::kReply, 0});
  if (!problem.siblings.empty()) {
    columns_.push_back({Trigger::kSiblingArrival, 0});
    columns_.push_back({Trigger::kSiblingReply, 0});
  }
}

TriggerRows::TriggerRows(const NodeProblem& problem, std::span<const uint32_t> frequent,
                         uint32_t not_by)
    : TriggerRows(problem, frequent) {
  std::erase_if(columns_, [&](const Column& column) {
    switch (column.trigger) {
      case Trigger::kAnyReturn:
      case Trigger::kAnySend:
        return true;
      case Trigger::kReturnOf:
      case Trigger::kSendOf:
        return column.kind == not_by;
      default:
        return false;
    }
  });
}

void TriggerRows::Add(const NodeProblem& problem, const Moment& moment) {
  for (const Column& column : columns_) {
    delays_.push_back(DelayBehind(problem, column.trigger, column.kind, moment));
  }
  later_.push_back(moment.before > 0);
}

TriggerMixture::TriggerMixture(const TriggerRows& rows, Positions positions, double broad) {
  const size_t width = rows.columns_.size();
  const size_t n = rows.size();
  if (n == 0 && broad > 0) {
    broad_[kFirst] = broad_[kLater] = broad;
    return;
  }
  if (n == 0) {
    components_.push_back({Trigger::kArrival, 0, {1, 1}, DelayDensity()});
    return;
  }
  for (const auto& column : rows.columns_)
    components_.push_back({column.trigger, column.kind, {0, 0}, {}});
  // How likely each trigger is for each row: at first all that had happened are equally likely.
  std::vector<double> belief(n * width, 0);
  std::vector<std::vector<uint32_t>> order(width);
  double in[kPositions] = {0, 0};  // rows
  for (size_t r = 0; r < n; ++r) {
    in[rows.later_[r]] += 1;
    double present = 0;
    for (size_t c = 0; c < width; ++c) present += std::isnan(rows.delays_[r * width + c]) ? 0 : 1;
    for (size_t c = 0; c < width; ++c) {
      if (std::isnan(rows.delays_[r * width + c])) continue;
      belief[r * width + c] = 1 / present;
      order[c].push_back(static_cast<uint32_t>(r));
    }
  }
  for (size_t c = 0; c < width; ++c) {
    std::sort(order[c].begin(), order[c].end(), [&](uint32_t a, uint32_t b) {
      const double x = rows.delays_[a * width + c], y = rows.delays_[b * width + c];
      return x != y ? x < y : a < b;
    });
  }
  std::vector<WeightedDelay> samples;
  for (int round = 0; round < kTriggerRounds; ++round) {
    const auto fit =
        round + 1 == kTriggerRounds ? DelayDensity::Fit::kBest : DelayDensity::Fit::kBins;
    for (size_t c = 0; c < width; ++c) {
      Component& component = components_[c];
      if (round > 0 && !component.Used()) continue;
      samples.clear();
      double weight[kPositions] = {0, 0};
      for (uint32_t r : order[c]) {
        samples.push_back({rows.delays_[r * width + c], belief[r * width + c]});
        weight[rows.later_[r]] += samples.back().weight;
      }
      const double over_all = (weight[kFirst] + weight[kLater]) / static_cast<double>(n);
      for (const Position at : {kFirst, kLater}) {
        component.weights[at] = positions == Positions::kAlike
                                    ? over_all
                                    : (weight[at] + kPriorRows * over_all) / (in[at] + kPriorRows);
        if (round >= kFreeRounds && component.weights[at] < kLeastWeight) component.weights[at] = 0;
        if (broad > 0 && in[at] == 0) {
          component.weights[at] = 0;
          broad_[at] = broad;
        }
      }
      component.density = component.Used() ? DelayDensity(samples, fit) : DelayDensity();
    }
    if (round + 1 == kTriggerRounds) break;
    for (size_t r = 0; r < n; ++r) {
      double sum = 0;
      for (size_t c = 0; c < width; ++c) {
        const double weight = components_[c].weights[rows.later_[r]];
        double& b = belief[r * width + c];
        const double delay = rows.delays_[r * width + c];
        b = std::isnan(delay) || weight == 0 ? 0 : weight * components_[c].density.At(delay);
        sum += b;
      }
      if (sum <= 0) continue;
      for (size_t c = 0; c < width; ++c) belief[r * width + c] /= sum;
    }
  }
  for (size_t r = 0; r < n; ++r) {
    double density = kImpossible;
    for (size_t c = 0; c < width; ++c) {
      const double weight = components_[c].weights[rows.later_[r]];
      const double delay = rows.delays_[r * width + c];
      if (!std::isnan(delay) && weight > 0) density += weight * components_[c].density.At(delay);
    }
    fit_ += std::log(density);
  }
  std::erase_if(components_, [](const Component& c) { return !c.Used(); });
  for (const Component& component : components_) {
    const double samples =
        component.weights[kFirst] * in[kFirst] + component.weights[kLater] * in[kLater];
    cost_ += 0.5 * std::log1p(samples) * static_cast<double>(1 + component.density.Parameters());
  }
}

TriggerMixture::TriggerMixture(std::span<const TriggerCause> causes, double broad) {
  double all = 0;
  std::vector<double> often;
  for (const TriggerCause& cause : causes) {
    often.push_back(0);
    for (const WeightedDelay& sample : cause.delays) often.back() += sample.weight;
    all += often.back();
  }
  for (size_t i = 0; i < causes.size(); ++i) {
    const double share = all > 0 ? often[i] / all : 0;
    if (share < kLeastWeight) continue;
    const double first = causes[i].trigger == Trigger::kArrival ? 1 : 0;
    components_.push_back({causes[i].trigger,
                           causes[i].kind,
                           {first, share},
                           DelayDensity(causes[i].delays, DelayDensity::Fit::kBins)});
  }
  const bool by_arrival = std::any_of(components_.begin(), components_.end(),
                                      [](const Component& c) { return c.weights[kFirst] > 0; });
  broad_[kFirst] = by_arrival ? 0 : broad;
  broad_[kLater] = components_.empty() ? broad : 0;
}

void TriggerMixture::Where(const NodeProblem& problem, uint32_t parent,
                           std::span<const uint32_t> kids, double least,
                           std::vector<Span>& spans) const {
  const LinkParent& p = problem.parents[parent];
  const auto parts = static_cast<double>(components_.size());
  const Position position = kids.empty() ? kFirst : kLater;
  const auto always = [&] { spans.push_back({-1e300, 1e300}); };
  if (least <= kImpossible * 2 + broad_[position]) return always();
  for (const Component& component : components_) {
    const double weight = component.weights[position];
    if (weight == 0) continue;
    const DelayDensity::Range range =
        component.density.Where((least - kImpossible - broad_[position]) / (parts * weight));
    if (range.from > range.to) continue;
    const auto behind = [&](Nanos time) {
      const auto at = static_cast<double>(time);
      spans.push_back({at + range.from - 1, at + range.to + 1});
    };
    switch (component.trigger) {
      case Trigger::kArrival:
        behind(p.opened);
        break;
      case Trigger::kReply:
        if (p.returned) behind(p.replied);
        break;
      case Trigger::kSiblingArrival:
      case Trigger::kSiblingReply:
        always();
        break;
      default: {
        // Which return is the latest depends on when the call is made; so all of them.
        const bool send =
            component.trigger == Trigger::kAnySend || component.trigger == Trigger::kSendOf;
        const bool any =
            component.trigger == Trigger::kAnySend || component.trigger == Trigger::kAnyReturn;
        const size_t first = kids.size() > kLookBack ? kids.size() - kLookBack : 0;
        for (size_t i = kids.size(); i-- > first;) {
          const LinkChild& kid = problem.children[kids[i]];
          if (!any && kid.kind != component.kind) continue;
          if (send) {
            behind(kid.sent);
            break;
          }
          if (kid.returned) behind(kid.ended);
        }
      }
    }
  }
}

double TriggerMixture::At(const NodeProblem& problem, const Moment& moment) const {
  const Position position = PositionOf(moment);
  double density = kImpossible + broad_[position];
  for (const Component& component : components_) {
    if (component.weights[position] == 0) continue;
    const double delay = DelayBehind(problem, component.trigger, component.kind, moment);
    if (!std::isnan(delay)) density += component.weights[position] * component.density.At(delay);
  }
  return density;
}

}  // namespace wf::paths
