// DelayedNotes: the delayed queue of a tailer that reads from a bus, kept on the bus as notes in the
// partition of each trace. The next reader of the partition continues with them, so a trace is never
// processed by two tailers.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "pipeline/delayed_queue.h"

namespace wf::pipeline {

class DelayedNotes : public DelayedQueue {
 public:
  explicit DelayedNotes(bus::BusNotes& notes)
      : notes_(notes) {}  // borrowed; it holds the partitions

  void Push(DelayedTrace trace, ProgressLedger::Hold hold) override;
  void PushAgain(DelayedTrace trace) override;
  Status Sync() override;
  Result<std::vector<DelayedTrace>> Peek(size_t limit) override;
  Status Pop(size_t count) override;
  size_t size() const override;
  size_t unsynced() const override;
  DelayCounts pushed() const override;
  Nanos oldest_ns() const override;

 private:
  struct Kept {
    DelayedTrace trace;
    bus::BusPosition at;
  };

  bus::BusNotes& notes_;
  std::mutex syncing_;  // one at a time; taken before mutex_
  mutable std::mutex mutex_;
  std::vector<DelayedTrace> unsynced_;
  std::vector<ProgressLedger::Hold> holds_;
  std::deque<Kept> head_;              // read but not popped
  std::map<int32_t, int64_t> popped_;  // not yet committed: the last of each partition
  DelayCounts pushed_;
};

}  // namespace wf::pipeline
