// Sightings in time order → calls (docs/reference/messages.md, "Pairing").
//
// `_SENT` and `_RCVD` sightings of equal kind, sender, receiver and id are one message; a request and its
// return pair by (caller, callee, id), unknown or repeated ids pair with the earliest open call. A repeated
// sighting before the return is a retransmission (same input) or a duplicate (another input). A return from a
// third node with an open call's id closes that call, unless the callee answers itself, and also the calls of
// this id by which the callee passed the request on to that node. Known ids pair in any order of time,
// because clocks differ: a return may come before its call. Memory is bounded by the number of open calls,
// not by the length of the trace.
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
  uint64_t passed_on = 0;  // calls closed by a return that also closes another call
  uint64_t duplicates = 0, retransmissions = 0;
};

struct PairingOptions {
  // A call without a return after this time is given up (`returned` is false).
  Nanos give_up = 2 * kHour;
  // A returned call that lacks the sightings of one end waits this long for them, because clocks may differ.
  // It waits longer while there are no more such calls than `settle_calls`, so that a short trace is never
  // cut.
  Nanos settle = 10 * kSecond;
  size_t settle_calls = 100'000;
};

class CallPairing {
 public:
  // Called once per request, when its return came or was given up, so not in line order.
  using Sink = std::function<void(const Call&)>;

  CallPairing(const PairingOptions& options, Sink sink);
  ~CallPairing();

  void Add(const Sighting& sighting);
  void Finish();  // calls that are still open have no return
  const PairingCounts& counts() const;
  // Apart from late lines, no future call has a request sighted before this time: calls that cannot nest in
  // anything younger are settled.
  Nanos horizon() const;
  size_t waiting() const;  // calls and returns held at the moment

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::paths
