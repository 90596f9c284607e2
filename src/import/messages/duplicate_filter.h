// DuplicateFilter: the same sighting from two files, because a message was sniffed at both ends of a link or
// on a mirror port, passes once.
//
// Same: kind, clock, sender, receiver and id. A request is a duplicate until its return has been seen, a
// return until the next request, a one-way message within the time window. Where both lines name one
// connection (captures do), a request is a duplicate within the window even after the return: the clocks of
// two sniffers may differ by more than the length of a call. With unknown ids only the time distinguishes two
// messages, so only exactly equal lines are duplicates. Repeated sightings in the same file pass: they are
// retransmissions, which pairing counts.
//
// Memory: ids that are open, and those of the last window. Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "model/sighting.h"

namespace wf::messages {

class DuplicateFilter {
 public:
  explicit DuplicateFilter(Nanos window) : window_(window), records_(kFirstRecords) {}

  // Sightings in order of time, `file` from 1. True: it was seen in another file.
  bool IsDuplicate(const Sighting& sighting, uint32_t file);

  uint64_t duplicates() const { return duplicates_; }

 private:
  static constexpr size_t kFirstRecords = 1024;  // a power of two

  // What files have shown for one id between two nodes. `file[kind][by]` is the first that showed it; 0: none
  // did.
  struct Record {
    uint64_t id = 0;
    NodeId from = 0, to = 0;  // caller and callee; of one-way messages sender and receiver
    uint32_t file[3][3] = {};
    Nanos last_ns = 0, asked_ns = 0;  // the last sighting; the request
    uint64_t conn = 0;                // of the request
    uint64_t askers = 0;              // files that showed the request, by bit of their number
    bool used = false;
  };
  Record& Find(uint64_t id, NodeId from, NodeId to);
  void Rebuild();
  bool Judge(Record& record, const Sighting& sighting, uint32_t file);

  Nanos window_, now_ = INT64_MIN;
  std::vector<Record> records_;  // open addressing, at most half full; old records go when it fills
  size_t used_ = 0;
  uint64_t duplicates_ = 0;
};

}  // namespace wf::messages
