// DelayedLog: the delayed queue of one machine, on its disk, in the order of arrival.
//
//   FOLDER/NNNNNNNN.wal  a log (store/log_format.h); each record is a group of items
//   FOLDER/position      "NUMBER ITEMS\n": items popped from the oldest log
//
// Items as in delayed_queue.h. Only the oldest log is in memory, however long the queue is.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/delayed_queue.h"
#include "store/log_writer.h"

namespace wf::pipeline {

class DelayedLog : public DelayedQueue {
 public:
  // Creates the folder if missing.
  static Result<std::unique_ptr<DelayedLog>> Open(std::string folder);

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
  explicit DelayedLog(std::string folder) : folder_(std::move(folder)) {}
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
  std::deque<Log> logs_;  // oldest first; the last may still be in writing
  std::unique_ptr<store::LogWriter> writer_;
  uint64_t next_number_ = 1;
  std::vector<DelayedTrace> head_;  // items of the oldest log
  uint64_t head_number_ = 0;        // 0: not loaded
  size_t popped_ = 0;               // of the oldest log
  size_t on_disk_ = 0;
  DelayCounts pushed_;
};

}  // namespace wf::pipeline
