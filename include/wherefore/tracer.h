// Blocks of work and the tracer that exports them. The other ways to instrument are in instrument.h and rpc.h.
//
//   wherefore::TracerOptions options;
//   options.service_name = "checkout";
//   wherefore::Tracer tracer(options);              // one per process, outlives its blocks
//
//   wherefore::Block block(tracer, "charge card");  // child of this thread's context
//   block.Label("user.id", 4711);
//   if (!ok) block.Fail("card declined");           // the destructor ends the block
//
// Across processes: send block.context().Traceparent() and tracestate() as headers; the receiver
// passes RequestContext::FromHeaders(...) as BlockOptions::parent (rpc.h does both).
//
// A block outside of any request starts a trace, if the sampling policies of the server say so and the token
// buckets have a token (Canopy §4.1). Otherwise the request is propagated unsampled and records nothing.
//
// In someone else's process this library never blocks on the network, never throws, keeps bounded memory and
// counts what it drops (TracerStats). WHEREFORE_DISABLED=1 in the environment turns it off: it starts no
// thread, opens no socket and records nothing; the context of incoming requests is still propagated. A child
// of fork() that does not exec records nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wherefore/annotation.h"
#include "wherefore/api.h"
#include "wherefore/context.h"

namespace wherefore {

namespace client {
class TracerCore;
struct BlockExtra;
struct DisabledTag {};
}  // namespace client

// Trace starts per second. 0: no limit.
struct TokenRate {
  double per_second = 0;
  double burst = 1;  // tokens that gather while no trace starts
};

struct TracerOptions {
  // kEvents: wherefore's own events, which describe queues, locks, tasks and edges exactly. kOtlp: each block
  // is an OTLP span for any OpenTelemetry receiver; what OTLP cannot express becomes an event of the span
  // around it.
  enum class Export : uint8_t { kEvents, kOtlp } exports = Export::kEvents;

  // Where events are sent: "http://host:port[/path]". Empty: $WHEREFORE_ENDPOINT, else http://127.0.0.1:8642
  // for events; for OTLP then OpenTelemetry's own $OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and
  // $OTEL_EXPORTER_OTLP_ENDPOINT, then http://127.0.0.1:4318.
  std::string endpoint;
  std::string service_name;  // empty: $OTEL_SERVICE_NAME, else the program's name
  std::string instance_id;   // empty: host name and process id
  // Added to the labels that the library finds itself.
  std::vector<std::pair<std::string, std::string>> process_labels;

  // Whether each block carries `thread.id`, by which the server distinguishes execution units.
  enum class ThreadIds : uint8_t { kRecord, kOmit } thread_ids = ThreadIds::kRecord;

  // Trace starts of this process. The buckets limit traces that start here, never those that a caller
  // started.
  TokenRate global_rate;
  // For each owner of policies: Canopy gives its tenants 5 traces per second.
  TokenRate owner_rate = {5, 10};
  Detail detail = Detail::kInternals;  // for traces that no policy started
  // Whether policies are fetched from the server, over one connection that stays open.
  enum class Control : uint8_t { kFetch, kOff } control = Control::kFetch;
  // Empty: the server of `endpoint` for events; none for OTLP.
  std::string control_endpoint;

  // For kEvents: buffer of each recording thread, and max number of such threads. Pages that are never
  // written use no memory.
  size_t thread_buffer_bytes = 512u << 10;
  size_t max_threads = 256;
  std::chrono::milliseconds drain_interval{20};
  // Events of all traces that wait for a decision or for the end of their trace; see BlockOptions.
  size_t held_bytes = 4u << 20;
  std::chrono::milliseconds held_for{60'000};
  // Registered counters are sampled at the bounds of blocks, and at this interval in threads that record.
  std::chrono::milliseconds counter_interval{100};
  // CPU time, context switches and page faults of each block (two system calls at each bound).
  enum class OsData : uint8_t { kOff, kBlocks } os_data = OsData::kOff;

  // Blocks that wait to be sent. 8,192 blocks are half a minute of a busy service at 250 blocks/s, and at
  // most 8 MiB.
  size_t queue_blocks = 8192;
  size_t queue_bytes = 8u << 20;
  size_t batch_blocks = 512;
  std::chrono::milliseconds flush_interval{200};
  std::chrono::milliseconds request_timeout{5000};
  int max_attempts = 5;  // per batch; after that the batch is counted as lost
  std::chrono::milliseconds first_backoff{
      100};  // doubled up to max_backoff; Retry-After takes precedence
  std::chrono::milliseconds max_backoff{5000};
  std::chrono::milliseconds shutdown_deadline{3000};
};

// Counts events, or blocks when exporting OTLP. Each ends in exactly one of exported, rejected, lost,
// dropped, discarded, or is still being sent.
struct TracerStats {
  uint64_t recorded = 0;    // emitted while sampled
  uint64_t exported = 0;    // acknowledged by the receiver
  uint64_t dropped = 0;     // a buffer was full, or the tracer shut down
  uint64_t overflowed = 0;  // of those dropped: the thread's own buffer was full
  uint64_t discarded = 0;   // held for a decision that was negative or did not arrive
  uint64_t rejected = 0;    // the receiver refused them permanently
  uint64_t lost = 0;        // given up after max_attempts or at the shutdown deadline
  uint64_t retries = 0;     // attempts after the first
  uint64_t truncated = 0;   // annotations dropped because their event was too large
  uint64_t traces_started = 0;
  // A policy matched, or there was no policy, but the buckets were empty.
  uint64_t starts_refused = 0;
  uint64_t policies = 0;  // in force
};

// Thread-safe. Blocks keep a reference: destroy the tracer after its last block.
class WHEREFORE_API Tracer {
 public:
  explicit Tracer(const TracerOptions& options);
  explicit Tracer(client::DisabledTag);  // private to the library
  ~Tracer();                             // Shutdown(options.shutdown_deadline)
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  bool enabled() const { return enabled_; }
  TracerStats stats() const;
  std::string LastError() const;  // why the last batch did not arrive; empty when the last one did

  // Waits until all events before the call are settled; false if the deadline passes first. Held events stay
  // held.
  bool Flush(std::chrono::milliseconds deadline);
  // Flushes, then stops the background threads; returns by the deadline. Events emitted later are counted as
  // dropped.
  void Shutdown(std::chrono::milliseconds deadline);

  // Waits until the policies of the server have been fetched at least once, or the deadline passes.
  bool AwaitPolicies(std::chrono::milliseconds deadline);
  // The policies in force, as the server wrote them: JSON, see docs/use/client-library.md.
  std::string Policies() const;
  // Uses these policies until those of the server change. False, and no change, if they are malformed.
  bool SetPolicies(std::string_view json);

  // Private to the library.
  client::TracerCore* core() const { return core_.get(); }

 private:
  // Shared with the background threads, which may outlive the tracer while they are stuck in the name
  // resolver.
  std::shared_ptr<client::TracerCore> core_;
  bool enabled_ = false;
  std::chrono::milliseconds shutdown_deadline_;
};

// The numbers are those of OTLP.
enum class BlockKind : uint8_t { kInternal = 1, kServer, kClient, kProducer, kConsumer };

// The blocks of servers and clients outline a service, so they are recorded at the coarsest level.
constexpr Detail DetailOf(BlockKind kind) {
  return kind == BlockKind::kInternal ? Detail::kDefault : Detail::kRequests;
}

struct BlockOptions {
  BlockKind kind = BlockKind::kInternal;
  std::optional<Detail> detail;  // default: by kind
  // Default: this thread's context; an invalid one starts a trace.
  std::optional<RequestContext> parent;
  std::optional<int64_t> start_ns;  // Unix ns; default: now
  // kCurrent: this thread works for the block until the block ends. kDetached: the block may end on another
  // thread.
  enum class Activation : uint8_t { kCurrent, kDetached } activation = Activation::kCurrent;

  // For a block that starts a trace: properties that policies may match; `name`, `service` and `host` are
  // added. Borrowed for the duration of the constructor.
  std::vector<wherefore::Label> properties;
  std::string_view reached;  // a marked path that policies may target; see ReachedPath
  // kDecideHere: policies and buckets decide. kOpportunistic: a server that we call decides; until Resolve()
  // receives its answer, events are held in memory, within a bound (Canopy figure 6).
  enum class Start : uint8_t { kDecideHere, kOpportunistic } start = Start::kDecideHere;
  // kPrompt: events are sent as they are emitted, so that a crash leaves the earlier ones. kAtEnd: events
  // inside this block are held in memory until it ends.
  enum class Delivery : uint8_t { kPrompt, kAtEnd } delivery = Delivery::kPrompt;

  // Private to the library: kElsewhere means that a queue or task event names the cause, so the unit has no
  // parent.
  enum class Cause : uint8_t { kParent, kElsewhere } cause = Cause::kParent;
  BlockId id = 0;  // 0: a new one
};

// A segment of work, from construction to End() or destruction. One thread at a time; a kCurrent
// block ends on the thread that began it, after the blocks inside it. A block whose request is not
// sampled costs next to nothing.
class WHEREFORE_API Block {
 public:
  Block(Tracer& tracer, std::string_view name, BlockKind kind = BlockKind::kInternal) {
    const internal::ThreadState& state = internal::thread_state;
    if (tracer.enabled() &&
        (state.recording > static_cast<uint8_t>(DetailOf(kind)) || !state.settled)) {
      Begin(tracer, name, kind);
    }
  }
  Block(Tracer& tracer, std::string_view name, BlockOptions options) {
    Begin(tracer, name, std::move(options));
  }
  ~Block() {
    if (phase_ != Phase::kInert) End();
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  bool recording() const { return phase_ == Phase::kRecording; }
  RequestContext context() const;  // the parent of children and remote callees
  BlockId id() const { return phase_ == Phase::kRecording ? id_ : 0; }

  // Labels that exceed 16 KiB in one event (OTLP: block) are dropped and counted. Values are anything a
  // LabelValue can be made from; the functions are templates so that no LabelValue is constructed when
  // nothing is recorded.
  template <typename Value>
  void Label(std::string_view key, const Value& value) {
    if (recording()) AddLabel(key, LabelValue(value));
  }
  template <typename Value>
  void Counter(std::string_view name, const Value& value, std::string_view unit = {}) {
    if (recording()) AddCounter(name, LabelValue(value), unit);
  }
  void Point(std::string_view name, std::initializer_list<wherefore::Label> labels = {}) {
    if (recording()) AddPoint(name, labels);
  }
  void Link(const RequestContext& to, std::initializer_list<wherefore::Label> labels = {}) {
    if (recording()) AddLink(to, labels);
  }
  // Marks an explicit "ok", which later analyses do not change.
  void Succeed() { outcome_ = Outcome::kOk; }
  void Fail(std::string_view message);  // an error

  // For an opportunistic trace: the `traceresponse` header of the response. If it is sampled, the held events
  // are sent; otherwise they are discarded, as when the block ends without a response. Only the first call
  // counts.
  void Resolve(std::string_view traceresponse);

  void End();  // idempotent
  void EndAt(int64_t unix_ns);

 private:
  friend class RpcCall;
  friend class RpcHandler;
  enum class Outcome : uint8_t { kUnset = 0, kOk = 1, kError = 2 };  // OTLP's numbers
  // kAttached: only the context is ours.
  enum class Phase : uint8_t { kInert, kAttached, kRecording };

  // context() without the baggage of this thread; sets `here` if that baggage is the block's.
  RequestContext PeekContext(bool& here) const;
  void Begin(Tracer& tracer, std::string_view name, BlockKind kind);
  void Begin(Tracer& tracer, std::string_view name, BlockOptions options);
  void BeginRecorded(std::string_view name, const BlockOptions& options, RequestContext own,
                     BlockId parent, bool parent_remote, const std::string& owners, bool starts);
  void AddLabel(std::string_view key, const LabelValue& value);
  void AddCounter(std::string_view name, const LabelValue& value, std::string_view unit);
  void AddPoint(std::string_view name, std::initializer_list<wherefore::Label> labels);
  void AddLink(const RequestContext& to, std::initializer_list<wherefore::Label> labels);
  void EndRecorded(std::optional<int64_t> unix_ns);
  void Leave();

  // Set by Begin only: an inert block costs the two bytes at the end.
  client::TracerCore* core_;
  uint64_t trace_hi_, trace_lo_;
  BlockId id_;
  BlockId parent_;
  uint64_t unit_;
  client::BlockExtra* extra_;  // fields that most blocks do not need
  bool owns_unit_;
  bool detached_;
  BlockKind kind_;
  internal::Hold hold_;        // for the events inside the block
  internal::Hold outer_hold_;  // for the events around it
  Outcome outcome_ = Outcome::kUnset;
  Phase phase_ = Phase::kInert;
};

}  // namespace wherefore
