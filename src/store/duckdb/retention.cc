// Retention: whole parts are deleted, by the age of their newest row's receipt and by the bytes of the directory.
#include <algorithm>
#include <set>

#include "store/duckdb/store_impl.h"

namespace wf {

// Rows that wait in memory belong to no part yet, and so could never be deleted: they are written first when they
// would outlive the policy, or when the directory (their log included) is too large.
bool DuckdbStore::PendingBlocksRetention(const RetentionPolicy& policy) {
  const bool too_large = policy.max_bytes && DirectoryBytes(directory_) > *policy.max_bytes;
  std::lock_guard lock(mutex_);
  if (filling_->rows == 0) return false;
  const bool too_old = policy.max_age_ns && MonotonicNow() - filling_->since >
                                                std::max<Nanos>(*policy.max_age_ns / 8, kSecond);
  return too_large || too_old;
}

Status DuckdbStore::Retain(const RetentionPolicy& policy) {
  // A flush that fails (disk full) must not keep us from making room.
  const Status flushed = PendingBlocksRetention(policy) ? Flush() : Status();
  std::lock_guard flush_lock(flush_mutex_);
  // From now on parts are cut small enough for the policy to bite.
  if (policy.max_bytes) {
    part_bytes_limit_ = std::max<int64_t>(*policy.max_bytes / 8, 1 << 20);
    pending_bytes_limit_ =
        std::min(options_.max_pending_bytes, static_cast<size_t>(*part_bytes_limit_));
  }
  if (policy.max_age_ns) part_age_limit_ = std::max<Nanos>(*policy.max_age_ns / 8, kSecond);

  struct PartFacts {
    std::shared_ptr<Part> part;
    Nanos newest = INT64_MIN;
  };
  std::map<uint64_t, PartFacts> parts;
  {
    std::lock_guard lock(mutex_);
    for (const auto& segment : segments_) {
      PartFacts& facts = parts[segment->part->number()];
      facts.part = segment->part;
      facts.newest = std::max(facts.newest, segment->max_received);
    }
  }
  // Parts retired before, whose files wait for a long read to end, are as good as gone.
  int64_t going = 0;
  doomed_.erase(std::remove_if(doomed_.begin(), doomed_.end(),
                               [&](const std::weak_ptr<Part>& weak) {
                                 const auto part = weak.lock();
                                 if (part != nullptr) going += part->Bytes();
                                 return part == nullptr;
                               }),
                doomed_.end());
  int64_t excess = policy.max_bytes ? DirectoryBytes(directory_) - going - *policy.max_bytes : 0;
  const Nanos oldest_kept =
      policy.max_age_ns ? SaturatingSub(Now(), *policy.max_age_ns) : INT64_MIN;
  std::vector<uint64_t> retired;
  for (const auto& [number, facts] : parts) {  // oldest part first
    const bool too_old = facts.newest < oldest_kept;
    if (!too_old && excess <= 0) continue;
    if (!too_old && facts.part == active_ && parts.size() > 1 && retired.size() + 1 < parts.size())
      continue;
    excess -= facts.part->Bytes();
    retired.push_back(number);
  }
  parts.clear();
  WF_TRY(RetireParts(retired));
  WF_TRY(RetainSideTables(policy));
  return flushed;
}

Status DuckdbStore::RetireParts(const std::vector<uint64_t>& numbers) {
  if (numbers.empty()) return {};
  const std::set<uint64_t> retired(numbers.begin(), numbers.end());
  SegmentList gone;
  std::lock_guard lock(mutex_);
  SegmentList kept;
  for (const auto& segment : segments_) {
    if (retired.count(segment->part->number()) == 0) {
      kept.push_back(segment);
      continue;
    }
    counters_["rows_retired"] += static_cast<int64_t>(segment->rows);
    segment->part->Doom();
    if (doomed_.empty() || doomed_.back().lock() != segment->part) doomed_.push_back(segment->part);
    gone.push_back(segment);
  }
  segments_ = std::move(kept);
  if (active_ != nullptr && retired.count(active_->number()) != 0) {
    active_.reset();
    active_segments_ = 0;
  }
  return {};
}

}  // namespace wf
