#include "client/queries/advice_runner.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "advice/interpreter.h"
#include "client/queries/causal_past.h"
#include "client/queries/hit_event.h"
#include "client/queries/kernel_tuples.h"
#include "client/queries/quick_advice.h"
#include "client/queries/thread_baggage.h"
#include "client/queries/tracepoint_registry.h"
#include "client/runtime/block_id.h"
#include "client/runtime/hot_flags.h"
#include "client/runtime/tick_clock.h"
#include "wherefore/context.h"

namespace wherefore::client {

using wf::advice::PackedTuples;
using wf::advice::Program;
using wf::advice::Rows;

QueryInterval::QueryInterval(std::shared_ptr<const LiveQuery> of, int64_t start)
    : query(std::move(of)), start_ns(start), results(query->program, kMaxGroups) {}

void QueryInterval::Merge(const QueryInterval& other) {
  if (!other.results.empty() && !results.Merge(other.results.Encode()))
    lost += other.results.tuples();
  hits += other.hits;
  lost += other.lost + other.results.lost();
  overflowed += other.overflowed;
  packed_tuples_max = std::max(packed_tuples_max, other.packed_tuples_max);
  baggage_bytes_max = std::max(baggage_bytes_max, other.baggage_bytes_max);
  advice_ticks += other.advice_ticks;
  events.Add(other.events);
}

void QueryInterval::NoteHeld(BaggageLine& line, const BaggageLine::Held& held) {
  packed_tuples_max = std::max<uint64_t>(packed_tuples_max, held.tuples);
  // An instance is more than a dozen bytes of frame. Looked at more closely where it may be the largest so far.
  if (held.bytes + 12 * held.slots <= baggage_about_max) return;
  const uint64_t id = query->program.query;
  baggage_bytes_max = std::max<uint64_t>(baggage_bytes_max, line.TravellingBytesOf(id));
  baggage_about_max = line.HeldBy(id).bytes + 12 * held.slots;
}

namespace {

// If the agent does not come to collect: a thread keeps this many intervals of each query, then drops the oldest.
constexpr size_t kMostIntervals = 128;

// --- Shards

// A mutex that is nearly always free: taken and given back without a call.
class ShardLock {
 public:
  void lock() {
    int free = kFree;
    if (!state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire)) Wait();
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) Wake();
  }

 private:
  static constexpr int kFree = 0, kHeld = 1, kAwaited = 2;
  static_assert(sizeof(std::atomic<int>) == sizeof(int), "a futex");

  [[gnu::cold, gnu::noinline]] void Wait() {
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAwaited, nullptr, nullptr, 0);
  }
  [[gnu::cold, gnu::noinline]] void Wake() {
    syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  std::atomic<int> state_{kFree};
};

struct Shard {
  ShardLock mutex;
  // The current interval of each query, and those not yet collected. By these keys they are found: a hit should not have
  // to touch the intervals of other queries.
  struct Key {
    const LiveQuery* query;
    // ticks: up to then no clock need be read to know that it is still this one.
    int64_t surely_until;
    int64_t start_ns, end_ns;
  };
  std::vector<Key> keys;
  std::vector<QueryInterval> intervals;
  int64_t began_ns = 0, began_ticks = 0;  // monotonic time and ticks, read together
  bool abandoned = false;                 // its thread has ended
  wf::advice::Workspace workspace;
  wf::advice::MadeTexts made;
};

struct Shards {
  std::mutex mutex;
  std::vector<std::shared_ptr<Shard>> all;
  std::shared_ptr<Shard> of_ended_threads = std::make_shared<Shard>();
  std::atomic<uint64_t> passed_over{0};

  Shards() { all.push_back(of_ended_threads); }
};
Shards& AllShards() {
  static auto* shards = new Shards;  // used by threads that outlive static destruction
  return *shards;
}

// Where advice may run: in the process that was told, not in its children.
bool AllowedHere() {
  return LastForkGeneration() == hot_flags.allowed_generation.load(std::memory_order_relaxed);
}

__thread bool running_advice = false;
__thread Shard* this_shard = nullptr;
struct ShardHandle {
  std::shared_ptr<Shard> shard;
  ~ShardHandle() {
    this_shard = AllShards().of_ended_threads.get();
    if (shard == nullptr) return;
    const std::lock_guard lock(shard->mutex);
    shard->abandoned = true;
  }
};
thread_local ShardHandle shard_handle;

[[gnu::cold, gnu::noinline]] Shard& NewShard() {
  Shards& shards = AllShards();
  auto shard = std::make_shared<Shard>();
  const std::lock_guard lock(shards.mutex);
  shards.all.push_back(shard);
  shard_handle.shard = std::move(shard);
  this_shard = shard_handle.shard.get();
  return *this_shard;
}

Shard& ThisShard() { return this_shard != nullptr ? *this_shard : NewShard(); }

QueryInterval& BeginInterval(Shard& shard, const std::shared_ptr<const LiveQuery>& query,
                             int64_t start_ns) {
  shard.keys.push_back({query.get(), INT64_MIN, start_ns, start_ns + query->interval_ns});
  try {
    return shard.intervals.emplace_back(query, start_ns);
  } catch (...) {
    shard.keys.pop_back();
    throw;
  }
}

void EraseInterval(Shard& shard, size_t index) {
  shard.intervals.erase(shard.intervals.begin() + static_cast<std::ptrdiff_t>(index));
  shard.keys.erase(shard.keys.begin() + static_cast<std::ptrdiff_t>(index));
}

QueryInterval& IntervalOf(Shard& shard, const std::shared_ptr<const LiveQuery>& query,
                          int64_t time_ns) {
  size_t same = 0, oldest = 0;
  for (size_t i = shard.keys.size(); i-- > 0;) {
    const Shard::Key& key = shard.keys[i];
    if (key.query != query.get()) continue;
    if (time_ns >= key.start_ns && time_ns < key.end_ns) return shard.intervals[i];
    ++same;
    oldest = i;
  }
  // Rounded down, for times before the epoch too.
  const int64_t into = (time_ns % query->interval_ns + query->interval_ns) % query->interval_ns;
  uint64_t lost = 0;
  if (same >= kMostIntervals) {
    const QueryInterval& dropped = shard.intervals[oldest];
    lost = dropped.results.tuples() + dropped.events.count() + dropped.lost;
    EraseInterval(shard, oldest);
  }
  QueryInterval& begun = BeginInterval(shard, query, time_ns - into);
  begun.lost = lost;
  return begun;
}

// The same of a hit now, and from now on nine tenths of what is left of the interval go by ticks alone. How fast those go
// is known after a while.
[[gnu::cold, gnu::noinline]] QueryInterval& IntervalByClock(
    Shard& shard, const std::shared_ptr<const LiveQuery>& query, int64_t time_ns, int64_t ticks) {
  QueryInterval& interval = IntervalOf(shard, query, time_ns);
  const int64_t now = ClockNs(CLOCK_MONOTONIC);
  if (shard.began_ns == 0) {
    shard.began_ns = now;
    shard.began_ticks = ticks;
  }
  const int64_t watched = now - shard.began_ns;
  if (watched < 1'000'000) return interval;
  const double ticks_per_ns =
      static_cast<double>(ticks - shard.began_ticks) / static_cast<double>(watched);
  const double left = 0.9 * static_cast<double>(interval.end_ns() - time_ns);
  shard.keys[static_cast<size_t>(&interval - shard.intervals.data())].surely_until =
      ticks + static_cast<int64_t>(left * ticks_per_ns);
  return interval;
}

[[gnu::hot]] QueryInterval& IntervalNow(Shard& shard, const std::shared_ptr<const LiveQuery>& query,
                                        const HitEvent& event, int64_t ticks) {
  for (size_t i = shard.keys.size(); i-- > 0;) {
    const Shard::Key& key = shard.keys[i];
    if (key.query == query.get() && ticks < key.surely_until) return shard.intervals[i];
  }
  return IntervalByClock(shard, query, event.time_ns(), ticks);
}

// --- One event

// The baggage of this thread's request, as the advice of one query sees it. Without a request there is none: what is
// packed is gone, and a join finds nothing.
class QueryBaggage : public wf::advice::Baggage {
 public:
  QueryBaggage(const LiveQuery& query, QueryInterval& interval)
      : query_(query), interval_(interval) {}

  PackedTuples Unpack(const Program& program, uint32_t slot) override {
    PackedTuples tuples;
    UnpackInto(program, slot, tuples);
    return tuples;
  }
  void UnpackInto(const Program& program, uint32_t slot, PackedTuples& into) override {
    BaggageLine* const line = CurrentBaggageIfAny();
    if (line == nullptr) return into.Reset(program.slots[slot]);
    line->Unpack(program.query, slot, program.slots[slot], into);
  }
  bool Borrow(const Program& program, uint32_t slot, wf::advice::BorrowedRows& into) override {
    BaggageLine* const line = CurrentBaggageIfAny();
    return line != nullptr && line->Borrow(program.query, slot, program.slots[slot], into);
  }
  void Pack(const Program& program, uint32_t slot, int64_t time, std::string_view id,
            Rows rows) override {
    PackRows(program, slot, time, id, rows);
  }
  void PackRows(const Program& program, uint32_t slot, int64_t time, std::string_view id,
                Rows& rows) override {
    BaggageLine* const line = CurrentBaggage();
    if (line == nullptr) return;
    if (line->Pack(program.query, slot, program.slots[slot], query_.limits, time, id, rows) ==
        PackResult::kOverflowed) {
      return;  // marked, and counted there
    }
    interval_.NoteHeld(*line, line->HeldBy(program.query));
  }

 private:
  const LiveQuery& query_;
  QueryInterval& interval_;
};

class IntoInterval : public wf::advice::Emitter {
 public:
  explicit IntoInterval(QueryInterval& interval) : interval_(interval) {}
  wf::advice::Results* Folds() override { return &interval_.results; }
  void EmitTuples(const Program&, Rows rows) override { interval_.results.Add(rows); }
  void EmitRows(const Program&, Rows& rows) override { interval_.results.Add(rows); }

 private:
  QueryInterval& interval_;
};

// Whole requests are sampled; a hit outside of one is a request of its own.
bool SampledHere(const Program& program, const wf::advice::Event& event) {
  const double share = *program.sample;
  const internal::ThreadState& state = internal::thread_state;
  if ((state.trace_hi | state.trace_lo) == 0) {
    const bool by_hit = wf::advice::Sampled(event.id(), share);
    BaggageLine* const line = CurrentBaggage();
    if (line == nullptr) return by_hit;
    return SampleOf(*line, program, by_hit ? RequestSample::kKept : RequestSample::kLeftOut) ==
           RequestSample::kKept;
  }
  char hex[32];
  for (int i = 0; i < 16; ++i) {
    hex[i] = "0123456789abcdef"[state.trace_hi >> (60 - 4 * i) & 15];
    hex[16 + i] = "0123456789abcdef"[state.trace_lo >> (60 - 4 * i) & 15];
  }
  return wf::advice::Sampled({hex, sizeof hex}, share);
}

// No memory, or no room: the event is missing on the server, and so is what happened after it; that is counted there.
void AddEvent(QueryInterval& interval, const wf::advice::EmittedEvent& event) {
  if (!interval.events.Add(event) && event.place != 0) ++interval.lost;
}

void EmitHit(QueryInterval& interval, std::string_view tracepoint, const wf::advice::Event& event,
             uint64_t number) {
  const LiveQuery& query = *interval.query;
  wf::advice::EmittedEvent emitted;
  emitted.id = number;
  emitted.time_ns = event.time_ns();
  for (size_t i = 0; i < query.places.size(); ++i) {
    if (query.places[i].tracepoint != tracepoint) continue;
    emitted.place = static_cast<uint32_t>(i + 1);
    for (const std::string& name : query.places[i].variables)
      emitted.values.push_back(event.Variable(name));
  }
  if (BaggageLine* const line = CurrentBaggage()) {
    emitted.after = CausalPast(*line, query.program);
    SetCausalPast(*line, query.program, emitted.id);
    interval.packed_tuples_max = std::max<uint64_t>(interval.packed_tuples_max, 1);
    interval.baggage_bytes_max = std::max<uint64_t>(interval.baggage_bytes_max,
                                                    line->TravellingBytesOf(query.program.query));
  }
  AddEvent(interval, emitted);
}

void LinkBranchesOf(Shard& shard, const std::shared_ptr<const LiveQuery>& query,
                    BaggageLine& line) {
  wf::advice::EmittedEvent link;
  link.after = CausalPast(line, query->program);
  if (link.after.size() < 2) return;
  link.id = NewBlockId();
  link.time_ns = ClockNs(CLOCK_REALTIME);
  SetCausalPast(line, query->program, link.id);
  AddEvent(IntervalOf(shard, query, link.time_ns), link);
}

[[gnu::hot]] bool RunQuickly(Shard& shard, const QuickAdvice& quick, const HitEvent& event,
                             QueryInterval& interval) {
  BaggageLine* line = nullptr;
  if (quick.looks()) line = quick.packs() ? CurrentBaggage() : CurrentBaggageIfAny();
  const bool done = quick.Run(event, line, interval, shard.made);
  shard.made.Clear();
  return done;
}

void Interpret(Shard& shard, const LiveQuery& query, const internal::Tracepoint& tracepoint,
               const HitEvent& event, QueryInterval& interval) {
  QueryBaggage baggage(query, interval);
  IntoInterval emitter(interval);
  if (PlanOfRequest(CurrentBaggageIfAny(), query) == QueryPlan::kEmit) {
    EmitHit(interval, tracepoint.name, event, event.number());
  } else if (!wf::advice::RunAdvice(query.program, tracepoint.name, event, baggage, emitter,
                                    shard.workspace)) {
    ++interval.overflowed;
  }
}

// How long advice takes is known of the first hits of an interval, and then of one of eight, which stands for all of them:
// reading the clock at each would be a good part of what there is to know. Drawn by their number, without a period that a
// program's own could meet. Returns for how many hits this one stands.
int64_t TimedFor(uint64_t hit) {
  if (hit < 16) return 1;
  return (static_cast<uint32_t>(hit) * 0x9E3779B1u) >> 29 == 0 ? 8 : 0;
}

[[gnu::hot]] void RunQuery(Shard& shard, const std::shared_ptr<const LiveQuery>& query,
                           const QuickAdvice& quick, const internal::Tracepoint& tracepoint,
                           const HitEvent& event, int64_t now) {
  // What was made ready has no Sample; nor is the query itself touched, then.
  if (!quick.ready() && query->program.sample && !SampledHere(query->program, event)) return;
  QueryInterval& interval = IntervalNow(shard, query, event, now);
  const int64_t timed_for = TimedFor(interval.hits++);
  const int64_t began = timed_for != 0 ? Ticks() : 0;
  try {
    if (!quick.ready() || !RunQuickly(shard, quick, event, interval))
      Interpret(shard, *query, tracepoint, event, interval);
  } catch (...) {  // out of memory: this hit is lost, and the host goes on
    ++interval.lost;
  }
  if (timed_for != 0) interval.advice_ticks += timed_for * (Ticks() - began);
}

bool EmitsAt(const Program& program, std::string_view tracepoint) {
  return std::any_of(program.advice.begin(), program.advice.end(),
                     [&](const wf::advice::Advice& advice) {
                       const auto& names = advice.tracepoints;
                       return std::holds_alternative<wf::advice::Emit>(advice.steps.back()) &&
                              std::find(names.begin(), names.end(), tracepoint) != names.end();
                     });
}

// Of events that were seen elsewhere: there they are emitted.
class EmittedElsewhere : public wf::advice::Emitter {
 public:
  void EmitTuples(const Program&, Rows) override {}
};

std::vector<std::shared_ptr<Shard>> ShardList() {
  Shards& shards = AllShards();
  const std::lock_guard lock(shards.mutex);
  return shards.all;
}

}  // namespace

void AllowAdvice() { hot_flags.allowed_generation.store(ForkGeneration()); }

uint64_t PassedOverHits() { return AllShards().passed_over.load(std::memory_order_relaxed); }

std::vector<QueryInterval> CollectIntervals(
    int64_t until_ns, const std::vector<std::shared_ptr<const LiveQuery>>& running) {
  const auto goes_on = [&](const QueryInterval& interval) {
    return interval.end_ns() > until_ns &&
           std::find(running.begin(), running.end(), interval.query) != running.end();
  };
  std::vector<QueryInterval> collected;
  for (const auto& shard : ShardList()) {
    std::vector<QueryInterval> taken;
    bool abandoned;
    size_t rest;
    {
      const std::lock_guard lock(shard->mutex);
      abandoned = shard->abandoned;
      for (size_t i = 0; i < shard->intervals.size();) {
        if (goes_on(shard->intervals[i])) {
          ++i;
          continue;
        }
        taken.push_back(std::move(shard->intervals[i]));
        EraseInterval(*shard, i);
      }
      rest = shard->intervals.size();
    }
    // Nothing comes after the end of a thread; what has not ended yet is collected the next time.
    if (abandoned && rest == 0) {
      Shards& shards = AllShards();
      const std::lock_guard lock(shards.mutex);
      shards.all.erase(std::remove(shards.all.begin(), shards.all.end(), shard), shards.all.end());
    }
    for (QueryInterval& interval : taken) {
      const auto same =
          std::find_if(collected.begin(), collected.end(), [&](const QueryInterval& other) {
            return other.query == interval.query && other.start_ns == interval.start_ns;
          });
      if (same == collected.end()) {
        collected.push_back(std::move(interval));
      } else {
        same->Merge(interval);
      }
    }
  }
  return collected;
}

const WovenAdvice* LinkBranchesFor(const std::vector<std::shared_ptr<const LiveQuery>>& queries,
                                   std::shared_ptr<const ProcessIdentity> process) {
  std::unique_ptr<WovenAdvice> woven;
  for (const auto& query : queries) {
    if (query->plan != QueryPlan::kEmit) continue;
    if (woven == nullptr) woven = std::make_unique<WovenAdvice>();
    woven->queries.push_back(query);
  }
  if (woven != nullptr) woven->process = std::move(process);
  return hot_flags.linking.exchange(woven.release(), std::memory_order_acq_rel);
}

void LinkBranches(BaggageLine& line) noexcept {
  if (hot_flags.linking.load(std::memory_order_relaxed) == nullptr || running_advice) return;
  running_advice = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  try {
    if (AllowedHere()) {
      Shard& shard = ThisShard();
      const std::lock_guard lock(shard.mutex);
      // As at a tracepoint: under the lock it stays.
      const WovenAdvice* const woven = hot_flags.linking.load(std::memory_order_acquire);
      if (woven != nullptr)
        for (const auto& query : woven->queries) LinkBranchesOf(shard, query, line);
    }
  } catch (...) {  // no memory: the ids travel on as they are, and are linked by the next event
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  running_advice = false;
}

void AwaitRunningAdvice() {
  for (const auto& shard : ShardList()) const std::lock_guard lock(shard->mutex);
}

bool MayRunAdvice() { return !running_advice && AllowedHere(); }

void RunHandedEvents(const std::shared_ptr<const LiveQuery>& query, HandedEvents& events,
                     uint64_t lost) {
  struct Running {
    Running() { running_advice = true; }
    ~Running() { running_advice = false; }
  } const running;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Shard& shard = ThisShard();
  const std::lock_guard lock(shard.mutex);
  // Now is when it costs; their own time may lie in an interval that was reported already.
  QueryInterval& interval = IntervalOf(shard, query, ClockNs(CLOCK_REALTIME));
  interval.lost += lost;
  const int64_t begin = Ticks();
  const auto run = [&](std::string_view tracepoint, const wf::advice::Event& event) {
    if (query->program.sample && !SampledHere(query->program, event)) return;
    try {
      if (PlanOfRequest(CurrentBaggageIfAny(), *query) == QueryPlan::kEmit) {
        // The server would emit for it, too.
        if (EmitsAt(query->program, tracepoint)) {
          ++interval.lost;
        } else {
          EmitHit(interval, tracepoint, event, NewBlockId());
        }
        return;
      }
      QueryBaggage baggage(*query, interval);
      EmittedElsewhere emitter;
      if (!wf::advice::RunAdvice(query->program, tracepoint, event, baggage, emitter,
                                 shard.workspace))
        ++interval.overflowed;
    } catch (...) {
      ++interval.lost;
    }
  };
  while (events.Next(run)) {
  }
  interval.advice_ticks += Ticks() - begin;
}

}  // namespace wherefore::client

namespace wherefore::internal {

[[gnu::hot]] void HitTracepoint(const Tracepoint& tracepoint,
                                std::initializer_list<TracepointField> fields) noexcept {
  using namespace wherefore::client;  // NOLINT(google-build-using-namespace)
  if (running_advice) {               // inside of advice: see the header
    AllShards().passed_over.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  TakeKernelTuples();
  running_advice = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  try {
    // A child of fork() has nobody to report to, and the lock may have been held when it was made.
    if (AllowedHere()) {
      Shard& shard = ThisShard();
      const std::lock_guard lock(shard.mutex);
      // Only now: under the lock it stays.
      const auto* woven =
          static_cast<const WovenAdvice*>(tracepoint.woven.load(std::memory_order_acquire));
      if (woven != nullptr) {
        const HitEvent event(tracepoint, *woven->process, fields.begin(), fields.size());
        const int64_t now = Ticks();
        for (size_t i = 0; i < woven->queries.size(); ++i)
          RunQuery(shard, woven->queries[i], woven->quick[i], tracepoint, event, now);
      }
    }
  } catch (...) {  // no memory for a shard
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  running_advice = false;
}

}  // namespace wherefore::internal
