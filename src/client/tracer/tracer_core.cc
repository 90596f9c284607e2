#include "client/tracer/tracer_core.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>  // program_invocation_short_name
#include <cstdlib>
#include <cstring>
#include <utility>

#include "client/runtime/background_thread.h"
#include "client/runtime/counter_registry.h"
#include "client/runtime/json_text.h"
#include "client/tracer/span_draft.h"
#include "client/tracer/stack_sampler.h"

namespace wherefore::client {
namespace {

// Twice this at the most, and only if the server has answered before: nobody waits long for a program to end.
constexpr std::chrono::milliseconds kEndControlAtExit{300};

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string EndpointText(const TracerOptions& options) {
  if (!options.endpoint.empty()) return options.endpoint;
  std::string text = FromEnvironment("WHEREFORE_ENDPOINT");
  if (!text.empty()) return text;
  if (options.exports == TracerOptions::Export::kEvents) return "http://127.0.0.1:8642";
  // OpenTelemetry: the specific variable is used as it stands, to the general one the path is added.
  text = FromEnvironment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if (!text.empty()) return text;
  text = FromEnvironment("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (text.empty()) return "http://127.0.0.1:4318/v1/traces";
  while (text.back() == '/') text.pop_back();
  return text + "/v1/traces";
}

ProcessLabels FindProcessLabels(const TracerOptions& options) {
  utsname host{};
  uname(&host);
  std::string service = options.service_name;
  if (service.empty()) service = FromEnvironment("OTEL_SERVICE_NAME");
  if (service.empty()) service = program_invocation_short_name;
  std::string instance = options.instance_id;
  if (instance.empty()) instance = std::string(host.nodename) + ":" + std::to_string(getpid());
  ProcessLabels labels = {{"service.name", service},
                          {"service.instance.id", instance},
                          {"host.name", host.nodename},
                          {"telemetry.sdk.name", "libwherefore"},
                          {"telemetry.sdk.language", "cpp"}};
  labels.insert(labels.end(), options.process_labels.begin(), options.process_labels.end());
  return labels;
}

// {"accepted","rejected",…}, see docs/reference/events.md.
ExportAnswer DecodeEventsAnswer(std::string_view body) {
  ExportAnswer answer;
  const auto json = ParseJson(body);
  answer.well_formed = json && json->Get("accepted").type == JsonNode::Type::kNumber;
  if (!answer.well_formed) return answer;
  answer.rejected = static_cast<uint64_t>(std::max(0.0, json->Get("rejected").number));
  answer.reason = json->Get("message").text;
  return answer;
}

Wire WireFor(const TracerOptions& options) {
  if (options.exports == TracerOptions::Export::kOtlp) {
    return {"application/x-protobuf", options.batch_blocks, EncodeRequest, DecodeAnswer};
  }
  return {kEventsContentType, 1,
          [](const std::string&, const std::vector<std::string>& bodies) { return bodies[0]; },
          DecodeEventsAnswer};
}

// This thread's buffer, kept alive by us and by the core that drains it.
__thread bool thread_is_ending = false;
struct RingHandle {
  std::shared_ptr<EventRing> ring;
  ~RingHandle() {
    thread_is_ending = true;
    internal::thread_state.ring = nullptr;
    if (ring) ring->Abandon();
  }
};
thread_local RingHandle ring_handle;

std::string LabelText(const ProcessLabels& labels, std::string_view key) {
  for (const auto& [name, value] : labels) {
    if (name == key) return value;
  }
  return {};
}

}  // namespace

std::atomic<TracerCore*> TracerCore::default_core{nullptr};

CounterRegistry& Counters() {
  static auto* registry = new CounterRegistry;  // read by threads that outlive static destruction
  return *registry;
}

TracerCore::TracerCore(const TracerOptions& options)
    : options_(options), fork_generation_(ForkGeneration()), process_(FindProcessLabels(options)) {
  sem_init(&wake_, 0, 0);
  sampling_ = std::make_unique<Sampling>(options, LabelText(process_, "service.name"),
                                         LabelText(process_, "host.name"));
}

std::shared_ptr<TracerCore> TracerCore::Start(const TracerOptions& options) {
  static const bool sound = TimeStampCounterIsSound();
  use_time_stamp_counter.store(sound, std::memory_order_relaxed);
  auto core = std::make_shared<TracerCore>(options);
  const std::string text = EndpointText(options);
  auto endpoint = HttpUrl::Parse(text);
  if (!endpoint) {
    core->exporter_ =
        BatchExporter::Unusable("endpoint " + text + " is not of the form http://host:port/path");
  } else {
    if (endpoint->path == "/") endpoint->path = core->otlp() ? "/v1/traces" : "/api/v1/events";
    core->exporter_ = BatchExporter::Start(options, *endpoint, WireFor(options),
                                           EncodeProcess(core->process_, getpid()));
    core->StartThreads(core);
    const std::string control = !options.control_endpoint.empty() ? options.control_endpoint
                                : core->otlp()                    ? ""
                                                                  : text;
    if (const auto url = HttpUrl::Parse(control);
        url && options.control == TracerOptions::Control::kFetch) {
      const std::string service = LabelText(core->process_, "service.name");
      const std::string instance = LabelText(core->process_, "service.instance.id");
      core->queries_ =
          QueryAgent::Start({*url, service, instance, FromEnvironment("WHEREFORE_TOKEN")});
      core->control_ = ControlClient::Start(
          *url, service, instance,
          [core](const std::string& body) { return core->sampling_->Install(body); },
          core->queries_, [core] { return core->sampling_->Demand(); });
    }
  }
  // See the class comment: reachable for ever, so that a late caller of Default() finds a core that counts and drops.
  static auto* all = new std::vector<std::shared_ptr<TracerCore>>;
  static auto* all_mutex = new std::mutex;
  const std::lock_guard lock(*all_mutex);
  // A tracer that is never destroyed: its queries report the rest and say that they go, when the program does.
  static const bool at_exit = std::atexit([] {
                                std::vector<std::shared_ptr<TracerCore>> cores;
                                {
                                  // In a child of fork() it may be held by a thread that is not there.
                                  const std::unique_lock lock(*all_mutex, std::try_to_lock);
                                  if (!lock) return;
                                  cores = *all;
                                }
                                for (const auto& one : cores) one->EndControl(kEndControlAtExit);
                              }) == 0;
  (void)at_exit;
  all->push_back(core);
  default_core.store(core.get(), std::memory_order_release);
  return core;
}

void TracerCore::StartThreads(std::shared_ptr<TracerCore> self) {
  if (otlp()) {
    running_ = true;
    return;
  }
  collector_ = std::make_unique<EventCollector>(options_, process_, getpid(), exporter_, counts_);
  try {
    drain_thread_ = StartBackgroundThread("wherefore-drain", [self] { self->Drain(); });
    running_ = true;
  } catch (const std::system_error&) {
    drain_ended_ = true;
  }
}

EventRing* TracerCore::AdoptRing() noexcept {
  if (thread_is_ending) return nullptr;
  try {
    auto ring = std::make_shared<EventRing>(this, options_.thread_buffer_bytes, gettid());
    if (!ring->usable()) return nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (rings_.size() >= options_.max_threads || drain_ended_) return nullptr;
      rings_.push_back(ring);
    }
    if (ring_handle.ring) ring_handle.ring->Abandon();
    ring_handle.ring = ring;
    internal::thread_state.ring = ring.get();
    return ring.get();
  } catch (...) {
    return nullptr;
  }
}

void TracerCore::Emit(const EventHead& head, const Annotation* annotations, size_t count) noexcept {
  if (otlp()) return EmitIntoSpan(head, annotations, count);
  internal::ThreadState& state = internal::thread_state;
  auto* ring = static_cast<EventRing*>(state.ring);
  if (ForkGeneration() != fork_generation_ || !running_.load(std::memory_order_relaxed)) {
    if (head.type < kDecidedKeep) dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (ring == nullptr || ring->owner() != this) ring = AdoptRing();
  if (ring == nullptr) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  state.writing = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Write(*ring, head, annotations, count);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  state.writing = 0;
  if (ring->WantsDrain()) Wake();
}

void TracerCore::EmitFromSignal(const EventHead& head, const Annotation* annotations,
                                size_t count) noexcept {
  auto* ring = static_cast<EventRing*>(internal::thread_state.ring);
  if (ring != nullptr && ring->owner() == this && running_.load(std::memory_order_relaxed)) {
    Write(*ring, head, annotations, count);
  }
}

bool TracerCore::Write(EventRing& ring, const EventHead& head, const Annotation* annotations,
                       size_t count) noexcept {
  size_t size = sizeof(RecordHead);
  size_t kept = 0;
  for (; kept < count; ++kept) {
    const size_t next = size + RecordSize(annotations[kept]);
    if (next > kMaxRecordBytes) break;
    size = next;
  }
  size = (size + 7) & ~size_t{7};
  char* const at = ring.Reserve(size);
  if (head.type < kDecidedKeep) {
    ring.CountRecorded();
    if (at == nullptr) ring.CountDropped();
    for (size_t i = kept; i < count; ++i) ring.CountTruncated();
  }
  if (at == nullptr) return false;
  auto* record = reinterpret_cast<RecordHead*>(at);
  record->size = static_cast<uint32_t>(size);
  record->type = head.type;
  record->flags = static_cast<uint8_t>(
      (head.unix_ns != kNow ? kUnixTime : 0) | (head.sequenced ? kHasSequence : 0) |
      (head.hold == internal::Hold::kUntilDecision ? kHeldForDecision : 0) |
      (head.hold == internal::Hold::kUntilEnd ? kHeldToEnd : 0));
  record->annotations = static_cast<uint16_t>(kept);
  record->trace_hi = head.trace.hi;
  record->trace_lo = head.trace.lo;
  record->id1 = head.id1;
  record->id2 = head.id2;
  record->sequence = internal::thread_state.sequence++;
  char* text = at + sizeof(RecordHead);
  for (size_t i = 0; i < kept; ++i) text = PutAnnotation(annotations[i], text);
  record->time = head.unix_ns != kNow ? head.unix_ns : Ticks();
  ring.Commit();
  return true;
}

// What OTLP has no word for stands as an event in the span of this thread's innermost block.
void TracerCore::EmitIntoSpan(const EventHead& head, const Annotation* annotations,
                              size_t count) noexcept {
  auto* draft = static_cast<SpanDraft*>(internal::thread_state.draft);
  if (draft == nullptr || head.type >= kDecidedKeep) return;
  draft->AppendEvent(EventTypeFromNumber(head.type), annotations, count);
}

void TracerCore::Drain() {
  while (true) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    auto interval = std::chrono::nanoseconds(options_.drain_interval);
    if (const auto stacks = StackSamplingInterval(); stacks.count() != 0 && stacks < interval) {
      interval = stacks;
    }
    const int64_t ns = until.tv_nsec + interval.count();
    until.tv_sec += ns / 1'000'000'000;
    until.tv_nsec = ns % 1'000'000'000;
    while (sem_timedwait(&wake_, &until) != 0 && errno == EINTR) {
    }
    if (!DrainRound()) return;
  }
}

bool TracerCore::DrainRound() {
  const bool last = stopping_.load(std::memory_order_acquire);
  uint64_t asked;
  {
    const std::lock_guard lock(mutex_);
    asked = flush_asked_;
  }
  collector_->BeginRound();
  DrainRings();
  SampleThreads(ClockNs(CLOCK_MONOTONIC));
  if (last) collector_->Finish();
  collector_->EndRound(asked != flush_done_ ? EventCollector::Ship::kAll
                                            : EventCollector::Ship::kFullBodies);
  const std::lock_guard lock(mutex_);
  flush_done_ = asked;
  drain_ended_ = last;
  drained_.notify_all();
  return !last;
}

void TracerCore::DrainRings() {
  std::vector<std::shared_ptr<EventRing>> rings;
  {
    const std::lock_guard lock(mutex_);
    rings = rings_;
  }
  for (const auto& ring : rings) {
    const bool abandoned = ring->abandoned();  // before its end: nothing comes after
    ring->BeginDrain();
    const uint64_t end = ring->End();
    while (const RecordHead* record = ring->Front(end)) {
      collector_->Take(*record);
      ring->Pop(record);
    }
    if (!abandoned) continue;
    const std::lock_guard lock(mutex_);
    retired_recorded_ += ring->recorded();
    retired_dropped_ += ring->dropped();
    retired_truncated_ += ring->truncated();
    rings_.erase(std::find(rings_.begin(), rings_.end(), ring));
  }
}

// Counters, as points in the blocks that threads are in; and the signal that makes threads sample their stacks.
void TracerCore::SampleThreads(int64_t now_ns) {
  const int64_t stack_ns = std::chrono::nanoseconds(StackSamplingInterval()).count();
  const bool stacks = stack_ns != 0 && now_ns >= stacks_due_ns_;
  const bool counters = !Counters().empty() && now_ns >= counters_due_ns_;
  if (!stacks && !counters) return;
  if (stacks) stacks_due_ns_ = now_ns + stack_ns;
  if (counters) counters_due_ns_ = now_ns + options_.counter_interval.count() * 1'000'000;
  std::vector<std::shared_ptr<EventRing>> rings;
  {
    const std::lock_guard lock(mutex_);
    rings = rings_;
  }
  alignas(8) char buffer[4096];
  for (const auto& ring : rings) {
    EventRing::Work work;
    if (!ring->Published(work)) continue;
    if (stacks) RequestStackSample(ring->thread_id());
    if (!counters || work.recording <= static_cast<uint8_t>(Detail::kInternals)) continue;
    auto* record = new (buffer) RecordHead{};
    char* at = buffer + sizeof(RecordHead);
    const auto put = [&](const Annotation& annotation) {
      if (at + RecordSize(annotation) + 8 > buffer + sizeof buffer) return;
      at = PutAnnotation(annotation, at);
      ++record->annotations;
    };
    put({AnnotationKind::kName, {}, "counters"});
    Counters().Sample(put);
    record->type = static_cast<uint8_t>(EventType::kPoint);
    record->trace_hi = work.trace_hi;
    record->trace_lo = work.trace_lo;
    record->id1 = NewBlockId();
    record->id2 = work.block;
    record->time = Ticks();
    record->size = static_cast<uint32_t>((at - buffer + 7) & ~7);
    sampled_.fetch_add(1, std::memory_order_relaxed);
    collector_->Take(*record);
  }
}

TracerStats TracerCore::stats() const {
  TracerStats stats = exporter_->stats();
  if (!otlp()) {
    // The exporter counted what reached it; what was recorded is counted where it was.
    stats.recorded =
        sampled_.load(std::memory_order_relaxed) + dropped_.load(std::memory_order_relaxed);
    stats.dropped +=
        dropped_.load(std::memory_order_relaxed) + counts_.dropped.load(std::memory_order_relaxed);
    stats.discarded = counts_.discarded.load(std::memory_order_relaxed);
    if (ForkGeneration() == fork_generation_) {
      const std::lock_guard lock(mutex_);
      stats.recorded += retired_recorded_;
      stats.overflowed = retired_dropped_;
      stats.truncated = retired_truncated_;
      for (const auto& ring : rings_) {
        stats.recorded += ring->recorded();
        stats.overflowed += ring->dropped();
        stats.truncated += ring->truncated();
      }
      stats.dropped += stats.overflowed;
    }
  }
  stats.traces_started = sampling_->started();
  stats.starts_refused = sampling_->refused();
  stats.policies = sampling_->policies();
  return stats;
}

bool TracerCore::Flush(std::chrono::milliseconds deadline) {
  const auto until = SteadyClock::now() + deadline;
  if (!otlp() && ForkGeneration() == fork_generation_) {
    std::unique_lock lock(mutex_);
    const uint64_t goal = ++flush_asked_;
    Wake();
    if (!drained_.wait_until(lock, until, [&] { return flush_done_ >= goal || drain_ended_; })) {
      return false;
    }
  }
  return exporter_->Flush(std::chrono::duration_cast<std::chrono::milliseconds>(
      std::max(until - SteadyClock::now(), SteadyClock::duration::zero())));
}

void TracerCore::Shutdown(std::chrono::milliseconds deadline) {
  const auto until = SteadyClock::now() + deadline;
  TracerCore* self = this;
  default_core.compare_exchange_strong(self, nullptr);
  if (ForkGeneration() != fork_generation_) {
    if (drain_thread_.joinable()) drain_thread_.detach();  // it does not exist in this process
    if (control_) control_->Forget();
    if (queries_) queries_->Forget();
    return exporter_->Shutdown(deadline);
  }
  running_.store(false, std::memory_order_relaxed);
  if (drain_thread_.joinable()) {
    // The drain waits for nobody: it never talks to the network.
    stopping_.store(true, std::memory_order_release);
    Wake();
    drain_thread_.join();
  }
  const auto left = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(until - SteadyClock::now(), SteadyClock::duration::zero()));
  };
  if (queries_) queries_->Stop(std::max(left() / 2, std::chrono::milliseconds(100)));
  exporter_->Shutdown(left());
  if (control_) control_->Stop(std::max(left(), std::chrono::milliseconds(100)));
}

void TracerCore::EndControl(std::chrono::milliseconds deadline) {
  if (ForkGeneration() != fork_generation_) return;  // the threads are the parent's
  if (queries_) queries_->Stop(deadline);
  if (control_) control_->Stop(deadline);
}

}  // namespace wherefore::client
