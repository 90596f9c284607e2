#include "client/events/event_collector.h"

#include <utility>

namespace wherefore::client {
namespace {

// A body of this size is worth a request of its own; a request stays well below what receivers accept.
constexpr size_t kBodyBytes = 256 << 10;
constexpr size_t kVerdicts = 65'536;

}  // namespace

EventCollector::EventCollector(const TracerOptions& options, const ProcessLabels& process,
                               int64_t pid, std::shared_ptr<BatchExporter> exporter,
                               CollectorCounts& counts)
    : options_(options), exporter_(std::move(exporter)), counts_(counts), encoder_(process, pid) {}

void EventCollector::BeginRound() {
  calibration_.AddAnchor();
  now_ns_ = ClockNs(CLOCK_MONOTONIC);
}

void EventCollector::Encode(const RecordHead& record, int64_t time_ns) {
  if (encoder_.count() == 0) body_since_ns_ = now_ns_;
  encoder_.Append(record, time_ns);
  if (encoder_.bytes() >= kBodyBytes) ShipBody();
}

void EventCollector::ShipBody() {
  const uint64_t count = encoder_.count();
  if (count != 0) exporter_->Push(encoder_.Take(), count);
}

void EventCollector::Take(const RecordHead& record) {
  const TraceKey key{record.trace_hi, record.trace_lo};
  switch (record.type) {
    case kDecidedKeep:
      return Decide(key, Verdict::kKeep);
    case kDecidedDrop:
      return Decide(key, Verdict::kDrop);
    case kReleased:
      return Release(unfinished_, key);
    default:
      break;
  }
  const int64_t time_ns = record.flags & kUnixTime ? record.time : calibration_.UnixNs(record.time);
  if (record.flags & kHeldForDecision) {
    const auto verdict = verdicts_.find(key);
    if (verdict == verdicts_.end()) return Keep(undecided_, record, time_ns);
    if (verdict->second == Verdict::kDrop) {
      counts_.discarded.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  } else if (record.flags & kHeldToEnd) {
    return Keep(unfinished_, record, time_ns);
  }
  Encode(record, time_ns);
}

void EventCollector::Keep(HeldTraces& traces, const RecordHead& record, int64_t time_ns) {
  if (held_bytes_ + record.size > options_.held_bytes) {
    counts_.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Held& held = traces[{record.trace_hi, record.trace_lo}];
  if (held.count == 0) held.since_ns = now_ns_;
  const size_t at = held.records.size();
  held.records.resize(at + record.size / 8);
  std::memcpy(&held.records[at], &record, record.size);
  auto* copy = reinterpret_cast<RecordHead*>(&held.records[at]);
  copy->time = time_ns;
  copy->flags |= kUnixTime;
  held_bytes_ += record.size;
  ++held.count;
}

void EventCollector::Release(HeldTraces& traces, const TraceKey& key) {
  const auto at = traces.find(key);
  if (at == traces.end()) return;
  const Held held = std::move(at->second);
  traces.erase(at);
  for (size_t word = 0; word < held.records.size();) {
    const auto* record = reinterpret_cast<const RecordHead*>(&held.records[word]);
    Encode(*record, record->time);
    word += record->size / 8;
  }
  held_bytes_ -= held.records.size() * 8;
}

void EventCollector::Discard(HeldTraces& traces, const TraceKey& key) {
  const auto at = traces.find(key);
  if (at == traces.end()) return;
  counts_.discarded.fetch_add(at->second.count, std::memory_order_relaxed);
  held_bytes_ -= at->second.records.size() * 8;
  traces.erase(at);
}

void EventCollector::Decide(const TraceKey& key, Verdict verdict) {
  if (verdict == Verdict::kKeep) {
    Release(undecided_, key);
  } else {
    Discard(undecided_, key);
  }
  if (verdicts_.emplace(key, verdict).second) verdict_order_.emplace_back(now_ns_, key);
  if (verdict_order_.size() > kVerdicts) {
    verdicts_.erase(verdict_order_.front().second);
    verdict_order_.pop_front();
  }
}

void EventCollector::Expire() {
  const int64_t oldest = now_ns_ - options_.held_for.count() * 1'000'000;
  std::vector<TraceKey> late;
  for (const auto& [key, held] : undecided_) {
    if (held.since_ns < oldest) late.push_back(key);
  }
  for (const TraceKey& key : late) Discard(undecided_, key);
  late.clear();
  for (const auto& [key, held] : unfinished_) {
    if (held.since_ns < oldest) late.push_back(key);
  }
  for (const TraceKey& key : late) Release(unfinished_, key);  // better in parts than not at all
  while (!verdict_order_.empty() && verdict_order_.front().first < oldest) {
    verdicts_.erase(verdict_order_.front().second);
    verdict_order_.pop_front();
  }
}

void EventCollector::EndRound(Ship ship) {
  Expire();
  if (ship == Ship::kAll ||
      now_ns_ - body_since_ns_ >= options_.flush_interval.count() * 1'000'000) {
    ShipBody();
  }
}

void EventCollector::Finish() {
  while (!unfinished_.empty()) Release(unfinished_, unfinished_.begin()->first);
  while (!undecided_.empty()) Discard(undecided_, undecided_.begin()->first);
  ShipBody();
}

}  // namespace wherefore::client
