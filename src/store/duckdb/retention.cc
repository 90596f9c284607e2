// Retention, by age of receipt and by the bytes of the directory. Of events whole parts are deleted, by the receipt of
// their newest row; of messages and attachments rows (side_retention.cc). By bytes the oldest goes first, whichever of
// the two it is.
#include <algorithm>
#include <set>

#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {
namespace {

constexpr int64_t kDatasetPart = 4;  // datasets may take one part in so many of the bytes allowed

}  // namespace

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
  const auto excess_now = [&] {
    return policy.max_bytes ? DirectoryBytes(directory_) - going - *policy.max_bytes : 0;
  };
  // Rows of datasets are derived, and live by their own retention; but they may not push the events out. So they get a
  // quarter of the room, and lose their oldest beyond it.
  if (excess_now() > 0) {
    WF_ASSIGN(const int64_t trimmed, datasets_.TrimTo(*policy.max_bytes / kDatasetPart));
    if (trimmed != 0) Count("dataset_rows_trimmed", trimmed);
  }
  Status weighed;
  std::vector<SidePiece> side;
  if (excess_now() > 0) {
    auto pieces = WeighSideTables();
    if (pieces.ok())
      side = std::move(pieces).value();
    else
      weighed = pieces.error();  // as with the flush: first make room
  }
  int64_t excess = excess_now();
  const Nanos oldest_kept =
      policy.max_age_ns ? SaturatingSub(Now(), *policy.max_age_ns) : INT64_MIN;
  Nanos oldest_side_kept = oldest_kept;
  auto next_side = side.begin();
  const auto retire_side_before = [&](Nanos time) {
    for (; excess > 0 && next_side != side.end() && next_side->newest < time; ++next_side) {
      excess -= next_side->bytes;
      oldest_side_kept = std::max(oldest_side_kept, SaturatingAdd(next_side->newest, 1));
    }
  };
  std::vector<uint64_t> retired;
  for (const auto& [number, facts] : parts) {  // oldest part first
    const bool too_old = facts.newest < oldest_kept;
    if (!too_old) retire_side_before(facts.newest);
    if (!too_old && excess <= 0) continue;
    if (!too_old && facts.part == active_ && parts.size() > 1 && retired.size() + 1 < parts.size())
      continue;
    excess -= facts.part->Bytes();
    retired.push_back(number);
  }
  retire_side_before(INT64_MAX);
  parts.clear();
  WF_TRY(RetireParts(retired));
  WF_TRY(RetainSideTables(oldest_side_kept));
  WF_TRY(weighed);
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
    Count("rows_retired", static_cast<int64_t>(segment->rows));
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

}  // namespace wf::store::duckdb
