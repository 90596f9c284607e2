// DelayedQueue: traces that could not be processed in time, kept on disk in the order they came (Canopy §4.2, figure 7
// ⑦), until a delayed extractor has processed them from the store. Survives kill -9: what Sync wrote is there again
// after opening, and what was not yet popped comes again, which is harmless because processing a trace twice replaces
// its rows.
//
//   FOLDER/NNNNNNNN.wal  a log (store/log_format.h); each record is a group of items
//   FOLDER/position      "NUMBER ITEMS\n": items popped from the oldest log
//
// Item, little-endian: reason:u8 tenant:varint+bytes owner:varint+bytes trace:16 queued:8. Only the oldest log is in
// memory, however long the queue is. Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "base/result.h"
#include "pipeline/delay_reason.h"
#include "pipeline/progress_ledger.h"
#include "store/log_writer.h"

namespace wf {

struct DelayedTrace {
  std::string tenant;
  TraceId id;
  std::string owner;  // whose datasets; empty: everyone's
  DelayReason reason = DelayReason::kEventsGone;
  Nanos queued_ns = 0;  // wall clock
};

class DelayedQueue {
 public:
  // Makes the folder when missing.
  static Result<std::unique_ptr<DelayedQueue>> Open(std::string folder);

  // In memory until Sync; the holds are let go when it is on disk.
  void Push(DelayedTrace trace, ProgressLedger::Hold hold);
  // Not now: to the end of the queue, without counting it again.
  void PushAgain(DelayedTrace trace);
  Status Sync();

  // The oldest items that are on disk, at most `limit`.
  Result<std::vector<DelayedTrace>> Peek(size_t limit);
  // The first `count` of them are done.
  Status Pop(size_t count);

  size_t size() const;
  size_t unsynced() const;     // of these, not yet on disk
  DelayCounts pushed() const;  // since opening
  Nanos oldest_ns() const;     // when the item was queued that Peek gave first; 0: none

 private:
  explicit DelayedQueue(std::string folder) : folder_(std::move(folder)) {}
  Result<std::vector<DelayedTrace>> ReadItems(uint64_t number) const;
  Status WritePosition();
  Status LoadHead();  // mutex_ held

  const std::string folder_;
  mutable std::mutex mutex_;
  std::vector<DelayedTrace> unsynced_;
  std::vector<ProgressLedger::Hold> holds_;
  struct Log {
    uint64_t number;
    size_t items;  // not popped
  };
  std::deque<Log> logs_;  // oldest first; the last may be being written
  std::unique_ptr<LogWriter> writer_;
  uint64_t next_number_ = 1;
  std::vector<DelayedTrace> head_;  // items of the oldest log
  uint64_t head_number_ = 0;        // 0: not loaded
  size_t popped_ = 0;               // of the oldest log
  size_t on_disk_ = 0;
  DelayCounts pushed_;
};

}  // namespace wf
