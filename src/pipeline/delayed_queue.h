// DelayedQueue: traces that could not be processed in time, kept where they survive kill -9 (Canopy §4.2,
// figure 7 ⑦), until a delayed extractor has processed them from the store. What Sync wrote is there after
// reopening. Items that were not popped come again, which is harmless because processing a trace twice
// replaces its rows. One machine keeps it on disk (delayed_log.h), tailers of a cluster on the bus
// (delayed_notes.h).
//
// Item, little-endian: reason:u8 tenant:varint+bytes owner:varint+bytes trace:16 queued:8.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "base/result.h"
#include "model/packed.h"
#include "pipeline/delay_reason.h"
#include "pipeline/progress_ledger.h"

namespace wf::pipeline {

struct DelayedTrace {
  std::string tenant;
  TraceId id;
  std::string owner;  // owner of the datasets; empty: all owners
  DelayReason reason = DelayReason::kEventsGone;
  Nanos queued_ns = 0;  // wall clock
};

void PutDelayedTrace(const DelayedTrace& trace, std::string& out);

// Reads items one after another; false at the end, or where the bytes are invalid (bad).
class DelayedTraceReader : public PackedReader {
 public:
  using PackedReader::PackedReader;
  bool Next(DelayedTrace& out);
};

class DelayedQueue {
 public:
  virtual ~DelayedQueue() = default;

  // Kept in memory until Sync; the hold is released when the item is durable.
  virtual void Push(DelayedTrace trace, ProgressLedger::Hold hold) = 0;
  // Moves the item to the end of the queue without counting it again.
  virtual void PushAgain(DelayedTrace trace) = 0;
  virtual Status Sync() = 0;

  // The oldest durable items, at most `limit`.
  virtual Result<std::vector<DelayedTrace>> Peek(size_t limit) = 0;
  // Removes the first `count` of them, which are done.
  virtual Status Pop(size_t count) = 0;

  virtual size_t size() const = 0;
  virtual size_t unsynced() const = 0;     // items not yet durable
  virtual DelayCounts pushed() const = 0;  // since opening
  virtual Nanos oldest_ns() const = 0;     // when the first item of Peek was queued; 0: none
};

}  // namespace wf::pipeline
