// The eBPF programs that see requests go from thread to thread through sockets: at the beginning and the end
// of every system call that sends or receives, and where threads end. They know only which threads may be in
// a request and which streams may carry one. User space (RequestTracker) interprets what they send, which is
// in the order in which it happened: a send is reported before its first byte can be received.
//
// Byte positions. TCP has them: the sequence number of the next byte to be sent or read. Unix sockets do not, so bytes
// are counted from the first followed send on, which must find nothing unread.
#pragma once

#include <linux/bpf.h>

#include <vector>

#include "base/result.h"
#include "bpf/bpf_object.h"
#include "bpf/raw_tracepoint.h"
#include "weaver/event_record.h"
#include "weaver/hand_over_code.h"
#include "weaver/woven_maps.h"

namespace wf::weaver {

struct RequestMaps {
  bpf::BpfMap involved;  // thread → any value: it may be in a request
  bpf::BpfMap streams;   // StreamKey → bytes sent and received; counted for Unix only
  bpf::BpfMap sending;   // thread → the send it is in

  static Result<RequestMaps> Create();
};

// Loads and attaches them; destroying the result detaches them. `linked`: the threads that have a place
// there, which ends with the thread; or null.
Result<std::vector<bpf::RawTracepoint>> FollowRequests(const WovenMaps& maps,
                                                       const RequestMaps& requests,
                                                       const LinkedMaps* linked);

}  // namespace wf::weaver
