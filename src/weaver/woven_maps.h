// The maps that the programs of one woven query share with user space.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "bpf/bpf_object.h"

namespace wf::weaver {

enum class Counter : uint32_t {
  kFiltered,
  kLost,
  kSingly,
  kInexact,
  kCutStrings,
  kUnread,
  kUnpaired,
  kAmbiguous,
  kUnfollowed,
  kCount,
};

// One value, written by user space and read by programs.
struct Control {
  uint64_t active = 0;        // which of each pair of group maps programs add to
  uint64_t clock_offset = 0;  // Unix ns - monotonic ns
};

// Key of the verdict on a process: whether the places with this filter want its events.
struct VerdictKey {
  uint32_t process = 0, filter = 0;
};
constexpr uint32_t kWanted = 1, kUnwanted = 2;

constexpr uint32_t kThreadNameBytes = 16;

struct WovenMaps {
  bpf::BpfMap counters, control, ring, verdicts;
  // Process → name of its first seen thread; for processes that have ended when we look.
  bpf::BpfMap names;

  static Result<WovenMaps> Create(uint32_t ring_bytes);
};

}  // namespace wf::weaver
