// One `Received:` header → sending host, receiving host and time (RFC 5321 §4.4, RFC 5322 §3.3 and what is
// sent in practice).
//
// Thread safety: functions of their arguments only.
#pragma once

#include <string>
#include <string_view>

#include "base/nanos.h"

namespace wf::mail {

struct ReceivedHop {
  std::string from, by;  // host names in lower case
  Nanos time_ns = 0;
};

enum class ReceivedFault {
  kNone,
  kNoHosts,      // `from` or `by` is missing: a local submission, or garbage
  kGenericHost,  // "localhost" and the like, which would join paths that have nothing in common (Aguilera et al. §7.1.3)
  kNoTime,       // no date, or an unreadable one
};

// `value` is the header's value, unfolded or not.
ReceivedFault ParseReceived(std::string_view value, ReceivedHop& hop);

// "Tue, 15 Nov 2026 10:58:10 +0100 (CET)" and older forms; without a zone it is UTC.
bool ParseMailDate(std::string_view text, Nanos& time_ns);

}  // namespace wf::mail
