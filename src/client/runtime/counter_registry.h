// Counters that the host has registered, read at the bounds of blocks and at an interval. A reader is a plain function,
// so that reading needs no lock; a counter can be taken away while others read, and is not read any more when that
// returns.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "wherefore/annotation.h"

namespace wherefore::client {

class CounterRegistry {
 public:
  static constexpr size_t kSlots = 16;
  using Read = int64_t (*)(void* argument);

  bool empty() const { return used_.load(std::memory_order_relaxed) == 0; }

  // The slot, or -1 when all are taken.
  int Add(std::string name, std::string unit, Read read, void* argument) {
    for (size_t i = 0; i < kSlots; ++i) {
      Slot& slot = slots_[i];
      State expected = State::kFree;
      if (!slot.state.compare_exchange_strong(expected, State::kChanging)) continue;
      slot.name = std::move(name);
      slot.unit = std::move(unit);
      slot.read = read;
      slot.argument = argument;
      slot.state.store(State::kActive);
      used_.fetch_add(1);
      return static_cast<int>(i);
    }
    return -1;
  }
  void Remove(int index) {
    Slot& slot = slots_[static_cast<size_t>(index)];
    slot.state.store(State::kChanging);
    while (slot.readers.load() != 0) std::this_thread::yield();
    slot.state.store(State::kFree);
    used_.fetch_sub(1);
  }
  // Calls `put(annotation)` for each; the annotation is valid during the call.
  template <typename Put>
  void Sample(Put put) {
    if (empty()) return;
    for (Slot& slot : slots_) {
      if (slot.state.load(std::memory_order_relaxed) != State::kActive) continue;
      slot.readers.fetch_add(1);
      // Sequentially consistent with Remove: either it sees us reading, or we see that it is going.
      if (slot.state.load() == State::kActive) {
        put(Annotation{AnnotationKind::kCounter, slot.name, slot.read(slot.argument), slot.unit});
      }
      slot.readers.fetch_sub(1);
    }
  }

 private:
  enum class State : uint8_t { kFree, kChanging, kActive };
  struct Slot {
    std::atomic<State> state{State::kFree};
    std::atomic<int> readers{0};
    std::string name, unit;
    Read read = nullptr;
    void* argument = nullptr;
  };
  std::array<Slot, kSlots> slots_;
  std::atomic<int> used_{0};
};

// Of the process: counters are registered whether or not a tracer runs.
CounterRegistry& Counters();

}  // namespace wherefore::client
