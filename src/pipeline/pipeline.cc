// The tailer's stages, in the order a trace passes them. Threads are in tailer_threads.cc, what survives them in
// tailer_recovery.cc.
#include "pipeline/pipeline.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "log/log.h"

namespace wf::pipeline {
namespace {

// Traces built together: their rows come from the same batches, whose names are then translated once.
constexpr size_t kBuildGroup = 64;
constexpr size_t kDueAtOnce = 4096;
// Traces that wait for a builder, or to be written to the delayed queue.
constexpr size_t kMostDue = 65536;
// The delayed extractor takes this many traces before it writes, and reads about so many events, and bytes of them, at once.
// An answer of a database is there three times while it is read: with a group of 256 traces of 200 kB each a tailer took
// 414 MiB, whatever its cache was allowed.
constexpr size_t kDelayedAtOnce = 1024;
constexpr size_t kDelayedEvents = 50'000;
constexpr size_t kDelayedBytes = 8u << 20;
constexpr size_t kFirstGroup = 16;  // before their size is known
// A trace that another thread is at work on comes again after this.
constexpr Nanos kPostpone = kSecond;
// The only owner waits for room this long before a trace is delayed.
constexpr Nanos kRoomPatience = kSecond;

}  // namespace

Tailer::Tailer(const Surroundings& surroundings, TailerOptions options, Nanos started)
    : options_(std::move(options)),
      store_(surroundings.store),
      datasets_(surroundings.datasets),
      folder_(surroundings.folder),
      started_(started),
      cache_(options_.cache, started),
      clocks_(store_),
      queues_(options_.isolation_queue, {options_.owner_rate, options_.clock}),
      delayed_(surroundings.delayed),
      writer_(surroundings.rows, [this](const std::string& tenant, const std::string& dataset,
                                        const std::vector<TraceId>& traces,
                                        const std::vector<ProgressLedger::Hold>& holds,
                                        const Error& error) {
        log::Error("dataset {}: {}; its rows come later", dataset, error.message);
        const auto oldest = std::min_element(holds.begin(), holds.end(),
                                             [](const auto& a, const auto& b) { return *a < *b; });
        for (const TraceId& id : traces)
          Delay({tenant, id}, "", DelayReason::kWriteFailed,
                oldest == holds.end() ? nullptr : *oldest);
      }) {}

// --- 1. Fetch: durable batches into the cache, by trace.

void Tailer::Take(const std::shared_ptr<const EventBatch>& durable) {
  const size_t bytes = durable->MemoryBytes();
  ProgressLedger::Hold hold = ledger_.At(durable->received_ns);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;  // the next start finds it
    if (inbox_bytes_ + bytes > options_.inbox_bytes && !inbox_.empty()) {
      // Acknowledging must not wait for us: passed over now, looked through later.
      if (overflow_hold_ == nullptr || *hold < *overflow_hold_) {
        overflow_hold_ = std::move(hold);
        overflow_from_ = *overflow_hold_;
      }
      distrust_ = true;
      ++overflows_;
      return;
    }
    inbox_.push_back({durable, std::move(hold), clock(), bytes});
    inbox_bytes_ += bytes;
  }
  wake_fetcher_.notify_one();
}

void Tailer::Take(const std::shared_ptr<const EventBatch>& durable, ProgressLedger::Hold hold,
                  TracePast past) {
  const size_t bytes = durable->MemoryBytes();
  {
    // Also when stopping: the hold must not go before what it stands for is done.
    const std::lock_guard lock(mutex_);
    inbox_.push_back({durable, std::move(hold), clock(), bytes, past});
    inbox_bytes_ += bytes;
  }
  wake_fetcher_.notify_one();
}

size_t Tailer::waiting_bytes() const {
  const std::lock_guard lock(mutex_);
  return inbox_bytes_;
}

bool Tailer::Fetch() {
  const std::lock_guard one_at_a_time(fetching_);
  Fetched next;
  {
    const std::lock_guard lock(mutex_);
    if (overflow_hold_ != nullptr && inbox_.empty()) {
      cache_.ForgetAll(clock(), Now());
      unseen_.push_back(
          {overflow_from_, Now(), DelayReason::kPassedOver, std::move(overflow_hold_)});
      overflow_hold_ = nullptr;
      distrust_ = false;
    }
    if (inbox_.empty()) return false;
    next = std::move(inbox_.front());
    inbox_.pop_front();
    inbox_bytes_ -= next.bytes;
  }
  const StageTimer timer(fetch_);
  const Nanos now = clock();
  fetch_.AddLag(now - next.arrived, static_cast<int64_t>(next.batch->size()));
  for (const TraceCache::Refusal& refusal : cache_.Add(next.batch, next.hold, now, next.past)) {
    log::Warn("trace {}: {}; no more of it is stored", ToHex(refusal.key.id),
              refusal.reason == TraceCache::Refusal::Reason::kEvents ? "too many events"
                                                                     : "it goes on for too long");
    if (const Status status = blacklist_->Add(refusal.key); !status.ok())
      log::Error("{}", status.error().message);
  }
  return true;
}

// --- 2. Trigger: traces whose timeouts are over are handed to the builders; those whose events are gone are delayed.

void Tailer::Trigger() {
  const StageTimer timer(fetch_);
  const Nanos now = clock();
  cache_.Expire(now);
  for (std::vector<DueTrace> due; !(due = cache_.TakeDue(now, kDueAtOnce)).empty();) {
    // Builders that are so far behind would find nothing in the cache: what they cannot do is not kept for them.
    size_t room;
    {
      const std::lock_guard lock(mutex_);
      room = kMostDue - std::min(kMostDue, due_.size());
    }
    std::vector<DueTrace> build;
    for (DueTrace& trace : due) {
      if (trace.gone || build.size() >= room) {
        if (!trace.gone) cache_.LetGo(trace.key);
        if (!datasets_.Deployed(trace.key.tenant)->empty())
          Delay(trace.key, "", DelayReason::kEventsGone, trace.hold);
      } else {
        build.push_back(std::move(trace));
      }
    }
    if (build.empty()) continue;
    const std::lock_guard lock(mutex_);
    std::move(build.begin(), build.end(), std::back_inserter(due_));
    wake_builder_.notify_all();
  }
  // The writer syncs every second, when it gets to; memory must not wait for that.
  if (delayed_->unsynced() > kMostDue) {
    if (const Status status = delayed_->Sync(); !status.ok() && log::LogOnce("delayed sync"))
      log::Error("the delayed queue: {}", status.error().message);
  }
}

// --- 3. Build: cached events into modeled traces. What is gone from the cache is delayed.

bool Tailer::Build() {
  std::vector<DueTrace> group;
  {
    const std::lock_guard lock(mutex_);
    // No more at once than an owner may have waiting: the rest would find his queue full.
    while (!due_.empty() && group.size() < std::min(kBuildGroup, options_.isolation_queue) &&
           (group.empty() || group.front().key.tenant == due_.front().key.tenant)) {
      group.push_back(std::move(due_.front()));
      due_.pop_front();
    }
  }
  if (group.empty()) return false;
  const StageTimer timer(build_);
  const Nanos now = clock();
  std::vector<CachedTrace> cached;
  std::vector<TraceKey> keys;
  std::vector<TracesInProgress::Claim> claims;
  for (DueTrace& due : group) {
    build_.AddLag(now - due.due);
    if (datasets_.Deployed(due.key.tenant)->empty()) {  // nobody wants rows
      cache_.Cancel(due.key);
      continue;
    }
    TracesInProgress::Claim claim = in_progress_.TryClaim(due.key);
    if (claim == nullptr) {
      cache_.Postpone(due, now + kPostpone);
      continue;
    }
    auto events = cache_.Take(due.key);
    if (!events || distrust_) {
      Delay(due.key, "", DelayReason::kEventsGone, due.hold);
      continue;
    }
    if (events->hold == nullptr) events->hold = due.hold;
    again_ += events->processed_before;
    ++from_cache_;
    cached.push_back(std::move(*events));
    keys.push_back(due.key);
    claims.push_back(std::move(claim));
  }
  auto built = BuildGroup(GatherRows(cached), now);
  for (size_t i = 0; i < built.size(); ++i) {
    BuiltTrace& trace = *built[i];
    trace.key = std::move(keys[i]);
    trace.hold = std::move(cached[i].hold);
    trace.claim = std::move(claims[i]);
    const bool backfilled = cached[i].first_seen <= backfilled_until_;
    trace.earlier =
        cached[i].processed_before || backfilled ? EarlierRows::kReplace : EarlierRows::kNone;
    Enqueue(built[i], *datasets_.Deployed(trace.key.tenant));
    built[i].reset();
  }
  return true;
}

std::vector<std::shared_ptr<BuiltTrace>> Tailer::BuildGroup(std::vector<TraceRows> rows,
                                                            Nanos now) {
  std::unordered_map<const EventBatch*, std::shared_ptr<const HostClocks>> clocks;
  std::vector<std::shared_ptr<BuiltTrace>> built;
  for (TraceRows& one : rows) {
    const auto [at, fresh] = clocks.try_emplace(one.events.get());
    if (fresh) {
      auto found = clocks_.For(*one.events, now);
      if (!found.ok() && log::LogOnce("tailer clocks: " + found.error().message))
        log::Warn("the hosts' clocks: {}; traces are built by recorded ones",
                  found.error().message);
      at->second = found.ok() ? *found : std::make_shared<const HostClocks>();
    }
    auto trace = std::make_shared<BuiltTrace>();
    BuildOptions options;
    options.clocks = at->second.get();
    trace->events = one.events;
    trace->trace = BuildTrace(*one.events, std::move(one.rows), options);
    trace->built = now;
    unusable_ += !trace->trace.usable();
    built.push_back(std::move(trace));
  }
  return built;
}

// --- 4. Isolate: into the queue of each owner whose datasets want the trace. A full queue delays it, for him alone.

void Tailer::Enqueue(const QueuedTrace& trace, const TailedDatasets& datasets) {
  std::set<std::string> owners, wanting;
  for (const TailedDataset& dataset : datasets) {
    owners.insert(dataset.owner);
    if (!dataset.wants || dataset.wants(trace->trace) || trace->earlier == EarlierRows::kReplace)
      wanting.insert(dataset.owner);
  }
  for (const std::string& owner : wanting) {
    // Waiting until a rate lets the next one go would only make everything later.
    if (owners.size() == 1 && options_.owner_rate == 0 &&
        options_.threads == TailerOptions::Threads::kOwn)
      queues_.WaitForRoom(owner, kRoomPatience);
    QueuedTrace queued = trace;
    if (!queues_.TryPush(owner, queued))
      Delay(trace->key, owner, DelayReason::kQueueFull, trace->hold);
  }
}

// --- 5. Extract: features of a trace into rows, owners by fair shares of CPU time.

bool Tailer::Extract(Nanos patience) {
  auto taken = patience == 0 ? queues_.TryTake() : queues_.Take(patience);
  if (!taken) return false;
  const StageTimer timer(extract_);
  extract_.AddLag(clock() - taken->item->built);
  ExtractInto(*taken->item, *datasets_.Deployed(taken->item->key.tenant), {taken->owner, ""});
  queues_.Charge(taken->owner, timer.spent());
  return true;
}

void Tailer::ExtractInto(const BuiltTrace& trace, const TailedDatasets& datasets,
                         const Selection& selection) {
  for (const TailedDataset& dataset : datasets) {
    if (!selection.Includes(dataset)) continue;
    DatasetTable rows = dataset.new_table();
    dataset.extract(trace.trace, rows);
    writer_.Add(dataset.name, trace, std::move(rows), clock());
  }
}

// --- 6. Write: gathered rows into their datasets.

bool Tailer::Write() {
  const StageTimer timer(write_);
  const bool wrote = writer_.Write(RowWriter::What::kDue, clock());
  if (wrote) write_.AddLag(writer_.last_lag());
  return wrote;
}

// --- 7. Shed: what could not be done in time is done later, from the store.

void Tailer::Delay(const TraceKey& key, const std::string& owner, DelayReason reason,
                   const ProgressLedger::Hold& hold) {
  delayed_->Push({key.tenant, key.id, owner, reason, Now()}, hold);
}

bool Tailer::ExtractDelayed() {
  const StageTimer timer(delay_);
  const auto items = delayed_->Peek(kDelayedAtOnce);
  if (!items.ok()) {
    if (log::LogOnce(items.error().message)) log::Error("{}", items.error().message);
    return false;
  }
  if (items->empty()) return false;
  // Each trace once, for everyone who waits for it, tenant by tenant and owner by owner.
  std::map<std::pair<std::string, std::string>, std::vector<TracesInProgress::Claim>> groups;
  std::set<std::pair<std::string, TraceKey>> seen;
  for (const DelayedTrace& item : *items) {
    const TraceKey key{item.tenant, item.id};
    delay_.AddLag(Now() - item.queued_ns);
    if (!seen.insert({item.owner, key}).second) continue;
    auto claim = in_progress_.TryClaim(key);
    if (claim == nullptr) {  // being worked on, or waited for by another owner of this very group
      delayed_->PushAgain(item);
      continue;
    }
    groups[{item.tenant, item.owner}].push_back(std::move(claim));
  }
  for (const auto& [who, claims] : groups) {
    if (const Status status = ProcessStored(who.first, claims, {who.second, ""}, nullptr);
        !status.ok()) {
      if (!Stopping() && log::LogOnce("delayed: " + status.error().message))
        log::Error("delayed traces: {}; will retry", status.error().message);
      return false;  // not popped
    }
    delayed_done_ += static_cast<int64_t>(claims.size());
  }
  const Status written = writer_.WriteAll(clock());  // what fails is delayed again, by on_failure
  Status done = delayed_->Sync();
  if (done.ok()) done = delayed_->Pop(items->size());
  if (!done.ok()) log::Error("the delayed queue: {}", done.error().message);
  return done.ok() && written.ok();  // false: not again at once
}

Status Tailer::ProcessStored(const std::string& tenant,
                             const std::vector<TracesInProgress::Claim>& claims,
                             const Selection& selection, const ProgressLedger::Hold& hold) {
  const auto datasets = datasets_.Deployed(tenant);
  const bool wanted = std::any_of(datasets->begin(), datasets->end(),
                                  [&](const auto& d) { return selection.Includes(d); });
  if (!wanted) return {};
  size_t group = kFirstGroup;
  for (size_t begin = 0; begin < claims.size();) {
    const size_t end = std::min(claims.size(), begin + group);
    std::vector<TraceId> ids;
    std::map<TraceId, TracesInProgress::Claim> by_id;
    for (size_t i = begin; i < end; ++i) {
      ids.push_back(claims[i]->id);
      by_id[claims[i]->id] = claims[i];
      cache_.NoteProcessed(*claims[i], clock());
    }
    if (Stopping()) return EnvironmentError("the tailer is stopping", "start it again");
    WF_ASSIGN(EventBatch read, store_.ReadTraces(tenant, ids));
    read.tenant = tenant;
    const auto events = std::make_shared<const EventBatch>(std::move(read));
    for (const auto& built : BuildGroup(SplitByTrace(events), clock())) {
      built->key = {tenant, built->trace.id};
      built->claim = by_id[built->trace.id];
      built->hold = hold;
      ExtractInto(*built, *datasets, selection);
    }
    // The next group holds about as much, whatever the size of its traces.
    const size_t per_trace = std::max<size_t>(1, events->size() / ids.size());
    const size_t bytes = std::max<size_t>(1, events->MemoryBytes() / ids.size());
    group = std::clamp<size_t>(std::min(kDelayedEvents / per_trace, kDelayedBytes / bytes), 1, 256);
    begin = end;
  }
  return {};
}

Status Tailer::ProcessNow(const std::string& tenant, const std::vector<TraceId>& ids,
                          const std::string& dataset) {
  const ProgressLedger::Hold hold = ledger_.At(ledger_.Watermark(Now()));
  while (Fetch()) {
  }  // what was stored before this call is cached now, and its timeouts can be called off
  if (dataset.empty())
    for (const TraceId& id : ids) cache_.Cancel({tenant, id});
  for (size_t begin = 0; begin < ids.size(); begin += kDelayedAtOnce) {
    std::vector<TracesInProgress::Claim> claims;
    for (size_t i = begin; i < std::min(ids.size(), begin + kDelayedAtOnce); ++i) {
      TracesInProgress::Claim claim;
      while ((claim = in_progress_.TryClaim({tenant, ids[i]})) == nullptr) {
        if (options_.threads == TailerOptions::Threads::kNone) {
          Extract(0);
        } else if (!Wait(5 * kMilli)) {
          return EnvironmentError("the server is stopping", "try again when it runs");
        }
      }
      claims.push_back(std::move(claim));
    }
    WF_TRY(ProcessStored(tenant, claims, {"", dataset}, hold));
  }
  return writer_.WriteAll(clock());
}

std::shared_ptr<void> Tailer::ExpectEarlierRows() {
  ++backfills_;
  backfilled_until_ = INT64_MAX;
  return std::shared_ptr<void>(nullptr, [this](void*) {
    if (--backfills_ == 0) backfilled_until_ = clock();
  });
}

bool Tailer::Step() {
  bool busy = false;
  while (Fetch()) busy = true;
  Trigger();
  while (Build()) busy = true;
  while (Extract(0)) busy = true;
  busy |= Write();
  if (const Status synced = delayed_->Sync(); !synced.ok())
    log::Error("{}", synced.error().message);
  busy |= LookThroughUnseen();
  busy |= ExtractDelayed();
  return busy;
}

}  // namespace wf::pipeline
