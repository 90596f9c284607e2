// Nesting over a sliding window, so that memory does not grow with the trace (Aguilera et al. §8).
//
// Calls arrive as they are paired. When the window is full, the earlier three quarters of its calls are
// decided with what the scoreboard has learnt so far, and complete paths leave. A trace that fits into the
// window is treated as a whole, exactly as NestCalls does. Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/paths/nesting.h"
#include "analysis/paths/path_forest.h"

namespace wf::paths {

// Complete paths: the trees of `roots` in `forest`. Valid during the sink's call; the forest may be
// reordered.
struct PathBatch {
  std::span<const Call> calls;
  const Decisions& decisions;
  PathForest& forest;
  std::span<const uint32_t> roots;
};

class NestingStream {
 public:
  using Sink = std::function<void(PathBatch&)>;
  // A million calls are two million messages, and about 200 MB, including the data needed to decide them.
  static constexpr size_t kWindow = size_t{1} << 20;

  NestingStream(const NestingOptions& options, size_t window, Sink sink);

  void Add(const Call& call);  // with or without a return; calls without one are ignored
  void Finish();

  const NestingCounts& counts() const { return nesting_.counts(); }
  // Paths that left for lack of room before they were known to be complete.
  uint64_t cut_short() const { return cut_short_; }

 private:
  // Which paths may leave, by rising need of room.
  enum class Leave { kWhole, kAnswered, kDecided };

  void Slide();
  uint64_t Emit(Nanos until, Leave leave);
  void Keep(const std::vector<uint8_t>& leaving);

  NestingOptions options_;
  size_t window_;
  Sink sink_;
  Nesting nesting_;
  std::vector<Call> calls_;
  Decisions decisions_;
  uint64_t cut_short_ = 0;
};

}  // namespace wf::paths
