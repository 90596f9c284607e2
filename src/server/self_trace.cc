#include "server/self_trace.h"

#include <unistd.h>

#include <algorithm>

#include "base/hash.h"
#include "log/log.h"
#include "model/packed.h"

namespace wf::server {
namespace {

constexpr uint64_t kOwnPrefix = 0x77687966;  // "whyf"
constexpr Nanos kSendPeriod = kSecond;

void PutText(EventBatch& batch, std::string_view key, std::string_view value) {
  PutVarint(batch.strings.Intern(key), batch.bytes);
  PutString(value, batch.bytes);
}

}  // namespace

OwnWork::OwnWork(SelfTrace& owner, std::string_view name, SpanKind kind)
    : owner_(owner), began_wall_(Now()), began_(MonotonicNow()) {
  const auto id = [&] {  // never 0, which means none
    return HashBytes(std::to_string(owner_.random_.fetch_add(1, std::memory_order_relaxed))) | 1;
  };
  trace_ = {kOwnPrefix << 32 | (id() & 0xffffffff), id()};
  spans_.push_back({std::string(name), kind, id(), 0, began_, 0, false, {}, {}});
}

OwnWork::~OwnWork() {
  const Nanos now = MonotonicNow();
  EndStep(now);
  spans_.front().end = now;
  for (Span& span : spans_) {
    span.start += began_wall_ - began_;
    span.end += began_wall_ - began_;
  }
  owner_.Take(trace_, std::move(spans_));
}

void OwnWork::EndStep(Nanos now) {
  if (spans_.size() > 1 && spans_.back().end == 0) spans_.back().end = now;
}

void OwnWork::Step(std::string_view name) {
  const Nanos now = MonotonicNow();
  EndStep(now);
  const uint64_t id =
      HashBytes(std::to_string(owner_.random_.fetch_add(1, std::memory_order_relaxed))) | 1;
  spans_.push_back(
      {std::string(name), SpanKind::kInternal, id, spans_.front().id, now, 0, false, {}, {}});
}

void OwnWork::Note(std::string_view key, std::string value) {
  spans_.front().notes.emplace_back(std::string(key), std::move(value));
}

void OwnWork::Fail(std::string why) {
  spans_.front().failed = true;
  spans_.front().why = std::move(why);
}

SelfTrace::SelfTrace(Options options, EventSink sink, pipeline::Counters& counters)
    : options_(std::move(options)),
      sink_(std::move(sink)),
      counters_(counters),
      random_(HashBytes(options_.instance + std::to_string(Now()) + std::to_string(::getpid()))) {
  if (options_.probability > 0) thread_ = std::thread([this] { Run(); });
}

SelfTrace::~SelfTrace() { Stop(); }

void SelfTrace::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool SelfTrace::IsOwn(TraceId id) { return id.hi >> 32 == kOwnPrefix; }
bool SelfTrace::IsOwn(std::string_view hex) { return hex.substr(0, 8) == "77687966"; }

OwnWorkPtr SelfTrace::Begin(std::string_view name, SpanKind kind) {
  if (options_.probability <= 0) return nullptr;
  const uint64_t draw =
      HashBytes("draw" + std::to_string(random_.fetch_add(1, std::memory_order_relaxed)));
  if (static_cast<double>(draw >> 11) * 0x1p-53 >= options_.probability) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    const Nanos second = MonotonicNow() / kSecond;
    if (second != second_) begun_ = 0;
    second_ = second;
    if (stopping_ || ++begun_ > options_.most_per_second) {
      counters_.Add("self_trace_not_begun", 1);
      return nullptr;
    }
  }
  return OwnWorkPtr(new OwnWork(*this, name, kind));
}

void SelfTrace::Take(TraceId trace, std::vector<OwnWork::Span> spans) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || waiting_.size() + spans.size() > options_.most_waiting) {
    counters_.Add("self_trace_dropped", static_cast<int64_t>(spans.size()));
    return;
  }
  for (OwnWork::Span& span : spans) waiting_.emplace_back(trace, std::move(span));
}

void SelfTrace::Run() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    last = wake_.wait_for(lock, std::chrono::nanoseconds(kSendPeriod), [&] { return stopping_; });
    auto spans = std::exchange(waiting_, {});
    if (spans.empty()) continue;
    lock.unlock();
    Send(std::move(spans));
    lock.lock();
  }
}

void SelfTrace::Send(std::vector<std::pair<TraceId, OwnWork::Span>> spans) {
  EventBatch batch;
  batch.received_ns = Now();
  const uint32_t begin = batch.ArenaSize();
  PutText(batch, "service.instance.id", options_.instance);
  PutText(batch, "wherefore.role", options_.role);
  batch.processes.push_back({batch.strings.Intern("wherefore"), batch.strings.Intern(options_.host),
                             begin, batch.ArenaSize()});
  batch.scopes.push_back({});
  for (const auto& [trace, span] : spans) {
    batch.AddRow();
    batch.trace_hi.back() = trace.hi;
    batch.trace_lo.back() = trace.lo;
    batch.id1.back() = span.id;
    batch.id2.back() = span.parent;
    batch.start_ns.back() = span.start;
    batch.end_ns.back() = std::max(span.start, span.end);
    batch.marks.back() = kHasStart | kHasEnd;
    batch.parent_ref.back() = span.parent == 0 ? ParentRef::kNone : ParentRef::kChildOf;
    batch.kind.back() = span.kind;
    batch.status.back() = span.failed ? SpanStatus::kError : SpanStatus::kUnset;
    batch.name.back() = batch.strings.Intern(span.name);
    batch.status_message.back() = batch.strings.Intern(span.why);
    for (const auto& [key, value] : span.notes) PutText(batch, key, value);
    batch.EndAttributes();
  }
  const auto rows = static_cast<int64_t>(batch.size());
  sink_(std::move(batch), [this, rows](const Status& status) {
    counters_.Add(status.ok() ? "self_trace_spans" : "self_trace_lost", rows);
  });
}

Status TracedRowSink::Write(const std::string& tenant, const std::string& dataset,
                            const DatasetTable& rows, const std::vector<TraceId>& replaced,
                            store::TimeRange time) {
  bool own = std::all_of(replaced.begin(), replaced.end(),
                         [](const TraceId& id) { return SelfTrace::IsOwn(id); });
  if (!rows.columns.empty())
    for (const std::string& id : rows.columns[0].texts) own = own && SelfTrace::IsOwn(id);
  const OwnWorkPtr work = own ? nullptr : trace_.Begin("tailer: write rows", SpanKind::kInternal);
  Status status = rows_.Write(tenant, dataset, rows, replaced, time);
  if (work != nullptr) {
    work->Note("dataset", dataset);
    work->Note("rows", std::to_string(rows.rows()));
    work->Note("traces_replaced", std::to_string(replaced.size()));
    if (!status.ok()) work->Fail(status.error().message);
  }
  return status;
}

}  // namespace wf::server
