// Sniffer: models a sniffer with a limited rate and a limited queue (Aguilera et al. §7.5.5): messages that
// come while the queue is full are lost, which is how real losses come in bursts.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"

namespace wf::messages {

class Sniffer {
 public:
  Sniffer(double per_second, uint64_t queue)
      : per_ns_(per_second / 1e9), room_(static_cast<double>(queue)) {}

  // Messages in order of time. False: lost. One message is being processed while `queue` others wait.
  bool Takes(Nanos time_ns) {
    if (any_ && time_ns > last_) {
      backlog_ = std::max(0.0, backlog_ - static_cast<double>(time_ns - last_) * per_ns_);
    }
    if (!any_ || time_ns > last_) last_ = time_ns;
    any_ = true;
    if (backlog_ > room_) return false;
    backlog_ += 1;
    return true;
  }

 private:
  double per_ns_, room_;
  double backlog_ = 0;  // waiting messages, including the remaining part of the current one
  Nanos last_ = 0;
  bool any_ = false;
};

}  // namespace wf::messages
