// The eBPF program for one kind of place: it observes, keeps values between a function's entry and its end,
// filters, and adds to a group in the kernel or sends the event to user space.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "advice/program.h"
#include "bpf/assembler.h"
#include "bpf/bpf_object.h"
#include "weaver/event_record.h"
#include "weaver/expression_code.h"
#include "weaver/group_shape.h"
#include "weaver/hand_over_code.h"
#include "weaver/probe_site.h"
#include "weaver/woven_maps.h"

namespace wf::weaver {

// Calls that were entered and have not ended. Key: CallKey; value: a record from RecordHeader::entered on.
struct CallKey {
  uint64_t thread = 0, frame = 0;
};
enum class CallExceptions : uint8_t { kTold, kNotTold };
struct CallMaps {
  bpf::BpfMap calls;
  // thread → frame of its innermost call; present only if exceptions are to be reported.
  std::optional<bpf::BpfMap> innermost;

  static Result<CallMaps> Create(const RecordLayout& layout, CallExceptions exceptions);
};

// Groups of one Emit at one kind of place. Programs add to one of the two maps while user space reads the other.
struct GroupMaps {
  GroupShape shape;
  bpf::BpfMap maps[2];
  bpf::BpfMap zeros;  // a new value

  static Result<GroupMaps> Create(const GroupShape& shape, uint32_t groups);
};

// The part of an advice that the kernel runs at places of this layout.
struct KernelPlan {
  std::vector<size_t> filters;  // steps that it can run; user space repeats them for sent events
  std::optional<GroupShape> groups;  // unless every tuple is sent
};
// Null columns stand for values not observed in `layout`. `advice` is the only one at its tracepoints.
KernelPlan PlanKernel(const advice::Advice& advice, const RecordLayout& layout,
                      std::string_view tracepoint);

struct ProgramSpec {
  const WovenMaps* maps = nullptr;
  const RecordLayout* layout = nullptr;
  std::string_view tracepoint;
  uint32_t place = 0;
  SiteKind kind = SiteKind::kEntry;
  bool happens = true;
  const Recipe* frame = nullptr;
  const std::vector<ValueRead>* values = nullptr;
  const CallMaps* calls = nullptr;         // null: entry and end are not matched
  const advice::Advice* advice = nullptr;  // null: user space does everything
  const KernelPlan* plan = nullptr;
  const GroupMaps* groups = nullptr;
  std::optional<uint32_t> filter;  // of processes
  bool names = false;  // process names are needed: WovenMaps::names keeps those that are seen
  const bpf::BpfMap* involved = nullptr;  // RequestMaps::involved, if requests are followed
  const LinkedMaps* linked = nullptr;     // the receivers of packed events, if they pack
  WhenFull when_full = WhenFull::kLost;
  uint64_t pid_namespace_device = 0, pid_namespace_inode = 0;  // 0: the machine's own
};

std::vector<bpf_insn> EventProgram(const ProgramSpec& spec);

}  // namespace wf::weaver
