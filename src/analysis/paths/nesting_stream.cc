#include "analysis/paths/nesting_stream.h"

#include <algorithm>

namespace wf::paths {

NestingStream::NestingStream(const NestingOptions& options, size_t window, Sink sink)
    : options_(options),
      window_(std::max<size_t>(window, 4)),
      sink_(std::move(sink)),
      nesting_(options) {}

void NestingStream::Add(const Call& call) {
  if (!call.returned) return;
  calls_.push_back(call);
  if (calls_.size() >= window_) Slide();
}

void NestingStream::Slide() {
  std::vector<Nanos> sent(calls_.size());
  std::transform(calls_.begin(), calls_.end(), sent.begin(),
                 [](const Call& call) { return call.sent_ns; });
  const auto at = sent.begin() + static_cast<ptrdiff_t>(sent.size() / 4 * 3);
  std::nth_element(sent.begin(), at, sent.end());
  const Nanos until = *at + 1;
  nesting_.Decide(calls_, until, decisions_);
  const size_t enough = window_ - window_ / 4;
  Emit(until, Leave::kWhole);
  if (calls_.size() > enough) Emit(until, Leave::kAnswered);
  if (calls_.size() > enough) cut_short_ += Emit(until, Leave::kDecided);
}

void NestingStream::Finish() {
  nesting_.Decide(calls_, INT64_MAX, decisions_);
  Emit(INT64_MAX, Leave::kDecided);
}

uint64_t NestingStream::Emit(Nanos until, Leave leave) {
  PathForest forest = BuildForest(calls_, decisions_.parent, Decisions::kUndecided);
  // A path stays while one of its calls may get another child: children leave before the answer, or a while after.
  std::vector<uint8_t> stays(calls_.size(), 0);
  if (leave != Leave::kDecided) {
    const Nanos after = options_.skew_window + (leave == Leave::kWhole ? options_.after_reply : 0);
    for (size_t i = forest.order.size(); i-- > 0;) {
      const uint32_t at = forest.order[i];
      const Call& call = calls_[at];
      if (SaturatingAdd(std::max(call.replied_ns, call.received_ns), after) >= until) stays[at] = 1;
      if (stays[at] && decisions_.parent[at] != kNoParent) stays[decisions_.parent[at]] = 1;
    }
  }
  std::vector<uint32_t> roots;
  for (const uint32_t root : forest.roots)
    if (!stays[root]) roots.push_back(root);
  std::vector<uint8_t> leaving(calls_.size(), 0);
  for (const uint32_t root : roots) leaving[root] = 1;
  for (const uint32_t at : forest.order)
    if (leaving[at])
      for (const uint32_t kid : forest.KidsOf(at)) leaving[kid] = 1;
  PathBatch batch{calls_, decisions_, forest, roots};
  if (!roots.empty()) sink_(batch);
  Keep(leaving);
  return roots.size();
}

void NestingStream::Keep(const std::vector<uint8_t>& leaving) {
  std::vector<uint32_t> moved(calls_.size(), kNoParent);
  uint32_t kept = 0;
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (leaving[i]) continue;
    moved[i] = kept;
    if (kept != i) {
      calls_[kept] = calls_[i];
      decisions_.parent[kept] = decisions_.parent[i];
      decisions_.p[kept] = decisions_.p[i];
      if (!decisions_.others.empty()) decisions_.others[kept] = std::move(decisions_.others[i]);
    }
    ++kept;
  }
  calls_.resize(kept);
  decisions_.parent.resize(kept);
  decisions_.p.resize(kept);
  if (!decisions_.others.empty()) decisions_.others.resize(kept);
  for (uint32_t i = 0; i < kept; ++i) {
    uint32_t& parent = decisions_.parent[i];
    if (parent < moved.size()) parent = moved[parent];
    // A parent that left was no parent to wait for; candidates that left cannot be named any more.
    if (!decisions_.others.empty())
      std::erase_if(decisions_.others[i], [&](Candidate& other) {
        other.parent = moved[other.parent];
        return other.parent == kNoParent;
      });
  }
}

}  // namespace wf::paths
