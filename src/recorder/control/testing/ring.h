// A ring for branches and what the scribe would make of it, for tests.
#pragma once

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "recorder/format/branch_ring.h"

namespace wf::recorder {

struct TestRing {
  BranchRing ring{};
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kBranchRingSize);
  std::atomic<uint32_t> kick{0}, sleeps{0}, gone{0};
  ScribeBell bell{&kick, &sleeps, &gone};

  std::vector<std::string> taken;  // payloads so far

  // Makes a payload of what is in the ring.
  void Drain(BranchSource source) {
    std::vector<uint8_t> piece(kMostBranchBytes);
    BranchesHead head{source, {}, 0};
    const size_t size = TakeBranches(ring, bytes.data(), piece.data(), head.position);
    if (size == 0) return;
    std::string payload(reinterpret_cast<const char*>(&head), sizeof head);
    payload.append(reinterpret_cast<const char*>(piece.data()), size);
    taken.push_back(std::move(payload));
  }
  const std::vector<std::string>& Payloads(BranchSource source) {
    Drain(source);
    return taken;
  }
};

}  // namespace wf::recorder
