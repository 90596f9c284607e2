// The nesting algorithm (Aguilera et al. §5.1, figure 4): the cause of each call, from times and names alone.
//
// Candidate parents of a call from B are the calls into B that arrived no later than it left and returned no
// earlier than it returned, both loosened by the skew window. The scoreboard learns from all calls how long
// after A→B a call B→C usually leaves: with N candidates each scores 1/N. Then each call, in order of the
// time it left, is given to the candidate whose delay is most usual, less a penalty for the children that it
// already has:
//
//   score × (1 + c_overlap)⁻ˣ × (1 + c_same)⁻ʸ × (1 + c_any)⁻ᶻ
//
// c_overlap: children that overlap the call in time; c_same: children to the same node; c_any: all children.
// Ties go to the earliest parent.
//
// Beyond the paper: a call that nests in nothing may have been issued after its cause was answered
// (write-back caches); it is given to one of the latest calls into its node if the delays of such calls are
// not random (late_calls.h). Nodes are independent of each other, so each is swept separately, in order of
// time, with only the open calls in memory: the cost is (number of calls) × (mean number of candidates).
//
// Thread safety: none; separate objects are independent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/paths/call.h"

namespace wf::paths {

enum class CandidateRule : uint8_t {
  kAny,
  kSamePath,  // only calls with the same `path`: gives the truth of a trace whose paths are known (§7.5.1)
};

struct NestingOptions {
  Nanos skew_window = 0;
  // Deviation, in bins, of the Gaussian that smooths the scoreboard; 0: no smoothing. Unset: kSmoothing with
  // a skew window, else 0.
  std::optional<double> smoothing;
  double overlap_penalty = 2, same_penalty = 0, any_penalty = 0;  // x, y, z
  // How long after the reply a call may be issued and still belong to it; 0: never.
  Nanos after_reply = kSecond;
  uint32_t candidates = 0;  // how many parents are kept besides the chosen one
  CandidateRule rule = CandidateRule::kAny;

  // A bin is 5% wide: four of them let a delay be ±20% off. Less leaves skewed peaks apart; more blurs neighbouring
  // ones together.
  static constexpr double kSmoothing = 4;
  double Smoothing() const { return smoothing.value_or(skew_window > 0 ? kSmoothing : 0); }
};

struct NestingCounts {
  uint64_t children = 0;     // calls that have a candidate parent
  uint64_t candidates = 0;   // candidates of all these calls together
  uint64_t after_reply = 0;  // calls given to a parent that had been answered
  // Calls that were their own ancestor (skew window, equal times): cut at the earliest.
  uint64_t cycles = 0;
  // Mean number of candidate parents of a call that has any.
  double Parallelism() const {
    return children == 0 ? 0 : static_cast<double>(candidates) / static_cast<double>(children);
  }
};

// The decision for each call of a span, by its index there.
struct Decisions {
  static constexpr uint32_t kUndecided = UINT32_MAX - 1;

  std::vector<uint32_t> parent;  // or kNoParent, or kUndecided
  std::vector<float> p;
  std::vector<std::vector<Candidate>> others;  // empty unless requested

  void Resize(size_t calls);
};

class Nesting {
 public:
  explicit Nesting(const NestingOptions& options);
  ~Nesting();

  // Decides every undecided call that left before `until`; all calls count as parents. What is learnt carries
  // over to the next span. Calls without a return are ignored: they have no parent.
  void Decide(std::span<const Call> calls, Nanos until, Decisions& decisions);
  // Learns from `calls` without deciding any.
  void Score(std::span<const Call> calls);
  const NestingCounts& counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Counts candidates only: the parallelism of a trace that another algorithm decides.
NestingCounts CountCandidates(std::span<const Call> calls, Nanos skew_window);

// All at once. `calls` in line order.
std::vector<Assignment> NestCalls(std::span<const Call> calls, const NestingOptions& options,
                                  NestingCounts* counts = nullptr);

}  // namespace wf::paths
