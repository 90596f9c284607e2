#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/events/otlp_encoder.h"
#include "client/runtime/block_id.h"
#include "client/runtime/counter_registry.h"
#include "client/tracer/recorder_link.h"
#include "client/tracer/span_draft.h"
#include "client/tracer/tracer_core.h"
#include "wherefore/tracer.h"

namespace wherefore {
namespace {

using client::BlockExtra;
using client::EventHead;
using client::Here;
using client::kNow;
using client::OsSample;
using client::TracerCore;
using internal::Hold;
using internal::thread_state;

int64_t ThreadId() {
  static thread_local const int64_t id = gettid();
  return id;
}

// Counters and what the kernel counts, beside what the bound of a block says anyway. Fixed size: nothing is allocated.
class BoundAnnotations {
 public:
  void Add(const Annotation& annotation) {
    if (count_ < kMost) new (storage_ + sizeof(Annotation) * count_++) Annotation(annotation);
  }
  void AddRegisteredCounters() {
    if (thread_state.recording <= static_cast<uint8_t>(Detail::kInternals)) return;
    client::Counters().Sample([this](const Annotation& annotation) { Add(annotation); });
  }
  void AddOsData(const OsSample& delta) {
    Add({AnnotationKind::kCounter, "cpu_time", delta.cpu_ns, "ns"});
    Add({AnnotationKind::kCounter, "waits", delta.waits});
    Add({AnnotationKind::kCounter, "preemptions", delta.preemptions});
    Add({AnnotationKind::kCounter, "minor_faults", delta.minor_faults});
    Add({AnnotationKind::kCounter, "major_faults", delta.major_faults});
  }
  const Annotation* data() const { return reinterpret_cast<const Annotation*>(storage_); }
  size_t count() const { return count_; }

 private:
  static constexpr size_t kMost = 8 + client::CounterRegistry::kSlots;
  alignas(Annotation) unsigned char storage_[kMost * sizeof(Annotation)];
  size_t count_ = 0;
};

void EmitUnitBegin(TracerCore& core, EventHead head, uint64_t unit, BlockId parent) {
  head.type = static_cast<uint8_t>(EventType::kUnitBegin);
  head.id1 = unit;
  head.id2 = parent;
  if (core.options().thread_ids == TracerOptions::ThreadIds::kRecord) {
    const Annotation labels[] = {{AnnotationKind::kLabel, "thread", ThreadId()}};
    core.Emit(head, labels);
  } else {
    core.Emit(head);
  }
}

}  // namespace

// The common case: events, inside a request that is recorded here already.
void Block::Begin(Tracer& tracer, std::string_view name, BlockKind kind) {
  internal::ThreadState& state = thread_state;
  TracerCore* core = tracer.core();
  const bool plain = state.recording > static_cast<uint8_t>(DetailOf(kind)) && state.settled &&
                     !core->otlp() && core->options().os_data == TracerOptions::OsData::kOff &&
                     client::Counters().empty();
  if (!plain) {
    BlockOptions options;
    options.kind = kind;
    return Begin(tracer, name, std::move(options));
  }
  core_ = core;
  extra_ = nullptr;
  trace_hi_ = state.trace_hi;
  trace_lo_ = state.trace_lo;
  id_ = client::NewBlockId();
  parent_ = state.block;
  kind_ = kind;
  detached_ = false;
  hold_ = outer_hold_ = state.hold;
  owns_unit_ = state.unit == 0;
  if (owns_unit_) {
    state.unit = client::NewBlockId();
    EmitUnitBegin(*core, Here(EventType::kUnitBegin, 0, 0), state.unit, parent_);
  }
  unit_ = state.unit;
  const Annotation annotations[] = {
      {AnnotationKind::kName, {}, name},
      {AnnotationKind::kBlockKind, {}, static_cast<int>(kind)},
  };
  core->Emit(Here(EventType::kBlockBegin, id_, unit_), annotations);
  state.block = id_;
  client::TellRecorder(state);
  phase_ = Phase::kRecording;
  core->Publish();
}

void Block::Begin(Tracer& tracer, std::string_view name, BlockOptions options) {
  core_ = tracer.core();
  extra_ = nullptr;
  kind_ = options.kind;
  detached_ = options.activation == BlockOptions::Activation::kDetached;
  const bool given = options.parent.has_value();
  const RequestContext parent = given       ? std::move(*options.parent)
                                : detached_ ? RequestContext::Fork()
                                            : RequestContext::Peek();
  RequestContext own = parent;
  own.callee_ = 0;
  own.awaits_decision_ = false;
  own.origin_ = RequestContext::Origin::kLocal;

  bool record = false, starts = false;
  client::StartDecision decision;
  if (core_ != nullptr) {
    const auto detail = static_cast<uint8_t>(options.detail.value_or(DetailOf(kind_)));
    const auto decide = [&] {
      decision = core_->sampling().Decide({name, &options.properties, options.reached});
      starts = decision.start;
      if (!starts) return;
      own.flags_ |= RequestContext::kSampledFlag;
      // What everyone assumes is not worth a header.
      const bool usual =
          decision.owners.empty() && decision.detail == static_cast<uint8_t>(Detail::kInternals);
      own.detail_ = usual ? 0 : decision.detail + 1;
    };
    if (!parent.trace_.valid()) {
      own.trace_ = client::NewTraceId();
      own.block_ = client::NewBlockId();
      if (options.start == BlockOptions::Start::kOpportunistic && !core_->otlp()) {
        own.hold_ = Hold::kUntilDecision;
        own.detail_ = static_cast<uint8_t>(core_->options().detail) + 1;
        starts = true;
      } else {
        decide();
      }
    } else if (!parent.sampled() && parent.hold_ == Hold::kNone &&
               (parent.awaits_decision_ || !options.reached.empty())) {
      decide();
    }
    const uint8_t level =
        own.detail_ != 0 ? own.detail_ : static_cast<uint8_t>(Detail::kInternals) + 1;
    record = (own.sampled() || own.hold_ == Hold::kUntilDecision) && level > detail;
  }
  const bool enters = given || !parent.trace_.valid() || !thread_state.settled || starts;
  if (record) {
    return BeginRecorded(name, options, std::move(own), parent.block_, parent.remote(),
                         decision.owners, starts);
  }
  // The request travels on, unrecorded; one that a disabled tracer would have started does not exist.
  if (!enters || !own.valid()) return;
  phase_ = Phase::kAttached;
  extra_ = new (std::nothrow) BlockExtra;
  if (extra_ == nullptr) {
    phase_ = Phase::kInert;
    return;
  }
  extra_->own = own;
  if (given && !starts && !parent.awaits_decision_) extra_->own = parent;
  if (!detached_) extra_->scope.emplace(extra_->own);
}

void Block::BeginRecorded(std::string_view name, const BlockOptions& options, RequestContext own,
                          BlockId parent, bool parent_remote, const std::string& owners,
                          bool starts) {
  internal::ThreadState& state = thread_state;
  const bool stays = !options.parent && !starts && state.settled && !detached_ &&
                     options.cause == BlockOptions::Cause::kParent;
  // An allocation that fails loses the block, not the host.
  extra_ = new (std::nothrow) BlockExtra;
  if (extra_ == nullptr) return;
  id_ = options.id != 0 ? options.id : client::NewBlockId();
  trace_hi_ = own.trace_.hi;
  trace_lo_ = own.trace_.lo;
  parent_ = parent;
  outer_hold_ = own.hold_ == Hold::kUntilDecision && starts ? Hold::kNone : own.hold_;
  if (options.delivery == BlockOptions::Delivery::kAtEnd && own.hold_ == Hold::kNone) {
    own.hold_ = Hold::kUntilEnd;
  }
  hold_ = own.hold_;
  own.block_ = id_;
  extra_->own = own;
  const uint64_t unit_before = state.unit;
  if (!detached_) {
    extra_->scope.emplace(std::move(own));
    state.unit = stays ? unit_before : 0;
  }
  phase_ = Phase::kRecording;
  if (core_->options().os_data == TracerOptions::OsData::kBlocks) extra_->os = OsSample::Now();

  if (core_->otlp()) {
    extra_->draft.parent_remote = parent_remote;
    extra_->draft.start_ns = options.start_ns ? *options.start_ns : client::ClockNs(CLOCK_REALTIME);
    extra_->draft.name = name;
    if (core_->options().thread_ids == TracerOptions::ThreadIds::kRecord) {
      extra_->draft.AppendLabel("thread.id", ThreadId());
    }
    if (!owners.empty()) extra_->draft.AppendLabel("owners", owners);
    if (!detached_) state.draft = &extra_->draft;
    unit_ = 0;
    owns_unit_ = false;
    if (!detached_) client::TellRecorder(state);
    return;
  }

  EventHead head{static_cast<uint8_t>(EventType::kBlockBegin),
                 !detached_,
                 hold_,
                 id_,
                 0,
                 TraceId{trace_hi_, trace_lo_},
                 options.start_ns.value_or(kNow)};
  owns_unit_ = detached_ || state.unit == 0;
  unit_ = owns_unit_ ? client::NewBlockId() : state.unit;
  if (owns_unit_) {
    const bool elsewhere = options.cause == BlockOptions::Cause::kElsewhere;
    EmitUnitBegin(*core_, head, unit_, elsewhere ? 0 : parent_);
    if (!detached_) state.unit = unit_;
  }
  if (starts) {
    EventHead start = head;
    start.type = static_cast<uint8_t>(EventType::kTraceStart);
    start.id1 = unit_;
    const Annotation annotations[] = {
        {AnnotationKind::kLabel, "detail",
         static_cast<int>(extra_->own.detail_ != 0 ? extra_->own.detail_ - 1
                                                   : static_cast<int>(Detail::kInternals))},
        {AnnotationKind::kSet, "owners", owners}};
    core_->Emit(start, annotations, owners.empty() ? 1 : 2);
  }
  head.id2 = unit_;
  BoundAnnotations annotations;
  annotations.Add({AnnotationKind::kName, {}, name});
  annotations.Add({AnnotationKind::kBlockKind, {}, static_cast<int>(kind_)});
  annotations.AddRegisteredCounters();
  core_->Emit(head, annotations.data(), annotations.count());
  if (!detached_) client::TellRecorder(state);  // told when attached, too: before the block began
  if (!detached_) core_->Publish();
}

RequestContext Block::PeekContext(bool& here) const {
  const auto is_here = [](const TraceId& trace) {
    return trace == TraceId{thread_state.trace_hi, thread_state.trace_lo};
  };
  if (phase_ != Phase::kInert && extra_ != nullptr) {
    here = !detached_ && is_here(extra_->own.trace_);
    return extra_->own;
  }
  here = true;
  RequestContext context = RequestContext::Peek();
  if (phase_ == Phase::kRecording && context.trace_ == TraceId{trace_hi_, trace_lo_})
    context.block_ = id_;
  return context;
}

RequestContext Block::context() const {
  bool here = false;
  RequestContext context = PeekContext(here);
  if (here) {  // with what has been packed meanwhile
    RequestContext now = RequestContext::Current();
    context.tuples_ = std::move(now.tuples_);
    context.line_ = now.line_;
  }
  return context;
}

void Block::AddLabel(std::string_view key, const LabelValue& value) {
  if (core_->otlp()) return extra_->draft.AppendLabel(key, value);
  const Annotation annotations[] = {{AnnotationKind::kLabel, key, value}};
  core_->Emit({static_cast<uint8_t>(EventType::kAnnotate), !detached_, hold_, id_, 0,
               TraceId{trace_hi_, trace_lo_}, kNow},
              annotations);
}

void Block::AddCounter(std::string_view name, const LabelValue& value, std::string_view unit) {
  if (core_->otlp()) return extra_->draft.AppendLabel(name, value);
  const Annotation annotations[] = {{AnnotationKind::kCounter, name, value, unit}};
  core_->Emit({static_cast<uint8_t>(EventType::kAnnotate), !detached_, hold_, id_, 0,
               TraceId{trace_hi_, trace_lo_}, kNow},
              annotations);
}

void Block::AddPoint(std::string_view name, std::initializer_list<wherefore::Label> labels) {
  if (core_->otlp()) return extra_->draft.AppendPoint(name, labels);
  BoundAnnotations annotations;
  annotations.Add({AnnotationKind::kName, {}, name});
  for (const wherefore::Label& label : labels) {
    annotations.Add({AnnotationKind::kLabel, label.key, label.value});
  }
  core_->Emit({static_cast<uint8_t>(EventType::kPoint), !detached_, hold_, client::NewBlockId(),
               id_, TraceId{trace_hi_, trace_lo_}, kNow},
              annotations.data(), annotations.count());
}

void Block::AddLink(const RequestContext& to, std::initializer_list<wherefore::Label> labels) {
  if (!to.valid()) return;
  if (core_->otlp()) return extra_->draft.AppendLink(to, labels);
  AddLabel("link", to.Traceparent());
}

void Block::Fail(std::string_view message) {
  outcome_ = Outcome::kError;
  if (!recording()) return;
  if (extra_ == nullptr) extra_ = new (std::nothrow) BlockExtra;
  if (extra_ == nullptr) return;
  if (!extra_->own.valid()) extra_->own = context();
  try {
    extra_->error = message.substr(0, 1024);
  } catch (...) {
  }
}

void Block::Resolve(std::string_view traceresponse) {
  if (!recording() || hold_ != Hold::kUntilDecision || extra_ == nullptr || extra_->resolved)
    return;
  extra_->resolved = true;
  const auto answer = RequestContext::FromHeaders(traceresponse);
  const bool keep = answer && answer->trace() == TraceId{trace_hi_, trace_lo_} && answer->sampled();
  internal::ThreadState& state = thread_state;
  const bool here = state.trace_hi == trace_hi_ && state.trace_lo == trace_lo_;
  core_->Emit({keep ? client::kDecidedKeep : client::kDecidedDrop, false, Hold::kNone, 0, 0,
               TraceId{trace_hi_, trace_lo_}, kNow});
  if (keep) {
    extra_->own.flags_ |= RequestContext::kSampledFlag;
    extra_->own.hold_ = hold_ = Hold::kNone;
    if (here) {
      state.flags |= RequestContext::kSampledFlag;
      state.hold = Hold::kNone;
    }
  } else {
    extra_->own.hold_ = Hold::kNone;  // it travels on, unsampled, and asks nobody any more
    if (here) {
      state.recording = 0;
      state.hold = Hold::kNone;
    }
  }
}

void Block::End() {
  if (phase_ == Phase::kRecording) {
    EndRecorded(std::nullopt);
  } else if (phase_ == Phase::kAttached) {
    Leave();
  }
}

void Block::EndAt(int64_t unix_ns) {
  if (phase_ == Phase::kRecording) {
    EndRecorded(unix_ns);
  } else if (phase_ == Phase::kAttached) {
    Leave();
  }
}

void Block::EndRecorded(std::optional<int64_t> unix_ns) {
  if (core_->otlp()) {
    client::SpanDraft& draft = extra_->draft;
    const int64_t end_ns = unix_ns ? *unix_ns : client::ClockNs(CLOCK_REALTIME);
    if (extra_->os) {
      const OsSample delta = OsSample::Now().Since(*extra_->os);
      draft.AppendLabel("cpu_time", delta.cpu_ns);
      draft.AppendLabel("waits", delta.waits);
      draft.AppendLabel("preemptions", delta.preemptions);
    }
    try {
      client::EncodeBlockEnd(
          {extra_->own, parent_, draft.parent_remote, draft.name, static_cast<uint32_t>(kind_),
           draft.start_ns, std::max(draft.start_ns, end_ns), static_cast<uint32_t>(outcome_),
           extra_->error, draft.left_out_labels, draft.left_out_points, draft.left_out_links},
          draft.body);
      core_->exporter().Push(std::move(draft.body));
    } catch (...) {
      core_->exporter().CountDropped();
    }
    return Leave();
  }
  EventHead head{static_cast<uint8_t>(EventType::kBlockEnd),
                 !detached_,
                 hold_,
                 id_,
                 unit_,
                 TraceId{trace_hi_, trace_lo_},
                 unix_ns.value_or(kNow)};
  if (extra_ == nullptr && outcome_ == Outcome::kUnset && client::Counters().empty()) {
    core_->Emit(head);
  } else {
    BoundAnnotations annotations;
    if (outcome_ != Outcome::kUnset) {
      annotations.Add({AnnotationKind::kStatus,
                       extra_ != nullptr ? std::string_view(extra_->error) : std::string_view(),
                       static_cast<int>(outcome_)});
    }
    if (extra_ != nullptr && extra_->os) annotations.AddOsData(OsSample::Now().Since(*extra_->os));
    annotations.AddRegisteredCounters();
    core_->Emit(head, annotations.data(), annotations.count());
  }
  if (owns_unit_) {
    head.type = static_cast<uint8_t>(EventType::kUnitEnd);
    head.id1 = unit_;
    head.id2 = 0;
    core_->Emit(head);
  }
  const auto tell = [&](uint8_t control) {
    core_->Emit({control, false, Hold::kNone, 0, 0, TraceId{trace_hi_, trace_lo_}, kNow});
  };
  if (hold_ == Hold::kUntilDecision && outer_hold_ != hold_ && !extra_->resolved) {
    tell(client::kDecidedDrop);  // no answer came
  }
  if (hold_ == Hold::kUntilEnd && outer_hold_ != hold_) tell(client::kReleased);
  Leave();
  if (!detached_) core_->Publish();
}

// Back to what the thread worked on before.
void Block::Leave() {
  const bool fast = extra_ == nullptr || !extra_->scope;
  if (phase_ == Phase::kRecording && fast && !detached_) {
    internal::ThreadState& state = thread_state;
    state.block = parent_;
    client::TellRecorder(state);
    if (owns_unit_) state.unit = 0;
  }
  phase_ = Phase::kInert;
  delete extra_;
  extra_ = nullptr;
}

}  // namespace wherefore
