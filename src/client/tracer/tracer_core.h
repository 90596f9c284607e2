// What a Tracer owns: the threads' buffers, the drain that empties them, the exporter, the sampling decision and the
// control connection. Shared with its background threads, and never freed before the process ends: the narrow APIs
// find it through Default(), from any thread, at any time.
//
//   thread ─ Emit ─→ EventRing ─→ drain: EventCollector ─→ EventsEncoder ─→ BatchExporter ─→ POST /api/v1/events
//   thread ─ Block (OTLP) ──────────────────────────────────────────────→ BatchExporter ─→ POST /v1/traces
//
// Thread-safe but for construction and Shutdown.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/events/event_collector.h"
#include "client/events/event_ring.h"
#include "client/queries/query_agent.h"
#include "client/runtime/block_id.h"
#include "client/sampling/sampling.h"
#include "client/tracer/control_client.h"
#include "client/transport/batch_exporter.h"
#include "wherefore/tracer.h"

namespace wherefore::client {

constexpr int64_t kNow = INT64_MIN;

struct EventHead {
  uint8_t type;  // EventType or ControlType
  bool sequenced;
  internal::Hold hold;
  uint64_t id1;
  uint64_t id2;
  TraceId trace;
  int64_t unix_ns;  // kNow: by the clock
};

// An event of what this thread works on.
inline EventHead Here(EventType type, uint64_t id1, uint64_t id2) {
  const internal::ThreadState& state = internal::thread_state;
  return {static_cast<uint8_t>(type),       true, state.hold, id1, id2,
          {state.trace_hi, state.trace_lo}, kNow};
}

class TracerCore {
 public:
  static std::shared_ptr<TracerCore> Start(const TracerOptions& options);
  // The one started last, and not yet shut down; nullptr when there is none.
  static TracerCore* Default() { return default_core.load(std::memory_order_acquire); }

  explicit TracerCore(const TracerOptions& options);

  bool otlp() const { return options_.exports == TracerOptions::Export::kOtlp; }
  const TracerOptions& options() const { return options_; }
  BatchExporter& exporter() { return *exporter_; }
  Sampling& sampling() { return *sampling_; }
  QueryAgent* queries() { return queries_.get(); }

  // Writes one event into this thread's buffer. OTLP: adds it to the span around, as an event.
  void Emit(const EventHead& head, const Annotation* annotations, size_t count) noexcept;
  template <size_t n>
  void Emit(const EventHead& head, const Annotation (&annotations)[n]) noexcept {
    Emit(head, annotations, n);
  }
  void Emit(const EventHead& head) noexcept { Emit(head, nullptr, 0); }
  // From a handler that interrupted this thread while it was not writing.
  void EmitFromSignal(const EventHead& head, const Annotation* annotations, size_t count) noexcept;
  // Tells the drain what this thread works on now.
  void Publish() {
    const internal::ThreadState& state = internal::thread_state;
    auto* ring = static_cast<EventRing*>(state.ring);
    if (ring != nullptr && ring->owner() == this) ring->Publish(state);
  }

  TracerStats stats() const;
  std::string LastError() const { return exporter_->LastError(); }
  bool Flush(std::chrono::milliseconds deadline);
  void Shutdown(std::chrono::milliseconds deadline);
  // The part of Shutdown that concerns the server's queries: they are removed, the remaining results are
  // reported, and the server gets a notice that this process ends.
  void EndControl(std::chrono::milliseconds deadline);
  bool AwaitPolicies(std::chrono::milliseconds deadline) {
    return control_ != nullptr && control_->AwaitFirst(deadline);
  }

 private:
  bool Write(EventRing& ring, const EventHead& head, const Annotation* annotations,
             size_t count) noexcept;
  void EmitIntoSpan(const EventHead& head, const Annotation* annotations, size_t count) noexcept;
  EventRing* AdoptRing() noexcept;
  void Wake() { sem_post(&wake_); }
  void StartThreads(std::shared_ptr<TracerCore> self);
  void Drain();
  bool DrainRound();  // false when it was the last
  void SampleThreads(int64_t now_ns);
  void DrainRings();

  static std::atomic<TracerCore*> default_core;

  const TracerOptions options_;
  const uint32_t fork_generation_;
  ProcessLabels process_;
  std::shared_ptr<BatchExporter> exporter_;
  std::unique_ptr<Sampling> sampling_;
  std::shared_ptr<QueryAgent> queries_;
  std::shared_ptr<ControlClient> control_;

  CollectorCounts counts_;
  std::unique_ptr<EventCollector> collector_;  // drain thread only
  std::thread drain_thread_;
  sem_t wake_;
  std::atomic<bool> running_{false};   // events are taken
  std::atomic<bool> stopping_{false};  // the drain's next round is its last
  std::atomic<uint64_t> dropped_{0};   // no buffer for the thread, not running, or after fork()
  std::atomic<uint64_t> sampled_{0};   // events the drain itself made
  int64_t counters_due_ns_ = 0, stacks_due_ns_ = 0;

  // Guards what follows; never taken to emit, but for a thread's first event.
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<EventRing>> rings_;
  uint64_t retired_recorded_ = 0, retired_dropped_ = 0, retired_truncated_ = 0;
  uint64_t flush_asked_ = 0, flush_done_ = 0;
  bool drain_ended_ = false;
  std::condition_variable drained_;
};

// The Tracer made last and not destroyed yet, else one that is disabled.
Tracer* DefaultTracer();
void SetDefaultTracer(Tracer* tracer);
void ClearDefaultTracer(Tracer* tracer);  // if it still is the default

}  // namespace wherefore::client
