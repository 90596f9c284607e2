// Why a trace is in the delayed queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wf::pipeline {

// A trace is delayed for Canopy's two reasons (§4.2): its events are gone from the cache, or its owner's
// isolation queue is full. The same queue holds jobs: traces that were not delayed but must be processed
// again. Each reason is counted separately. The numbers are stored in files; 2 meant a trace that began
// before its tailer, which is a case of kEventsGone.
enum class DelayReason : uint8_t {
  kEventsGone = 0,   // the cache lacks some of them when the trace is due
  kQueueFull = 1,    // the owner's isolation queue was full
  kRecovered = 3,    // job: was in progress when the previous process ended
  kWriteFailed = 4,  // job: its rows could not be written
  kPassedOver = 5,   // job: may have events in batches that did not fit into the inbox
};

struct ReasonFacts {
  DelayReason reason;
  std::string_view name;
  enum class Kind : uint8_t { kDelayed, kJob } kind;
};
constexpr std::array<ReasonFacts, 5> kDelayReasons = {
    {{DelayReason::kEventsGone, "events_gone", ReasonFacts::Kind::kDelayed},
     {DelayReason::kQueueFull, "queue_full", ReasonFacts::Kind::kDelayed},
     {DelayReason::kRecovered, "recovered", ReasonFacts::Kind::kJob},
     {DelayReason::kWriteFailed, "write_failed", ReasonFacts::Kind::kJob},
     {DelayReason::kPassedOver, "passed_over", ReasonFacts::Kind::kJob}}};

// How many traces came into the queue, by reason.
class DelayCounts {
 public:
  int64_t& operator[](DelayReason reason) { return by_reason_[static_cast<size_t>(reason)]; }
  int64_t operator[](DelayReason reason) const { return by_reason_[static_cast<size_t>(reason)]; }
  int64_t delayed() const {
    return (*this)[DelayReason::kEventsGone] + (*this)[DelayReason::kQueueFull];
  }

 private:
  std::array<int64_t, 6> by_reason_{};
};

// The reason stored in a file. An unknown number was written by a later version and is treated as a job.
constexpr DelayReason DelayReasonOf(uint8_t stored) {
  if (stored == 2) return DelayReason::kEventsGone;
  return stored <= 5 ? static_cast<DelayReason>(stored) : DelayReason::kRecovered;
}

}  // namespace wf::pipeline
