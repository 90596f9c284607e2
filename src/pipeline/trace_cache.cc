#include "pipeline/trace_cache.h"

#include <algorithm>

namespace wf::pipeline {
namespace {

// Clocks of senders differ from ours: a trace counts as begun after our memory only with this much to spare.
constexpr Nanos kCacheClockSlack = 2 * kSecond;
// A trace that used up this share of its limits is remembered by its numbers when it leaves the cache.
constexpr int64_t kLongShare = 64;
constexpr size_t kMaxLongTraces = 65536;

}  // namespace

TraceCache::TraceCache(CacheOptions options, Nanos remembers_since)
    : options_(std::move(options)),
      remembers_since_(remembers_since),
      recent_(options_.remember, options_.id_bytes) {}

uint32_t TraceCache::TenantNumber(const std::string& tenant) {
  const auto at = std::find(tenants_.begin(), tenants_.end(), tenant);
  if (at != tenants_.end()) return static_cast<uint32_t>(at - tenants_.begin());
  tenants_.push_back(tenant);
  return static_cast<uint32_t>(tenants_.size() - 1);
}

std::vector<TraceCache::Refusal> TraceCache::Add(const std::shared_ptr<const EventBatch>& batch,
                                                 const ProgressLedger::Hold& hold, Nanos now,
                                                 TracePast past) {
  std::vector<Refusal> refusals;
  const std::lock_guard lock(mutex_);
  began_ = std::min(began_, now);
  const uint32_t tenant = TenantNumber(batch->tenant);
  const uint32_t slot = HoldBatch(batch);
  TriggerMatcher matcher(options_.triggers, *batch);
  uint32_t index = kNobody;
  for (size_t row = 0; row < batch->size(); ++row) {
    const TraceId id = batch->trace_id(row);
    if (index == kNobody || entries_[index].id != id) index = FindOrAdd(tenant, id, now);
    Entry& entry = entries_[index];
    ++counts_.events;
    ++entry.events;
    entry.last = now;
    entry.begins = std::min(entry.begins, batch->start_ns[row]);
    entry.rooted = entry.rooted || batch->id2[row] == 0;
    if (past == TracePast::kUnknown && !entry.gone) {
      DropRows(entry);
      entry.gone = true;
    }
    if (entry.hold == nullptr) {
      entry.hold = hold;
      counts_.rescheduled_late += entry.processed;
    }
    if (entry.gone) {
      ++counts_.events_uncached;
    } else {
      const size_t before = entry.rows.capacity();
      entry.rows.push_back({slot, static_cast<uint32_t>(row)});
      bytes_ += (entry.rows.capacity() - before) * sizeof(RowRef);
      ++batches_[slot].refs;
    }
    Schedule(entry, matcher.Match(row), now);
    if (!entry.refused && TooLong(entry, now)) {
      entry.refused = true;
      refusals.push_back({{batch->tenant, id},
                          entry.events > options_.max_events_per_trace ? Refusal::Reason::kEvents
                                                                       : Refusal::Reason::kAge});
    }
  }
  if (--batches_[slot].refs == 0) {  // the reference that HoldBatch took
    bytes_ -= batches_[slot].bytes;
    batches_[slot] = {};
    free_batches_.push_back(slot);
  }
  Shrink(now);
  return refusals;
}

uint32_t TraceCache::HoldBatch(const std::shared_ptr<const EventBatch>& batch) {
  uint32_t slot;
  if (free_batches_.empty()) {
    slot = static_cast<uint32_t>(batches_.size());
    batches_.emplace_back();
  } else {
    slot = free_batches_.back();
    free_batches_.pop_back();
  }
  batches_[slot] = {batch, batch->MemoryBytes(), 1};
  bytes_ += batches_[slot].bytes;
  return slot;
}

uint32_t TraceCache::FindOrAdd(uint32_t tenant, TraceId id, Nanos now) {
  const auto [at, fresh] = by_id_.try_emplace({tenant, id}, kNobody);
  if (!fresh) {
    if (at->second != newest_) {
      Unlink(at->second);
      LinkNewest(at->second);
    }
    return at->second;
  }
  uint32_t index;
  if (free_entries_.empty()) {
    index = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    index = free_entries_.back();
    free_entries_.pop_back();
    entries_[index] = {};
  }
  at->second = index;
  Entry& entry = entries_[index];
  entry.tenant = tenant;
  entry.id = id;
  entry.first = now;
  entry.gone = recent_.MayHave(tenant, id);
  if (const auto known = long_traces_.find({tenant, id}); known != long_traces_.end()) {
    entry.first = known->second.first;
    entry.events = known->second.events;
    entry.matched = known->second.matched;
    long_traces_.erase(known);
  }
  bytes_ += kEntryBytes;
  LinkNewest(index);
  return index;
}

bool TraceCache::TooLong(const Entry& entry, Nanos now) const {
  if (entry.events > options_.max_events_per_trace) return true;
  // The domain of a trace is what its events matched; the most patient one decides.
  Nanos limit = -1;
  for (size_t i = 0; i < options_.triggers.size(); ++i)
    if (entry.matched >> i & 1) limit = std::max(limit, options_.triggers[i].limit);
  return limit >= 0 && now - entry.first > limit;
}

void TraceCache::Schedule(Entry& entry, uint32_t bits, Nanos now) {
  entry.matched |= bits;
  for (; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint8_t>(__builtin_ctz(bits));
    entry.last_match[i] = now;
    if (entry.scheduled >> i & 1) continue;
    entry.scheduled |= 1u << i;
    entry.first_match[i] = now;
    ++counts_.scheduled;
    StartTimer({entry.tenant, entry.id, i}, options_.triggers[i].ReadyAt(now, now), entry.hold);
  }
}

void TraceCache::StartTimer(const Timer& timer, Nanos at, const ProgressLedger::Hold& hold) {
  // Rounded up: a timeout is never shorter than asked for.
  Slot& slot = timers_[(at + kTick - 1) / kTick * kTick];
  slot.timers.push_back(timer);
  if (hold != nullptr && (slot.holds.empty() || slot.holds.back() != hold))
    slot.holds.push_back(hold);
  ++waiting_;
}

std::vector<DueTrace> TraceCache::TakeDue(Nanos now, size_t limit) {
  std::vector<DueTrace> due;
  const std::lock_guard lock(mutex_);
  while (!timers_.empty() && timers_.begin()->first <= now && due.size() < limit) {
    const Nanos at = timers_.begin()->first;
    Slot slot = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    waiting_ -= slot.timers.size();
    const ProgressLedger::Hold oldest =
        slot.holds.empty()
            ? nullptr
            : *std::min_element(slot.holds.begin(), slot.holds.end(),
                                [](const auto& a, const auto& b) { return *a < *b; });
    for (const Timer& timer : slot.timers) {
      const auto found = by_id_.find({timer.tenant, timer.id});
      if (found == by_id_.end()) {  // left the cache while it waited
        due.push_back({{tenants_[timer.tenant], timer.id}, at, oldest, true});
        continue;
      }
      Entry& entry = entries_[found->second];
      const uint32_t bit = 1u << timer.trigger;
      if ((entry.scheduled & bit) == 0) continue;  // called off
      const Nanos ready = options_.triggers[timer.trigger].ReadyAt(entry.first_match[timer.trigger],
                                                                   entry.last_match[timer.trigger]);
      if (ready > now) {  // more events came: the timeout begins again
        StartTimer(timer, ready, entry.hold);
        continue;
      }
      entry.scheduled &= ~bit;
      due.push_back({{tenants_[timer.tenant], timer.id},
                     ready,
                     entry.hold ? entry.hold : oldest,
                     entry.gone});
      if (entry.gone) {  // nobody will take it
        entry.hold = nullptr;
        entry.processed = true;
      }
    }
  }
  counts_.due += static_cast<int64_t>(due.size());
  return due;
}

std::optional<Nanos> TraceCache::NextDue() const {
  const std::lock_guard lock(mutex_);
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first;
}

std::optional<CachedTrace> TraceCache::Take(const TraceKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find({TenantNumber(key.tenant), key.id});
  if (found == by_id_.end()) return std::nullopt;
  Entry& entry = entries_[found->second];
  const bool first_time = !std::exchange(entry.processed, true);
  CachedTrace out;
  out.hold = std::exchange(entry.hold, nullptr);
  const bool remembered = entry.begins > SaturatingAdd(remembers_since_, kCacheClockSlack) &&
                          (entry.rooted || entry.first - began_ >= options_.rooted_for);
  if (entry.gone || !remembered) {
    counts_.before_start += !entry.gone;
    DropRows(entry);
    entry.gone = true;
    return std::nullopt;
  }
  out.processed_before = !first_time;
  out.first_seen = entry.first;
  out.last_seen = entry.last;
  out.rows.reserve(entry.rows.size());
  for (const RowRef& ref : entry.rows) out.rows.emplace_back(batches_[ref.batch].batch, ref.row);
  return out;
}

void TraceCache::LetGo(const TraceKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find({TenantNumber(key.tenant), key.id});
  if (found == by_id_.end()) return;
  Entry& entry = entries_[found->second];
  DropRows(entry);
  entry.gone = true;
  entry.processed = true;
  entry.hold = nullptr;
}

void TraceCache::Postpone(const DueTrace& due, Nanos until) {
  const std::lock_guard lock(mutex_);
  const uint32_t tenant = TenantNumber(due.key.tenant);
  if (const auto found = by_id_.find({tenant, due.key.id}); found != by_id_.end()) {
    Entry& entry = entries_[found->second];
    if (entry.scheduled & 1) return;  // it will be due anyway
    entry.scheduled |= 1;
    entry.first_match[0] = entry.last_match[0] = until - options_.triggers[0].timeout;
    if (entry.hold == nullptr) entry.hold = due.hold;
  }
  StartTimer({tenant, due.key.id, 0}, until, due.hold);
}

void TraceCache::Cancel(const TraceKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find({TenantNumber(key.tenant), key.id});
  if (found == by_id_.end()) return;
  Entry& entry = entries_[found->second];
  entry.scheduled = 0;
  entry.hold = nullptr;
  entry.processed = true;
}

void TraceCache::NoteProcessed(const TraceKey& key, Nanos now) {
  const std::lock_guard lock(mutex_);
  const uint32_t tenant = TenantNumber(key.tenant);
  if (const auto found = by_id_.find({tenant, key.id}); found != by_id_.end()) {
    entries_[found->second].processed = true;
  } else {
    recent_.Insert(tenant, key.id, now);
  }
}

void TraceCache::DropRows(Entry& entry) {
  for (const RowRef& ref : entry.rows) {
    BatchSlot& slot = batches_[ref.batch];
    if (--slot.refs != 0) continue;
    bytes_ -= slot.bytes;
    slot = {};
    free_batches_.push_back(ref.batch);
  }
  bytes_ -= entry.rows.capacity() * sizeof(RowRef);
  std::vector<RowRef>().swap(entry.rows);
}

void TraceCache::Remove(uint32_t index, Nanos now) {
  Entry& entry = entries_[index];
  DropRows(entry);
  recent_.Insert(entry.tenant, entry.id, now);
  const Nanos age = now - entry.first;
  bool aging = false;
  for (size_t i = 0; i < options_.triggers.size(); ++i)
    aging = aging || ((entry.matched >> i & 1) && age > options_.triggers[i].limit / kLongShare);
  if ((aging || entry.events > options_.max_events_per_trace / kLongShare) &&
      long_traces_.size() < kMaxLongTraces) {
    long_traces_[{entry.tenant, entry.id}] = {entry.events, entry.first, entry.last, entry.matched};
  }
  Unlink(index);
  by_id_.erase({entry.tenant, entry.id});
  entry = {};
  free_entries_.push_back(index);
  bytes_ -= kEntryBytes;
}

void TraceCache::Unlink(uint32_t index) {
  Entry& entry = entries_[index];
  (entry.older == kNobody ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNobody ? newest_ : entries_[entry.newer].older) = entry.older;
  entry.older = entry.newer = kNobody;
}

void TraceCache::LinkNewest(uint32_t index) {
  Entry& entry = entries_[index];
  entry.older = newest_;
  entry.newer = kNobody;
  (newest_ == kNobody ? oldest_ : entries_[newest_].newer) = index;
  newest_ = index;
}

void TraceCache::Shrink(Nanos now) {
  while (bytes_ > options_.bytes && oldest_ != kNobody) {
    Remove(oldest_, now);
    ++counts_.evicted;
  }
}

void TraceCache::Expire(Nanos now) {
  const std::lock_guard lock(mutex_);
  while (oldest_ != kNobody && entries_[oldest_].last + options_.expiry <= now) {
    Remove(oldest_, now);
    ++counts_.expired;
  }
  for (auto it = long_traces_.begin(); it != long_traces_.end();)
    it = it->second.last + options_.remember <= now ? long_traces_.erase(it) : std::next(it);
}

void TraceCache::ForgetAll(Nanos now, Nanos wall_now) {
  const std::lock_guard lock(mutex_);
  while (oldest_ != kNobody) {
    Remove(oldest_, now);
    ++counts_.evicted;
  }
  remembers_since_ = wall_now;
}

CacheCounts TraceCache::Counts() const {
  const std::lock_guard lock(mutex_);
  CacheCounts counts = counts_;
  counts.traces = by_id_.size();
  counts.bytes = bytes_;
  counts.waiting = waiting_;
  counts.ids_forgotten_early = recent_.forgotten_early();
  return counts;
}

}  // namespace wf::pipeline
