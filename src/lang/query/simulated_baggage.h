// Baggage as it would travel along the edges of an execution. A branch packs into its own instance; where an execution
// splits, what was packed is frozen and shared by all branches, and where branches rejoin, instances are united by
// identity: each counts once, however many ways it came. When all branches that shared an instance have come together
// again, it melts into the active one (what interval tree clocks find out in libwherefore).
//
// Filter slots (First, MostRecent) need no instances: merging them is idempotent.
//
// Copies share everything: an execution of a hundred thousand events holds a few of each thing. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "advice/packed_tuples.h"
#include "advice/program.h"

namespace wf::query {

// What the tuples of one slot weigh, measured when asked for.
class HeldTuples {
 public:
  HeldTuples() = default;
  explicit HeldTuples(const advice::Slot& rule) : tuples_(rule) {}
  const advice::PackedTuples& tuples() const { return tuples_; }
  advice::PackedTuples& Change() {
    bytes_ = 0;
    return tuples_;
  }
  bool Contains(const advice::Value* columns) { return tuples_.Contains(columns); }
  size_t Bytes(const advice::Slot& rule);  // as payload of a slot

  uint64_t instance = 0;  // 0: the active one

 private:
  advice::PackedTuples tuples_;
  size_t bytes_ = 0;  // 0: not measured
};

class SimulatedBaggage {
 public:
  explicit SimulatedBaggage(const advice::Program& program) : program_(&program) {}

  bool empty() const { return slots_.empty(); }

  // More than one event comes next: what was packed so far belongs to all of them. `instance` names it, and is used
  // for nothing else.
  void Freeze(uint64_t instance);
  // The baggage of an event with several predecessors.
  static SimulatedBaggage Join(std::vector<SimulatedBaggage> branches);

  advice::PackedTuples Unpack(uint32_t slot) const;
  void Pack(uint32_t slot, int64_t time, std::string_view id, const advice::Rows& rows);

  size_t tuples() const;     // different ones: what unpacking all slots would give
  size_t rows() const;       // over all instances: at least that, and quickly known
  size_t instances() const;  // over all slots
  size_t Bytes();            // serialised; 0 if there is nothing to carry

 private:
  using Held = std::shared_ptr<HeldTuples>;
  struct SlotContent {
    std::shared_ptr<const std::vector<Held>> frozen;  // ascending by instance; null: none
    Held active;                                      // only this branch has it
    Held kept;                                        // of a filter slot; shared until it changes
  };
  const advice::Slot& rule(size_t slot) const { return program_->slots[slot]; }
  void JoinBag(size_t slot, std::vector<SimulatedBaggage>& branches);
  void JoinKept(size_t slot, std::vector<SimulatedBaggage>& branches);
  std::vector<HeldTuples*> Parts(size_t slot) const;
  size_t DifferentTuples(size_t slot) const;

  const advice::Program* program_;
  std::vector<SlotContent> slots_;  // empty as long as nothing was packed
};

// The bytes of a serialised baggage of one query (docs/concepts/baggage.md) whose instances hold `instance_bytes` in all.
size_t BaggageBytes(size_t instance_bytes);
inline constexpr size_t kInstanceIdBytes = 8;

}  // namespace wf::query
