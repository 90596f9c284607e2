// The buffer of one recording thread: a ring of bytes with one writer (the thread, or a signal handler on it while it
// is not writing) and one reader (the drain). No lock, no allocation, no waiting: what does not fit is dropped and
// counted by the writer.
//
// Records lie contiguously, aligned to eight; one that would cross the end is preceded by padding.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "client/events/event_record.h"
#include "wherefore/thread_state.h"

namespace wherefore::client {

class EventRing {
 public:
  // `bytes` is rounded up to a power of two. calloc: pages that are never written are never used. Not usable when
  // there is no memory.
  EventRing(const void* owner, size_t bytes, int64_t thread_id)
      : owner_(owner), thread_id_(thread_id) {
    while (capacity_ < bytes) capacity_ *= 2;
    data_.reset(static_cast<char*>(std::calloc(1, capacity_)));
  }
  bool usable() const { return data_ != nullptr; }
  const void* owner() const { return owner_; }
  int64_t thread_id() const { return thread_id_; }

  // Writer. Room for `size` bytes, a multiple of 8, or nullptr.
  char* Reserve(size_t size) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    const size_t offset = head & (capacity_ - 1);
    const size_t to_end = capacity_ - offset;
    const size_t needed = size <= to_end ? size : to_end + size;
    if (head + needed - known_tail_ > capacity_) {
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (head + needed - known_tail_ > capacity_) return nullptr;
    }
    if (size <= to_end) {
      pending_ = head + size;
      return data_.get() + offset;
    }
    // Of 8 bytes at least: size and type.
    auto* padding = reinterpret_cast<RecordHead*>(data_.get() + offset);
    padding->size = static_cast<uint32_t>(to_end);
    padding->type = kPadding;
    pending_ = head + needed;
    return data_.get();
  }
  void Commit() { head_.store(pending_, std::memory_order_release); }
  // More than half is waiting, as far as the writer knows: worth waking the drain for, once until it came.
  bool WantsDrain() {
    if (pending_ - known_tail_ < capacity_ / 2) return false;
    known_tail_ = tail_.load(std::memory_order_acquire);
    return pending_ - known_tail_ >= capacity_ / 2 &&
           !drain_asked_.exchange(true, std::memory_order_relaxed);
  }
  void CountRecorded() { Bump(recorded_); }
  void CountDropped() { Bump(dropped_); }
  void CountTruncated() { Bump(truncated_); }
  void Abandon() { abandoned_.store(true, std::memory_order_release); }  // the thread is gone

  // Writer: what the thread works on, for the sampler of counters. A sequence lock: see Published.
  void Publish(const internal::ThreadState& state) {
    const uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    // Each a release: none may be seen before the odd version. (A fence would do too, but not for TSan.)
    trace_hi_.store(state.trace_hi, std::memory_order_release);
    trace_lo_.store(state.trace_lo, std::memory_order_release);
    block_.store(state.unit != 0 ? state.block : 0, std::memory_order_release);
    recording_.store(state.recording, std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  // Reader.
  struct Work {
    uint64_t trace_hi, trace_lo, block;
    uint8_t recording;
  };
  // False when the thread does nothing that is recorded, or is changing what it does just now.
  bool Published(Work& work) const {
    const uint32_t before = version_.load(std::memory_order_acquire);
    work = {trace_hi_.load(std::memory_order_acquire), trace_lo_.load(std::memory_order_acquire),
            block_.load(std::memory_order_acquire), recording_.load(std::memory_order_acquire)};
    return (before & 1) == 0 && version_.load(std::memory_order_relaxed) == before &&
           work.block != 0;
  }
  uint64_t End() const { return head_.load(std::memory_order_acquire); }
  void BeginDrain() { drain_asked_.store(false, std::memory_order_relaxed); }
  // The next record before `end` (of an End() call), or nullptr. Padding is skipped.
  const RecordHead* Front(uint64_t end) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    while (tail != end) {
      const auto* record =
          reinterpret_cast<const RecordHead*>(data_.get() + (tail & (capacity_ - 1)));
      if (record->type != kPadding) return record;
      tail += record->size;
      tail_.store(tail, std::memory_order_release);
    }
    return nullptr;
  }
  void Pop(const RecordHead* record) {
    tail_.store(tail_.load(std::memory_order_relaxed) + record->size, std::memory_order_release);
  }
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

  uint64_t recorded() const { return recorded_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  uint64_t truncated() const { return truncated_.load(std::memory_order_relaxed); }

 private:
  // One writer: no read-modify-write is needed.
  static void Bump(std::atomic<uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };

  const void* const owner_;
  const int64_t thread_id_;
  size_t capacity_ = 4096;
  std::unique_ptr<char, Free> data_;

  // Writer's line.
  alignas(64) std::atomic<uint64_t> head_{0};
  uint64_t pending_ = 0;
  uint64_t known_tail_ = 0;
  std::atomic<uint64_t> recorded_{0}, dropped_{0}, truncated_{0};
  std::atomic<bool> abandoned_{false};
  alignas(64) std::atomic<uint32_t> version_{0};
  std::atomic<uint8_t> recording_{0};
  std::atomic<uint64_t> trace_hi_{0}, trace_lo_{0}, block_{0};
  // Reader's line.
  alignas(64) std::atomic<uint64_t> tail_{0};
  std::atomic<bool> drain_asked_{false};
};

}  // namespace wherefore::client
