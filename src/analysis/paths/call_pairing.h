// Sightings in time order → calls (docs/reference/messages.md, "Pairing").
//
// `_SENT` and `_RCVD` sightings of equal kind, sender, receiver and id are one message; a request and its return pair by
// (caller, callee, id), ids that are unknown or repeat by the earliest open call. The same sighting again before the
// return is a retransmission (same input) or a duplicate (another input). A return from a third node with an open
// call's id closes that call, unless the callee answers itself, and with it the calls of this id by which the callee
// passed the request on to that node. Known ids pair whatever the order of time is, for clocks
// differ: a return may come before its call. Memory is bounded by what is open, not by the length of the trace.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "analysis/paths/call.h"

namespace wf::paths {

struct PairingCounts {
  uint64_t messages = 0;  // sightings of one message counted once
  uint64_t calls = 0;     // requests, paired or not
  uint64_t msgs = 0;      // of kind MSG: ignored here
  uint64_t unpaired_calls = 0, unpaired_returns = 0;
  uint64_t passed_on = 0;  // calls closed by a return that is another call's, too
  uint64_t duplicates = 0, retransmissions = 0;
};

struct PairingOptions {
  // A call whose return has not come for so long is given up (`returned` is false).
  Nanos give_up = 2 * kHour;
  // A call that has returned, but lacks the sightings of one end, waits for them so long: clocks may differ. It waits
  // longer while there are no more of its kind than `settle_calls`, so that a short trace is never cut.
  Nanos settle = 10 * kSecond;
  size_t settle_calls = 100'000;
};

class CallPairing {
 public:
  // Called once per request, when its return has come or was given up: not in line order.
  using Sink = std::function<void(const Call&)>;

  CallPairing(const PairingOptions& options, Sink sink);
  ~CallPairing();

  void Add(const Sighting& sighting);
  void Finish();  // what is still open has no return
  const PairingCounts& counts() const;
  // No call that is still to come has a request sighted before it, late lines aside: what nests in nothing younger than
  // that is settled.
  Nanos horizon() const;
  size_t waiting() const;  // calls and returns kept at the moment

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::paths
