// Which hold of a lock a call belongs to. A lock that its thread already has (a recursive mutex) is held
// once, from the first acquisition to the last release. A lock released while waiting for a condition is a
// new hold afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace wf::recording {

class RecordedHolds {
 public:
  // The number of the new hold; empty if the thread already had the lock.
  std::optional<uint64_t> Acquire(uint32_t thread, uint32_t object) {
    Held& held = held_[Key(thread, object)];
    if (held.depth++ > 0) return std::nullopt;
    held.number = ++count_;
    return held.number;
  }
  // The number of the hold that ends; empty if it continues, or if its beginning is unknown.
  std::optional<uint64_t> Release(uint32_t thread, uint32_t object) {
    const auto at = held_.find(Key(thread, object));
    if (at == held_.end() || --at->second.depth > 0) return std::nullopt;
    const uint64_t number = at->second.number;
    held_.erase(at);
    return number;
  }

 private:
  struct Held {
    uint32_t depth = 0;
    uint64_t number = 0;
  };
  static uint64_t Key(uint32_t thread, uint32_t object) { return uint64_t{thread} << 32 | object; }

  std::unordered_map<uint64_t, Held> held_;
  uint64_t count_ = 0;
};

}  // namespace wf::recording
