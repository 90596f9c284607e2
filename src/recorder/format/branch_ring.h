// The memory through which a thread's stream of branches reaches the scribe: a ring that the thread fills and
// the scribe empties, both without a lock. It is shared, so the rest of a killed program's stream is still
// written. The writer is the recorded thread itself or its emulator. Plain C++17: see branches.h.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "recorder/format/branches.h"

namespace wf::recorder {

// The scribe reads everything at once, so that a piece of the stream ends with an operation; the piece must
// fit into a chunk of the file. The writer wakes the scribe at each quarter: at 300 MB/s, the max that a
// thread writes, every 200 µs.
constexpr uint64_t kBranchRingSize = uint64_t{256} << 10;
constexpr uint64_t kMostBranchBytes = kBranchRingSize - 4096;  // max bytes in the ring at one time

struct BranchRing {
  alignas(64) std::atomic<uint64_t> head;  // bytes ever written, whole operations only
  std::atomic<uint64_t> lost;              // operations that found no room
  alignas(64) std::atomic<uint64_t> tail;  // the scribe's: bytes ever read
};

// How to wake the scribe, and to see that it has ended.
struct ScribeBell {
  std::atomic<uint32_t>* kick;    // futex it sleeps on
  std::atomic<uint32_t>* sleeps;  // set while it sleeps
  std::atomic<uint32_t>* gone;    // not 0: nothing is written any more
};

// Like libc's syscall(), which a recorded program may have replaced, but leaves errno unchanged.
inline long SystemCall(long number, const volatile void* a, long b, long c) {
  long result = number;
  __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

// The writer's side; used by one thread at a time.
class BranchRingWriter {
 public:
  static constexpr size_t kLongestOperation = 8 * kMaxVarint;

  void Attach(BranchRing* ring, uint8_t* bytes, const ScribeBell& bell) {
    ring_ = ring;
    bytes_ = bytes;
    bell_ = bell;
    head_ = ring->head.load(std::memory_order_relaxed);
    room_end_ = 0;
  }
  bool attached() const { return ring_ != nullptr; }

  // `encode(out)` writes one operation, at most kLongestOperation bytes, and returns its end. False: no room,
  // and `encode` was not called.
  template <typename Encode>
  bool Put(Encode encode) {
    if (__builtin_expect(head_ + kLongestOperation > room_end_, 0) && !MakeRoom()) return false;
    const uint64_t at = head_ & (kBranchRingSize - 1);
    if (__builtin_expect(at + kLongestOperation <= kBranchRingSize, 1)) {
      uint8_t* const begin = bytes_ + at;
      head_ += static_cast<uint64_t>(encode(begin) - begin);
    } else {
      uint8_t operation[kLongestOperation];
      const auto size = static_cast<uint64_t>(encode(operation) - operation);
      for (uint64_t i = 0; i < size; ++i)
        bytes_[(head_ + i) & (kBranchRingSize - 1)] = operation[i];
      head_ += size;
    }
    ring_->head.store(head_, std::memory_order_release);
    return true;
  }
  // The same for any number of bytes. False: there was no room for some or all of them.
  bool PutBytes(const uint8_t* bytes, size_t size) {
    while (size != 0) {
      const size_t step = size < kLongestOperation ? size : kLongestOperation;
      const bool done = Put([&](uint8_t* out) {
        std::memcpy(out, bytes, step);
        return out + step;
      });
      if (!done) return false;
      bytes += step;
      size -= step;
    }
    return true;
  }
  void CountLost() { ring_->lost.fetch_add(1, std::memory_order_relaxed); }

 private:
  // Times 100 µs: after two seconds without room the scribe is considered stuck.
  static constexpr int kMaxWaits = 20'000;

  // Room is given out a quarter of the ring at a time, so that each quarter calls this and wakes the scribe.
  bool MakeRoom() {
    if (ring_ == nullptr) return false;
    Ring();
    for (int waits = 0;; ++waits) {
      const uint64_t end = ring_->tail.load(std::memory_order_acquire) + kMostBranchBytes;
      if (head_ + kLongestOperation <= end) {
        stuck_ = false;
        const uint64_t quarter = head_ + kBranchRingSize / 4;
        room_end_ = quarter < end ? quarter : end;
        return true;
      }
      if (stuck_ || waits == kMaxWaits || bell_.gone->load(std::memory_order_relaxed) != 0) {
        stuck_ = true;
        return false;
      }
      Ring();
      const timespec pause = {0, 100'000};
      SystemCall(SYS_nanosleep, &pause, 0, 0);
    }
  }
  void Ring() {
    bell_.kick->fetch_add(1, std::memory_order_seq_cst);
    if (bell_.sleeps->load(std::memory_order_seq_cst) != 0)
      SystemCall(SYS_futex, bell_.kick, FUTEX_WAKE, 1);
  }

  BranchRing* ring_ = nullptr;
  uint8_t* bytes_ = nullptr;
  ScribeBell bell_{};
  uint64_t head_ = 0;
  uint64_t room_end_ = 0;
  bool stuck_ = false;
};

// The scribe's side: copies the available bytes, and makes room. Returns how many, at most kMostBranchBytes;
// `position` becomes their offset in the stream.
inline size_t TakeBranches(BranchRing& ring, const uint8_t* bytes, uint8_t* out,
                           uint64_t& position) {
  const uint64_t tail = ring.tail.load(std::memory_order_relaxed);
  const uint64_t head = ring.head.load(std::memory_order_acquire);
  position = tail;
  const uint64_t size = head - tail;
  if (size > kMostBranchBytes) return 0;  // not written by a BranchRingWriter
  const uint64_t at = tail & (kBranchRingSize - 1);
  const uint64_t first = size < kBranchRingSize - at ? size : kBranchRingSize - at;
  std::memcpy(out, bytes + at, first);
  std::memcpy(out + first, bytes, size - first);
  ring.tail.store(tail + size, std::memory_order_release);
  return size;
}

}  // namespace wf::recorder
