// Downlink: the last mile of one client. One transfer's slice is on the wire at a time; of the ready ones,
// the most urgent goes first, and of equally urgent ones the one announced first. The time is bytes over
// bandwidth: there is no loss and no slow start.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"

namespace wf::scenario {

enum class Urgency : uint8_t { kDocument, kResource };

class Downlink {
 public:
  explicit Downlink(int64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // Returns the transfer's index into Finished().
  size_t Add(Nanos ready, Urgency urgency, int64_t bytes);
  // When the last byte of each transfer was sent.
  std::vector<Nanos> Finished() const;

 private:
  struct Transfer {
    Nanos ready;
    Urgency urgency;
    int64_t bytes;
  };
  int64_t bytes_per_second_;
  std::vector<Transfer> transfers_;
};

}  // namespace wf::scenario
