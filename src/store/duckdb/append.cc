// Appending: the queue, and the log thread that makes whole groups of batches durable by one write and one sync.
#include <unistd.h>

#include <algorithm>

#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {
namespace {

constexpr size_t kGroupBytes = 4u << 20;  // of one write: larger groups only add latency

}  // namespace

void DuckdbStore::Append(EventBatch batch, Done done) {
  if (batch.empty()) return done({});
  const size_t bytes = batch.MemoryBytes();
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || (queue_bytes_ + bytes > options_.max_queue_bytes && !queue_.empty())) {
      Count("batches_refused", 1);
    } else {
      queue_bytes_ += bytes;
      queue_.push_back({std::move(batch), std::move(done), bytes});
      work_.notify_one();
      return;
    }
  }
  done(Overloaded("store: data arrives faster than it can be written", "send again later"));
}

void DuckdbStore::LogLoop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty() || seals_asked_ > seals_done_; });
    // Before the queue, which may never be empty under full load.
    if (seals_asked_ > seals_done_) {
      const uint64_t asked = seals_asked_;
      SealLocked(lock);
      seals_done_ = std::max(seals_done_, asked);
      idle_.notify_all();
      continue;
    }
    if (queue_.empty()) {
      if (stopping_) return;
      continue;
    }
    // On stopping everything queued is logged, even when the buffer is full and cannot be written.
    std::vector<Queued> group;
    size_t bytes = 0, rows = filling_->rows;
    while (!queue_.empty() && bytes < kGroupBytes &&
           (stopping_ ||
            (rows < options_.segment_rows && filling_->bytes + bytes < pending_bytes_limit_))) {
      bytes += queue_.front().bytes;
      rows += queue_.front().batch.size();
      group.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    queue_bytes_ -= bytes;
    lock.unlock();
    const Status status = LogGroup(group);
    BatchList durable;
    lock.lock();
    if (status.ok()) {
      if (filling_->rows == 0) filling_->since = MonotonicNow();
      for (Queued& queued : group) {
        filling_->rows += queued.batch.size();
        filling_->bytes += queued.bytes;
        durable.push_back(std::make_shared<const EventBatch>(std::move(queued.batch)));
        filling_->batches.push_back(durable.back());
      }
    } else {
      Count("log_write_errors", 1);
    }
    const bool full = IsFull(*filling_);
    lock.unlock();
    Announce(durable);
    for (Queued& queued : group) queued.done(status);
    group.clear();
    lock.lock();
    if (full) SealLocked(lock);
  }
}

Status DuckdbStore::LogGroup(std::vector<Queued>& group) {
  StageCpu cpu(*this, "log");
  if (log_ == nullptr) {
    // Used up even on failure: a file of that number may be left.
    const uint64_t number = next_log_++;
    WF_ASSIGN(log_, LogWriter::Create(Folder("wal"), number, options_.sync));
    std::lock_guard lock(mutex_);
    filling_->logs.push_back(log_->number());
  }
  // One receipt time for the group: it compresses to nothing.
  const Nanos now = Now();
  for (Queued& queued : group) {
    if (queued.batch.received_ns == 0) queued.batch.received_ns = now;
    log_->BeginRecord();
    SerializeBatch(queued.batch, log_->buffer());
    log_->EndRecord();
  }
  const Status status = log_->Commit();
  if (!status.ok())
    log_.reset();  // its end is unknown: go on in a new file, this one stays with the buffer
  return status;
}

// Hands the filling buffer to the flusher, after waiting until that is free. The next batch opens a new log file.
void DuckdbStore::SealLocked(std::unique_lock<std::mutex>& lock) {
  idle_.wait(lock, [&] { return writing_ == nullptr || stopping_; });
  if (writing_ != nullptr || filling_->rows == 0) return;
  log_.reset();
  writing_ = std::move(filling_);
  filling_ = std::make_shared<Pending>();
  sealed_.notify_one();
}

}  // namespace wf::store::duckdb
