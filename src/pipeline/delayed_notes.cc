#include "pipeline/delayed_notes.h"

#include <algorithm>
#include <iterator>

#include "bus/pieces.h"
#include "log/log.h"

namespace wf::pipeline {
namespace {

constexpr Nanos kPutPatience = 10 * kSecond;

}  // namespace

void DelayedNotes::Push(DelayedTrace trace, ProgressLedger::Hold hold) {
  const std::lock_guard lock(mutex_);
  ++pushed_[trace.reason];
  unsynced_.push_back(std::move(trace));
  if (hold != nullptr && (holds_.empty() || holds_.back() != hold))
    holds_.push_back(std::move(hold));
}

void DelayedNotes::PushAgain(DelayedTrace trace) {
  const std::lock_guard lock(mutex_);
  unsynced_.push_back(std::move(trace));
}

Status DelayedNotes::Sync() {
  const std::lock_guard one_at_a_time(syncing_);
  std::vector<DelayedTrace> traces;
  std::vector<ProgressLedger::Hold> holds;  // let go at the end, when the notes are kept
  {
    const std::lock_guard lock(mutex_);
    traces.swap(unsynced_);
    holds.swap(holds_);
  }
  if (traces.empty()) return {};
  std::vector<bus::BusNote> notes;
  notes.reserve(traces.size());
  for (const DelayedTrace& trace : traces) {
    notes.push_back({{bus::PartitionOf(trace.id, notes_.partitions()), 0}, {}});
    PutDelayedTrace(trace, notes.back().text);
  }
  const Status status = notes_.Put(notes, kPutPatience);
  if (status.ok()) return {};
  const std::lock_guard lock(mutex_);
  std::move(unsynced_.begin(), unsynced_.end(), std::back_inserter(traces));
  std::move(holds_.begin(), holds_.end(), std::back_inserter(holds));
  unsynced_.swap(traces);
  holds_.swap(holds);
  return status;
}

Result<std::vector<DelayedTrace>> DelayedNotes::Peek(size_t limit) {
  size_t missing;
  {
    const std::lock_guard lock(mutex_);
    missing = limit - std::min(limit, head_.size());
  }
  std::vector<bus::BusNote> notes;
  if (missing > 0) {
    WF_ASSIGN(notes, notes_.Read(missing));
  }
  const std::lock_guard lock(mutex_);
  for (const bus::BusNote& note : notes) {
    DelayedTraceReader reader(note.text);
    DelayedTrace trace;
    if (!reader.Next(trace)) {  // passed over with the next commit of its partition
      log::Error("partition {}, offset {}: malformed note of a delayed trace; skipped",
                 note.at.partition, note.at.offset);
      continue;
    }
    head_.push_back({std::move(trace), note.at});
  }
  std::vector<DelayedTrace> out;
  for (size_t i = 0; i < std::min(limit, head_.size()); ++i) out.push_back(head_[i].trace);
  return out;
}

Status DelayedNotes::Pop(size_t count) {
  std::vector<bus::BusPosition> done;
  {
    const std::lock_guard lock(mutex_);
    for (; count > 0 && !head_.empty(); --count) {
      popped_[head_.front().at.partition] = head_.front().at.offset;
      head_.pop_front();
    }
    for (const auto& [partition, offset] : popped_) done.push_back({partition, offset});
  }
  if (done.empty()) return {};
  // Done is done: what cannot be committed now is with the next, and after a crash comes again.
  const Status status = notes_.Commit(done);
  if (!status.ok()) {
    if (log::LogOnce("delayed notes: " + status.error().message))
      log::Warn("delayed traces: {}", status.error().message);
    return {};
  }
  const std::lock_guard lock(mutex_);
  for (const bus::BusPosition& at : done)
    if (popped_[at.partition] == at.offset) popped_.erase(at.partition);
  return {};
}

size_t DelayedNotes::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::max<int64_t>(notes_.waiting(), 0)) + unsynced_.size();
}

size_t DelayedNotes::unsynced() const {
  const std::lock_guard lock(mutex_);
  return unsynced_.size();
}

DelayCounts DelayedNotes::pushed() const {
  const std::lock_guard lock(mutex_);
  return pushed_;
}

Nanos DelayedNotes::oldest_ns() const {
  const std::lock_guard lock(mutex_);
  if (!head_.empty()) return head_.front().trace.queued_ns;
  return unsynced_.empty() ? 0 : unsynced_.front().queued_ns;
}

}  // namespace wf::pipeline
