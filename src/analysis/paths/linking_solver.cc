#include "analysis/paths/linking_solver.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/hash.h"

namespace wf {
namespace {

void Insert(std::vector<uint32_t>& kids, uint32_t child) {
  kids.insert(std::lower_bound(kids.begin(), kids.end(), child), child);
}
void Remove(std::vector<uint32_t>& kids, uint32_t child) {
  kids.erase(std::lower_bound(kids.begin(), kids.end(), child));
}

constexpr double kLeastGain = 1e-6;
constexpr size_t kReach = 2;
const double kSuspicious = getenv("SUSP") ? atof(getenv("SUSP")) : 0.2;
constexpr size_t kMostPool = 64;
constexpr size_t kMostShared = 8;

}  // namespace

LinkSolver::LinkSolver(const NodeProblem& problem, const LinkModel& model, LinkState& state)
    : problem_(&problem), model_(&model), state_(&state) {
  score_.resize(problem.parents.size());
  for (uint32_t i = 0; i < score_.size(); ++i) score_[i] = model.Score(i, state.kids[i]);
  dirty_.assign(problem.children.size(), 1);
}

double LinkSolver::total() const {
  double sum = 0;
  for (double s : score_) sum += s;
  for (uint32_t i = 0; i < state_->parent_of.size(); ++i) {
    if (state_->parent_of[i] == kNoParent) sum += model_->OrphanScore(i);
  }
  return sum;
}

void LinkSolver::Touch(uint32_t parent) {
  const LinkParent& p = problem_->parents[parent];
  const auto& children = problem_->children;
  auto it = std::lower_bound(children.begin(), children.end(), p.opened - problem_->slack,
                             [](const LinkChild& c, Nanos t) { return c.sent < t; });
  for (; it != children.end() && (!p.returned || it->sent <= p.replied + problem_->slack); ++it) {
    dirty_[static_cast<size_t>(it - children.begin())] = 1;
  }
}

void LinkSolver::Set(uint32_t parent, const std::vector<uint32_t>& kids) {
  state_->kids[parent] = kids;
  for (uint32_t kid : kids) state_->parent_of[kid] = parent;
  score_[parent] = model_->Score(parent, kids);
  Touch(parent);
}

bool LinkSolver::MakeTails(uint32_t child, uint32_t to, uint32_t with) {
  const uint32_t from = state_->parent_of[child];
  from_.clear();
  to_.clear();
  for (uint32_t kid : state_->kids[to]) {
    if (kid < with) to_.push_back(kid);
  }
  for (uint32_t kid : state_->kids[from]) {
    if (kid < child) from_.push_back(kid);
    else if (problem_->Allows(to, kid)) to_.push_back(kid);
    else return false;
  }
  for (uint32_t kid : state_->kids[to]) {
    if (kid < with) continue;
    if (!problem_->Allows(from, kid)) return false;
    from_.push_back(kid);
  }
  return std::is_sorted(from_.begin(), from_.end()) && std::is_sorted(to_.begin(), to_.end());
}

LinkSolver::Move LinkSolver::Best(uint32_t child, uint32_t to) {
  const uint32_t from = state_->parent_of[child];
  Move best;
  best.gain = -1e300;
  best.to = to;
  const auto consider = [&](Move::Kind kind, uint32_t with, double gain) {
    if (gain > best.gain) {
      best.kind = kind;
      best.with = with;
      best.gain = gain;
    }
  };
  // Relocate.
  double before = from == kNoParent ? model_->OrphanScore(child) : score_[from];
  double after = 0;
  if (from != kNoParent) {
    from_ = state_->kids[from];
    Remove(from_, child);
    after += ScoreOf(from, from_);
  }
  if (to == kNoParent) {
    consider(Move::kRelocate, 0, after + model_->OrphanScore(child) - before);
    return best;
  }
  before += score_[to];
  to_ = state_->kids[to];
  Insert(to_, child);
  consider(Move::kRelocate, 0, after + ScoreOf(to, to_) - before);
  // The kids of `to` around the child: those it can stand in for.
  const std::vector<uint32_t>& kids = state_->kids[to];
  const size_t at = static_cast<size_t>(std::lower_bound(kids.begin(), kids.end(), child) - kids.begin());
  const size_t first = at > kReach ? at - kReach : 0, last = std::min(kids.size(), at + kReach);
  for (size_t i = first; i < last; ++i) {
    const uint32_t with = kids[i];
    if (from != kNoParent && !problem_->Allows(from, with)) continue;
    to_ = kids;
    Remove(to_, with);
    Insert(to_, child);
    double gain = ScoreOf(to, to_) - before;
    if (from != kNoParent) {
      from_ = state_->kids[from];
      Remove(from_, child);
      Insert(from_, with);
      gain += ScoreOf(from, from_);
    } else {
      gain += model_->OrphanScore(with);
    }
    consider(Move::kSwap, with, gain);
  }
  if (from != kNoParent) {
    for (size_t i = at > 0 ? at - 1 : 0; i <= std::min(at, kids.size()); ++i) {
      const uint32_t with = i < kids.size() ? kids[i] : UINT32_MAX;
      if (MakeTails(child, to, with)) {
        consider(Move::kTails, with, ScoreOf(from, from_) + ScoreOf(to, to_) - before);
      }
    }
  }
  return best;
}

void LinkSolver::Apply(uint32_t child, const Move& move) {
  const uint32_t from = state_->parent_of[child];
  if (move.kind == Move::kTails) {
    MakeTails(child, move.to, move.with);
    const std::vector<uint32_t> f = from_, t = to_;
    Set(from, f);
    Set(move.to, t);
    return;
  }
  if (from != kNoParent) {
    std::vector<uint32_t> kids = state_->kids[from];
    Remove(kids, child);
    if (move.kind == Move::kSwap) Insert(kids, move.with);
    Set(from, kids);
  } else if (move.kind == Move::kSwap) {
    state_->parent_of[move.with] = kNoParent;
  }
  if (move.to == kNoParent) {
    state_->parent_of[child] = kNoParent;
    return;
  }
  std::vector<uint32_t> kids = state_->kids[move.to];
  if (move.kind == Move::kSwap) Remove(kids, move.with);
  Insert(kids, child);
  Set(move.to, kids);
}

double LinkSolver::Improve(int most_sweeps) {
  ImproveChildren(most_sweeps);
  for (int i = 0; i < 3 && ImprovePairs() > 0; ++i) ImproveChildren(most_sweeps);
  return total();
}

void LinkSolver::ImproveChildren(int most_sweeps) {
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    size_t moved = 0;
    for (uint32_t child = 0; child < dirty_.size(); ++child) {
      if (!dirty_[child]) continue;
      dirty_[child] = 0;
      const uint32_t from = state_->parent_of[child];
      Move best;
      const auto consider = [&](uint32_t to) {
        if (to == from) return;
        const Move move = Best(child, to);
        if (move.gain > best.gain + kLeastGain) best = move;
      };
      for (uint32_t to : problem_->CandidatesOf(child)) consider(to);
      consider(kNoParent);
      if (best.kind == Move::kStay) continue;
      Apply(child, best);
      ++moved;
    }
    if (moved == 0) break;
  }
}

size_t LinkSolver::ImprovePairs() {
  const NodeProblem& problem = *problem_;
  // Parents that fit badly: something is missing there, or too much.
  std::vector<std::vector<double>> scores(problem.parent_kinds);
  for (uint32_t i = 0; i < problem.parents.size(); ++i) scores[problem.parents[i].kind].push_back(score_[i]);
  std::vector<double> limit(problem.parent_kinds, 0);
  for (uint32_t k = 0; k < problem.parent_kinds; ++k) {
    auto& s = scores[k];
    if (s.empty()) continue;
    const size_t at = static_cast<size_t>(static_cast<double>(s.size()) * kSuspicious);
    std::nth_element(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(std::min(at, s.size() - 1)), s.end());
    limit[k] = s[std::min(at, s.size() - 1)];
  }
  size_t moved = 0;
  std::vector<uint32_t> partners, orphans;
  for (uint32_t i = 0; i < problem.parents.size(); ++i) {
    const LinkParent& p = problem.parents[i];
    partners.clear();
    orphans.clear();
    auto it = std::lower_bound(problem.children.begin(), problem.children.end(), p.opened - problem.slack,
                               [](const LinkChild& c, Nanos t) { return c.sent < t; });
    for (size_t n = 0; it != problem.children.end() && n < kMostPool; ++it, ++n) {
      if (p.returned && it->sent > p.replied + problem.slack) break;
      const auto child = static_cast<uint32_t>(it - problem.children.begin());
      const uint32_t j = state_->parent_of[child];
      if (j == kNoParent) orphans.push_back(child);
      else if (j != i && std::find(partners.begin(), partners.end(), j) == partners.end()) partners.push_back(j);
    }
    if (!orphans.empty()) {
      if (orphans.size() + state_->kids[i].size() > kMostShared) {
        orphans.resize(kMostShared - std::min(kMostShared, state_->kids[i].size()));
      }
      moved += Split(i, kNoParent, orphans);
    }
    if (score_[i] > limit[p.kind]) continue;
    for (uint32_t j : partners) moved += Split(i, j, state_->kids[j]);
  }
  return moved;
}

// The best split of what two parents have, or a parent and nobody.
size_t LinkSolver::Split(uint32_t i, uint32_t j, const std::vector<uint32_t>& others) {
  const NodeProblem& problem = *problem_;
  auto &pool = pool_, &mine = mine_, &theirs = theirs_;
  pool.clear();
  std::merge(state_->kids[i].begin(), state_->kids[i].end(), others.begin(), others.end(), std::back_inserter(pool));
  if (pool.size() > kMostShared) return 0;
  const bool nobody = j == kNoParent;
  uint32_t only_i = 0, only_j = 0, now = 0;
  for (size_t k = 0; k < pool.size(); ++k) {
    if (!nobody && !problem.Allows(j, pool[k])) only_i |= 1u << k;
    if (!problem.Allows(i, pool[k])) only_j |= 1u << k;
    if (state_->parent_of[pool[k]] == i) now |= 1u << k;
  }
  const auto deal = [&](uint32_t mask) {
    mine.clear();
    theirs.clear();
    for (size_t k = 0; k < pool.size(); ++k) (mask >> k & 1 ? mine : theirs).push_back(pool[k]);
  };
  const auto rest = [&] {
    if (!nobody) return model_->Score(j, theirs);
    double sum = 0;
    for (uint32_t child : theirs) sum += model_->OrphanScore(child);
    return sum;
  };
  deal(now);
  double best = score_[i] + rest() + kLeastGain;
  uint32_t best_mask = now;
  for (uint32_t mask = 0; mask < 1u << pool.size(); ++mask) {
    if ((mask & only_i) != only_i || (mask & only_j) != 0 || mask == now) continue;
    deal(mask);
    const double both = model_->Score(i, mine) + rest();
    if (both > best) {
      best = both;
      best_mask = mask;
    }
  }
  if (best_mask == now) return 0;
  deal(best_mask);
  if (nobody) {
    for (uint32_t child : theirs) state_->parent_of[child] = kNoParent;
  } else {
    Set(j, std::vector<uint32_t>(theirs));
  }
  Set(i, std::vector<uint32_t>(mine));
  return 1;
}

void LinkSolver::Shake(double temperature, int sweeps) {
  std::vector<Move> moves;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (uint32_t child = 0; child < dirty_.size(); ++child) {
      const uint32_t from = state_->parent_of[child];
      moves.assign(1, Move{});
      double sum = 1;
      const auto consider = [&](uint32_t to) {
        if (to == from) return;
        const Move move = Best(child, to);
        if (move.gain < -10 * temperature) return;
        sum += std::exp(move.gain / temperature);
        moves.push_back(move);
      };
      for (uint32_t to : problem_->CandidatesOf(child)) consider(to);
      consider(kNoParent);
      if (moves.size() == 1) continue;
      random_ += 0x9E3779B97F4A7C15ull;
      double pick = static_cast<double>(MixBits(random_) >> 11) * 0x1p-53 * sum;
      size_t chosen = 0;
      while (chosen + 1 < moves.size() && (pick -= std::exp(moves[chosen].gain / temperature)) > 0) ++chosen;
      if (moves[chosen].kind != Move::kStay) Apply(child, moves[chosen]);
    }
  }
  std::fill(dirty_.begin(), dirty_.end(), 1);
}

std::vector<Candidate> LinkSolver::Weigh(uint32_t child) {
  const uint32_t from = state_->parent_of[child];
  std::vector<Candidate> out{{from, 1.0}};
  double sum = 1;
  const auto add = [&](uint32_t to) {
    if (to == from) return;
    const double weight = std::exp(std::min(0.0, Best(child, to).gain));
    out.push_back({to, weight});
    sum += weight;
  };
  for (uint32_t to : problem_->CandidatesOf(child)) add(to);
  add(kNoParent);
  for (Candidate& c : out) c.p /= sum;
  std::stable_sort(out.begin() + 1, out.end(), [](const Candidate& a, const Candidate& b) { return a.p > b.p; });
  return out;
}

namespace {

template <typename Better>
LinkState Begin(const NodeProblem& problem, Better better) {
  LinkState state;
  state.parent_of.assign(problem.children.size(), kNoParent);
  state.kids.resize(problem.parents.size());
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    const LinkChild& c = problem.children[child];
    uint32_t best = kNoParent;
    size_t best_same = 0;
    bool best_within = false;
    for (uint32_t parent : problem.CandidatesOf(child)) {
      const LinkParent& p = problem.parents[parent];
      const bool within = !c.returned || !p.returned || c.ended <= p.replied + problem.slack;
      const auto same = static_cast<size_t>(
          std::count_if(state.kids[parent].begin(), state.kids[parent].end(),
                        [&](uint32_t kid) { return problem.children[kid].kind == c.kind; }));
      if (best == kNoParent || within > best_within ||
          (within == best_within && (same < best_same || (same == best_same && better(parent, best))))) {
        best = parent;
        best_same = same;
        best_within = within;
      }
    }
    if (best == kNoParent) continue;
    state.parent_of[child] = best;
    state.kids[best].push_back(child);
  }
  return state;
}

}  // namespace

LinkState FirstComeFirstServed(const NodeProblem& problem) {
  return Begin(problem, [](uint32_t a, uint32_t b) { return a < b; });
}
LinkState LatestFirst(const NodeProblem& problem) {
  return Begin(problem, [](uint32_t a, uint32_t b) { return a > b; });
}

}  // namespace wf
