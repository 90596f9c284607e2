// Times in coarser units → nanoseconds, and the marks that say which were given.
#pragma once

#include <optional>

#include "import/decode/decode_report.h"
#include "model/event_batch.h"

namespace wf::decode {

// value · factor, clamped to the 64-bit range (counted).
inline Nanos ScaleTime(int64_t value, int64_t factor, DecodeReport& report) {
  Nanos out;
  if (__builtin_mul_overflow(value, factor, &out)) {
    report.Repair("time_clamped");
    return value < 0 ? INT64_MIN : INT64_MAX;
  }
  return out;
}

// Start and end of the last row. A missing time stays 0 and has no mark; 0 with a mark is a time.
inline void SetTimes(EventBatch& batch, std::optional<Nanos> start, std::optional<Nanos> end) {
  batch.start_ns.back() = start.value_or(0);
  batch.end_ns.back() = end.value_or(0);
  batch.marks.back() =
      static_cast<uint8_t>(batch.marks.back() | (start ? kHasStart : 0) | (end ? kHasEnd : 0));
}

}  // namespace wf::decode
