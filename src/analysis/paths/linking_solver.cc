#include "analysis/paths/linking_solver.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/hash.h"

namespace wf::paths {
namespace {

constexpr double kLeastGain = 1e-6;
constexpr int kMostSweeps = 6;
constexpr int kMostPairRounds = 3;
constexpr size_t kReach = 2;       // children before and after, with which a child may swap parents
constexpr double kBadlyFit = 0.2;  // the share of parents that are dealt anew with their neighbours
constexpr size_t kMostPool = 64;   // children looked at for that
constexpr size_t kMostDealt = 8;   // children dealt between two parents: 2^8 ways
constexpr uint32_t kTouched = 64;  // children around a change that are looked at again
// Of a parent with more kids than this only those near a change are scored, or the work would grow with their square.
constexpr size_t kMany = 48;
constexpr size_t kNear = 16;
constexpr double kHopeless = -12;  // log; moves less likely than that are never drawn

void Insert(std::vector<uint32_t>& kids, uint32_t child) {
  kids.insert(std::lower_bound(kids.begin(), kids.end(), child), child);
}
void Remove(std::vector<uint32_t>& kids, uint32_t child) {
  kids.erase(std::lower_bound(kids.begin(), kids.end(), child));
}

}  // namespace

LinkSolver::LinkSolver(const NodeProblem& problem, const LinkModel& model, LinkState& state,
                       uint64_t seed)
    : problem_(&problem),
      model_(&model),
      state_(&state),
      random_(seed),
      score_(problem.parents.size()),
      dirty_(problem.children.size(), 1) {
  for (uint32_t i = 0; i < score_.size(); ++i) score_[i] = Score(i, state.kids[i]);
}

double LinkSolver::Total() const {
  double sum = 0;
  for (uint32_t i = 0; i < score_.size(); ++i)
    sum += IsMany(i) ? Score(i, state_->kids[i]) : score_[i];
  for (uint32_t i = 0; i < state_->parent_of.size(); ++i) {
    if (state_->parent_of[i] == kNoParent) sum += Orphan(i);
  }
  return sum;
}

bool LinkSolver::IsMany(uint32_t parent) const { return state_->kids[parent].size() > kMany; }

void LinkSolver::Near(uint32_t parent, uint32_t child, Kids& near) const {
  const Kids& kids = state_->kids[parent];
  if (!IsMany(parent)) {
    near = kids;
    return;
  }
  const auto at =
      static_cast<size_t>(std::lower_bound(kids.begin(), kids.end(), child) - kids.begin());
  near.assign(kids.begin() + static_cast<std::ptrdiff_t>(at > kNear ? at - kNear : 0),
              kids.begin() + static_cast<std::ptrdiff_t>(std::min(kids.size(), at + kNear)));
}

void LinkSolver::Set(uint32_t parent, const Kids& kids, uint32_t around) {
  state_->kids[parent] = kids;
  for (uint32_t kid : kids) state_->parent_of[kid] = parent;
  if (!IsMany(parent)) score_[parent] = Score(parent, kids);
  const auto [first, last] = problem_->ChildrenOf(parent);
  const uint32_t from = std::max(first, around > kTouched ? around - kTouched : 0);
  const uint32_t to = std::min(last, around + kTouched);
  for (uint32_t child = from; child < to; ++child) dirty_[child] = 1;
}

// What the child's parent has from the child on goes to `to`, and what that has from `with` on comes back.
bool LinkSolver::DealTails(uint32_t child, uint32_t to, uint32_t with) {
  const uint32_t from = state_->parent_of[child];
  const Kids &mine = state_->kids[from], &theirs = state_->kids[to];
  const auto mine_at = std::lower_bound(mine.begin(), mine.end(), child);
  const auto theirs_at = std::lower_bound(theirs.begin(), theirs.end(), with);
  if (mine_at != mine.begin() && theirs_at != theirs.end() && *(mine_at - 1) > *theirs_at)
    return false;
  if (theirs_at != theirs.begin() && *(theirs_at - 1) > child) return false;
  if (!std::all_of(mine_at, mine.end(), [&](uint32_t kid) { return problem_->Allows(to, kid); }) ||
      !std::all_of(theirs_at, theirs.end(),
                   [&](uint32_t kid) { return problem_->Allows(from, kid); })) {
    return false;
  }
  from_.assign(mine.begin(), mine_at);
  from_.insert(from_.end(), theirs_at, theirs.end());
  to_.assign(theirs.begin(), theirs_at);
  to_.insert(to_.end(), mine_at, mine.end());
  return true;
}

LinkSolver::Move LinkSolver::Best(uint32_t child, uint32_t to) {
  const uint32_t from = state_->parent_of[child];
  Move best;
  best.gain = -1e300;
  best.to = to;
  const auto consider = [&](MoveKind kind, uint32_t with, double gain) {
    if (gain <= best.gain) return;
    best.kind = kind;
    best.with = with;
    best.gain = gain;
  };
  double before = 0, without = 0;
  if (from == kNoParent) {
    before = Orphan(child);
  } else {
    Near(from, child, from_near_);
    before = IsMany(from) ? Score(from, from_near_) : score_[from];
    Remove(from_near_, child);
    without = Score(from, from_near_);
  }
  if (to == kNoParent) {
    consider(MoveKind::kRelocate, 0, without + Orphan(child) - before);
    return best;
  }
  Near(to, child, to_near_);
  before += IsMany(to) ? Score(to, to_near_) : score_[to];
  to_ = to_near_;
  Insert(to_, child);
  consider(MoveKind::kRelocate, 0, without + Score(to, to_) - before);

  // The children of `to` around the child: those it can replace.
  const auto at = static_cast<size_t>(std::lower_bound(to_near_.begin(), to_near_.end(), child) -
                                      to_near_.begin());
  const size_t first = at > kReach ? at - kReach : 0, last = std::min(to_near_.size(), at + kReach);
  for (size_t i = first; i < last; ++i) {
    const uint32_t with = to_near_[i];
    if (from != kNoParent && !problem_->Allows(from, with)) continue;
    to_ = to_near_;
    Remove(to_, with);
    Insert(to_, child);
    double after = Score(to, to_);
    if (from == kNoParent) {
      after += Orphan(with);
    } else {
      from_ = from_near_;
      Insert(from_, with);
      after += Score(from, from_);
    }
    consider(MoveKind::kSwap, with, after - before);
  }
  if (from == kNoParent || IsMany(from) || IsMany(to)) return best;
  const Kids& kids = state_->kids[to];
  for (size_t i = at > 0 ? at - 1 : 0; i <= at; ++i) {
    const uint32_t with = i < kids.size() ? kids[i] : UINT32_MAX;
    if (DealTails(child, to, with)) {
      consider(MoveKind::kTails, with, Score(from, from_) + Score(to, to_) - before);
    }
  }
  return best;
}

void LinkSolver::Apply(uint32_t child, const Move& move) {
  const uint32_t from = state_->parent_of[child];
  if (move.kind == MoveKind::kTails) {
    DealTails(child, move.to, move.with);
    Set(from, from_, child);
    Set(move.to, to_, child);
    return;
  }
  if (from != kNoParent) {
    from_ = state_->kids[from];
    Remove(from_, child);
    if (move.kind == MoveKind::kSwap) Insert(from_, move.with);
    Set(from, from_, child);
  } else if (move.kind == MoveKind::kSwap) {
    state_->parent_of[move.with] = kNoParent;
  }
  if (move.to == kNoParent) {
    state_->parent_of[child] = kNoParent;
    return;
  }
  to_ = state_->kids[move.to];
  if (move.kind == MoveKind::kSwap) Remove(to_, move.with);
  Insert(to_, child);
  Set(move.to, to_, child);
}

void LinkSolver::Improve() {
  ImproveChildren();
  for (int i = 0; i < kMostPairRounds && ImprovePairs() > 0; ++i) ImproveChildren();
}

size_t LinkSolver::ImproveChildren() {
  size_t all = 0;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
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
      if (best.kind == MoveKind::kStay) continue;
      Apply(child, best);
      ++moved;
    }
    all += moved;
    if (moved == 0) break;
  }
  return all;
}

size_t LinkSolver::ImprovePairs() {
  const NodeProblem& problem = *problem_;
  // A parent fits badly if it is among the least likely of its kind: it has too few children, or too many.
  std::vector<std::vector<double>> scores(problem.parent_kinds);
  for (uint32_t i = 0; i < score_.size(); ++i) scores[problem.parents[i].kind].push_back(score_[i]);
  std::vector<double> limit(problem.parent_kinds, 0);
  for (uint32_t k = 0; k < problem.parent_kinds; ++k) {
    if (scores[k].empty()) continue;
    const auto at = scores[k].begin() + static_cast<std::ptrdiff_t>(
                                            kBadlyFit * static_cast<double>(scores[k].size() - 1));
    std::nth_element(scores[k].begin(), at, scores[k].end());
    limit[k] = *at;
  }
  size_t moved = 0;
  Kids partners, orphans;
  for (uint32_t i = 0; i < score_.size(); ++i) {
    if (IsMany(i)) continue;
    partners.clear();
    orphans.clear();
    const auto [first, last] = problem.ChildrenOf(i);
    for (uint32_t child = first; child < last && child - first < kMostPool; ++child) {
      const uint32_t j = state_->parent_of[child];
      if (j == kNoParent) {
        orphans.push_back(child);
      } else if (j != i && std::find(partners.begin(), partners.end(), j) == partners.end()) {
        partners.push_back(j);
      }
    }
    if (!orphans.empty() && state_->kids[i].size() < kMostDealt) {
      orphans.resize(std::min(orphans.size(), kMostDealt - state_->kids[i].size()));
      moved += Split(i, kNoParent, orphans);
    }
    if (score_[i] > limit[problem.parents[i].kind]) continue;
    for (uint32_t j : partners) moved += Split(i, j, state_->kids[j]);
  }
  return moved;
}

// The best way to distribute the children of two parents, or of a parent and none.
size_t LinkSolver::Split(uint32_t i, uint32_t j, const Kids& others) {
  const bool nobody = j == kNoParent;
  if (state_->kids[i].size() + others.size() > kMostDealt) return 0;
  pool_.clear();
  std::merge(state_->kids[i].begin(), state_->kids[i].end(), others.begin(), others.end(),
             std::back_inserter(pool_));
  uint32_t only_mine = 0, only_theirs = 0, now = 0;
  for (size_t k = 0; k < pool_.size(); ++k) {
    if (!nobody && !problem_->Allows(j, pool_[k])) only_mine |= 1u << k;
    if (!problem_->Allows(i, pool_[k])) only_theirs |= 1u << k;
    if (state_->parent_of[pool_[k]] == i) now |= 1u << k;
  }
  const auto deal = [&](uint32_t mask) {
    mine_.clear();
    theirs_.clear();
    for (size_t k = 0; k < pool_.size(); ++k)
      ((mask >> k & 1) != 0 ? mine_ : theirs_).push_back(pool_[k]);
  };
  const auto rest = [&] {
    if (!nobody) return Score(j, theirs_);
    double sum = 0;
    for (uint32_t child : theirs_) sum += Orphan(child);
    return sum;
  };
  deal(now);
  double best = score_[i] + rest() + kLeastGain;
  uint32_t best_mask = now;
  for (uint32_t mask = 0; mask < 1u << pool_.size(); ++mask) {
    if ((mask & only_mine) != only_mine || (mask & only_theirs) != 0 || mask == now) continue;
    deal(mask);
    const double both = Score(i, mine_) + rest();
    if (both > best) {
      best = both;
      best_mask = mask;
    }
  }
  if (best_mask == now) return 0;
  deal(best_mask);
  const uint32_t around = pool_[pool_.size() / 2];
  if (nobody) {
    for (uint32_t child : theirs_) state_->parent_of[child] = kNoParent;
  } else {
    Set(j, theirs_, around);
  }
  Set(i, mine_, around);
  return 1;
}

void LinkSolver::Shake() {
  std::vector<Move> moves;
  std::vector<double> weights;
  for (uint32_t child = 0; child < dirty_.size(); ++child) {
    const uint32_t from = state_->parent_of[child];
    const auto candidates = problem_->CandidatesOf(child);
    if (candidates.empty() || (candidates.size() == 1 && candidates[0] == from)) continue;
    moves.assign(1, Move{});
    weights.assign(1, 1.0);
    double sum = 1;
    const auto consider = [&](uint32_t to) {
      if (to == from) return;
      const Move move = Best(child, to);
      if (move.gain < kHopeless) return;
      moves.push_back(move);
      weights.push_back(std::exp(move.gain));
      sum += weights.back();
    };
    for (uint32_t to : candidates) consider(to);
    consider(kNoParent);
    if (moves.size() == 1) continue;
    random_ += 0x9E3779B97F4A7C15ull;
    double pick = static_cast<double>(MixBits(random_) >> 11) * 0x1p-53 * sum;
    size_t chosen = 0;
    while (chosen + 1 < moves.size() && (pick -= weights[chosen]) > 0) ++chosen;
    if (moves[chosen].kind != MoveKind::kStay) Apply(child, moves[chosen]);
  }
  std::fill(dirty_.begin(), dirty_.end(), 1);
}

std::vector<Candidate> LinkSolver::Weigh(uint32_t child) {
  const uint32_t from = state_->parent_of[child];
  std::vector<Candidate> all{{from, 1.0}};
  double sum = 1;
  const auto add = [&](uint32_t to) {
    if (to == from) return;
    const double weight = std::exp(std::min(0.0, Best(child, to).gain));
    all.push_back({to, weight});
    sum += weight;
  };
  for (uint32_t to : problem_->CandidatesOf(child)) add(to);
  add(kNoParent);
  for (Candidate& candidate : all) candidate.p /= sum;
  std::stable_sort(all.begin() + 1, all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.p > b.p; });
  return all;
}

}  // namespace wf::paths
