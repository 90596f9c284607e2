// Call: a request and its return, paired from sightings; the input of nesting and linking.
//
// Times are by each node's own sighting where there is one, else by the other end's, after skew has been removed. At
// the callee a call is open from received_ns to replied_ns; as a child of something at the caller it lasts from sent_ns
// to returned_ns. A call without a return (`returned` is false) has replied_ns = returned_ns = the request's time.
#pragma once

#include <cstdint>
#include <vector>

#include "model/sighting.h"

namespace wf::paths {

struct Call {
  Place place;  // the first line that shows the request
  NodeId caller = 0, callee = 0;
  Nanos sent_ns = 0, returned_ns = 0;                       // at the caller
  Nanos received_ns = 0, replied_ns = 0;                    // at the callee
  uint64_t sent_thread = 0, received_thread = 0, conn = 0;  // evidence, where known; 0: unknown
  uint64_t path = 0;  // the true path; inference never reads it
  bool returned = true;
  // Which of the four times that end itself sighted (or the common clock gave). The others were copied from
  // the other end.
  bool own_sent = true, own_returned = true, own_received = true, own_replied = true;
};

constexpr uint32_t kNoParent = UINT32_MAX;

struct Candidate {
  uint32_t parent = kNoParent;  // index of a call
  double p = 0;
};

// What was inferred for one call: a call is identified by its index in the input vector, which is in line
// order (Place).
struct Assignment {
  uint32_t parent = kNoParent;    // kNoParent: no cause seen (a root)
  double p = 1;                   // among all candidates, "none" included
  std::vector<Candidate> others;  // by falling p; filled only on request
};

}  // namespace wf::paths
