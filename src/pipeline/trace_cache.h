// TraceCache: the events of traces that are still arriving, by trace id (Canopy §4.2 "Routing Events"), and the timeouts
// of their triggers. Batches are shared with the store, never copied: a trace holds (batch, row) pairs, and a batch is
// let go with its last row. Traces leave by age (expiry after the last event) or, when the byte budget is used up, least
// recently used first; from then on only their id is remembered, and their events are "gone".
//
// A trace is served from here only when the cache surely holds all of it: when its id was not seen before, and it began
// after this memory did. All others are gone, too: the store knows them better.
//
// Thread safety: all calls, from any thread; one mutex, nothing slow under it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "model/event_batch.h"
#include "pipeline/progress_ledger.h"
#include "pipeline/recent_ids.h"
#include "pipeline/trigger.h"

namespace wf::pipeline {

struct TraceKey {
  std::string tenant;
  TraceId id;
  bool operator==(const TraceKey&) const = default;
  bool operator<(const TraceKey& o) const {
    return tenant != o.tenant ? tenant < o.tenant : id < o.id;
  }
};

struct CacheOptions {
  std::vector<Trigger> triggers = DefaultTriggers();
  Nanos expiry = 2 * kMinute;  // after a trace's last event
  Nanos remember = 5 * kHour;  // ids of traces that left
  size_t bytes = 256u << 20;   // of the batches held, and of what we know of each trace
  size_t id_bytes = 16u << 20;
  int64_t max_events_per_trace = 1'000'000;
  // For so long after its beginning, this memory takes a trace for whole only when it has its root: others may have
  // processed what came of it before. 0: when it has an event that began after the memory did.
  Nanos rooted_for = 0;
};

// Whether earlier events of a batch's traces all passed here.
enum class TracePast : uint8_t { kPassedHere, kUnknown };

// Rows of one trace, in the batches they came in. The batches live as long as this.
struct CachedTrace {
  std::vector<std::pair<std::shared_ptr<const EventBatch>, uint32_t>> rows;
  ProgressLedger::Hold hold;
  bool processed_before = false;
  Nanos first_seen = 0, last_seen = 0;
};

// A trace whose timeout is over.
struct DueTrace {
  TraceKey key;
  Nanos due = 0;  // by the cache's clock
  ProgressLedger::Hold hold;
  bool gone = false;  // its events are not here: Take need not be asked
};

struct CacheCounts {
  int64_t events = 0;           // that came by
  int64_t events_uncached = 0;  // of traces that were gone already
  int64_t scheduled = 0, due = 0, rescheduled_late = 0;
  int64_t evicted = 0, expired = 0;  // traces
  int64_t before_start = 0;  // traces that were due and may have events from before this memory
  int64_t ids_forgotten_early = 0;
  size_t traces = 0, bytes = 0, waiting = 0;
};

class TraceCache {
 public:
  // `now` of every call is one clock that never runs backwards; `remembers_since` is wall time: traces that began
  // before it may have sent events that this cache never saw.
  TraceCache(CacheOptions options, Nanos remembers_since);

  // Fetch and trigger: takes a durable batch in, and schedules what its events ask for. Traces that went on for too
  // long, or have too many events, are returned: no more of them shall be stored.
  struct Refusal {
    TraceKey key;
    enum class Reason : uint8_t { kEvents, kAge } reason;
  };
  std::vector<Refusal> Add(const std::shared_ptr<const EventBatch>& batch,
                           const ProgressLedger::Hold& hold, Nanos now,
                           TracePast past = TracePast::kPassedHere);

  // Traces whose time has come, earliest first, at most `limit`. Each stays cached until it expires.
  std::vector<DueTrace> TakeDue(Nanos now, size_t limit);
  // When the next timeout may be over; nothing when none is running.
  std::optional<Nanos> NextDue() const;
  // The events of a due trace, and notes that it is being processed; nothing when they are gone.
  std::optional<CachedTrace> Take(const TraceKey& key);
  // Nobody will come for the events of this due trace: they go, and it counts as processed by other means.
  void LetGo(const TraceKey& key);
  // Due again after a while: somebody else is at work on the trace.
  void Postpone(const DueTrace& due, Nanos until);
  // The trace is processed by other means: its timeouts are called off.
  void Cancel(const TraceKey& key);
  // The trace gets rows by other means, which must be replaced from now on; its timeouts run on.
  void NoteProcessed(const TraceKey& key, Nanos now);

  void Expire(Nanos now);
  // Events passed by unseen: nothing here is surely whole any more, nor is what began before `wall_now`.
  void ForgetAll(Nanos now, Nanos wall_now);

  CacheCounts Counts() const;

 private:
  struct RowRef {
    uint32_t batch, row;
  };
  struct BatchSlot {
    std::shared_ptr<const EventBatch> batch;
    size_t bytes = 0;
    uint32_t refs = 0;  // rows that traces hold
  };
  struct Entry {
    uint32_t tenant = 0;
    TraceId id;
    uint32_t older = kNobody, newer = kNobody;  // by last event
    std::vector<RowRef> rows;
    std::array<Nanos, kMaxTriggers> first_match{}, last_match{};
    uint32_t matched = 0;    // triggers that ever matched
    uint32_t scheduled = 0;  // triggers whose timeout runs
    int64_t events = 0;
    Nanos first = 0, last = 0;  // by our clock
    Nanos begins = INT64_MAX;   // the earliest event, by the senders' clocks
    ProgressLedger::Hold hold;  // of the oldest event not yet processed
    bool gone = false;          // some of its events are not here
    bool processed = false;
    bool refused = false;
    bool rooted = false;  // has an event without parent
  };
  struct Timer {
    uint32_t tenant;
    TraceId id;
    uint8_t trigger;
  };
  // Timers of a fiftieth of a second, and the oldest events behind them: their traces may leave the cache before.
  struct Slot {
    std::vector<Timer> timers;
    std::vector<ProgressLedger::Hold> holds;
  };
  // What is still known of a trace that left and is on its way to be refused.
  struct LongTrace {
    int64_t events;
    Nanos first, last;
    uint32_t matched;
  };
  struct IdHash {
    size_t operator()(const std::pair<uint32_t, TraceId>& k) const {
      return MixBits(k.second.lo ^ MixBits(k.second.hi ^ k.first));
    }
  };
  using Id = std::pair<uint32_t, TraceId>;

  static constexpr uint32_t kNobody = UINT32_MAX;
  static constexpr Nanos kTick = 20 * kMilli;
  // What an entry takes beside its rows: itself, its place in the map, its timer.
  static constexpr size_t kEntryBytes = sizeof(Entry) + 64 + sizeof(Timer);

  uint32_t TenantNumber(const std::string& tenant);
  uint32_t FindOrAdd(uint32_t tenant, TraceId id, Nanos now);
  uint32_t HoldBatch(const std::shared_ptr<const EventBatch>& batch);
  void Schedule(Entry& entry, uint32_t bits, Nanos now);
  void StartTimer(const Timer& timer, Nanos at, const ProgressLedger::Hold& hold);
  bool TooLong(const Entry& entry, Nanos now) const;
  void DropRows(Entry& entry);
  void Remove(uint32_t index, Nanos now);
  void Unlink(uint32_t index);
  void LinkNewest(uint32_t index);
  void Shrink(Nanos now);

  const CacheOptions options_;
  mutable std::mutex mutex_;
  Nanos remembers_since_;
  Nanos began_ = INT64_MAX;  // by our clock: the first event
  std::vector<std::string> tenants_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> free_entries_;
  std::unordered_map<Id, uint32_t, IdHash> by_id_;
  std::unordered_map<Id, LongTrace, IdHash> long_traces_;
  std::vector<BatchSlot> batches_;
  std::vector<uint32_t> free_batches_;
  std::map<Nanos, Slot> timers_;
  RecentIds recent_;
  uint32_t oldest_ = kNobody, newest_ = kNobody;
  size_t bytes_ = 0, waiting_ = 0;
  CacheCounts counts_;
};

}  // namespace wf::pipeline
