// Baggage as it travels, inside the process or out of it: immutable to its holders, of which there may be many on any
// thread (baggage_line.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "client/baggage/baggage_wire.h"
#include "client/baggage/interval_tree_clock.h"

namespace wherefore::client {

// Where a line's instances get their names: a stamp of the clock that began at `origin`.
struct BranchName {
  uint64_t origin = 0;  // 0: none yet
  Stamp stamp;
};

class BaggageSnapshot {
 public:
  // As received; decoded only when needed.
  static std::shared_ptr<const BaggageSnapshot> FromTexts(HeaderTexts texts);
  static std::shared_ptr<const BaggageSnapshot> FromBytes(std::string bytes);
  static std::shared_ptr<const BaggageSnapshot> Of(InstanceList instances, Overflow overflow);

  // The bytes to travel. The same object every time, so that fan-out encodes once.
  std::shared_ptr<const std::string> Bytes() const;
  // Our members, in `room` bytes and so many members; queries that do not fit are left out, marked and counted.
  HeaderTexts Header(size_t room, int members) const;

 private:
  friend class BaggageLine;
  enum class Form : uint8_t { kTexts, kBytes, kInstances };

  HeaderTexts Shrunk(size_t room, int members) const;

  Form form_ = Form::kInstances;
  HeaderTexts texts_;  // kTexts
  InstanceList instances_;
  Overflow overflow_;

  mutable std::mutex mutex_;  // guards the members below
  mutable std::shared_ptr<const std::string> bytes_;
  mutable BranchName unclaimed_;  // for the first that goes on from here
};

}  // namespace wherefore::client
