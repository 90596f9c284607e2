#include "scenario/downlink.h"

#include <algorithm>

namespace wf::scenario {
namespace {

// What is sent before the sender looks again whether something more urgent is ready: a few full packets.
constexpr int64_t kSliceBytes = 6'000;

}  // namespace

size_t Downlink::Add(Nanos ready, Urgency urgency, int64_t bytes) {
  transfers_.push_back({ready, urgency, bytes});
  return transfers_.size() - 1;
}

std::vector<Nanos> Downlink::Finished() const {
  std::vector<Nanos> finished;
  std::vector<int64_t> left;
  size_t open = 0;
  for (const Transfer& transfer : transfers_) {
    finished.push_back(transfer.ready);  // of nothing at all
    left.push_back(transfer.bytes);
    if (transfer.bytes > 0) ++open;
  }
  Nanos now = 0;
  while (open > 0) {
    size_t next = transfers_.size();
    Nanos earliest = INT64_MAX;
    for (size_t i = 0; i < transfers_.size(); ++i) {
      if (left[i] == 0) continue;
      earliest = std::min(earliest, transfers_[i].ready);
      if (transfers_[i].ready > now) continue;
      if (next == transfers_.size() || transfers_[i].urgency < transfers_[next].urgency) next = i;
    }
    if (next == transfers_.size()) {
      now = earliest;
      continue;
    }
    const int64_t slice = std::min(left[next], kSliceBytes);
    now += slice * kSecond / bytes_per_second_;
    left[next] -= slice;
    if (left[next] > 0) continue;
    finished[next] = now;
    --open;
  }
  return finished;
}

}  // namespace wf::scenario
