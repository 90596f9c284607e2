// Baggage as it would travel along the edges of an execution. A branch packs into its own instance; where an
// execution splits, what was packed is frozen and shared by all branches; where branches rejoin, instances
// are united by identity, so each counts once, however many branches carried it. When all branches that
// shared an instance have joined again, it is merged into the active one (libwherefore detects this with
// interval tree clocks).
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

// The size of the tuples of one slot, measured on request.
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

  // More than one event follows: what was packed so far belongs to all of them. `instance` is its unique
  // name.
  void Freeze(uint64_t instance);
  // The baggage of an event with several predecessors.
  static SimulatedBaggage Join(std::vector<SimulatedBaggage> branches);

  advice::PackedTuples Unpack(uint32_t slot) const;
  void Pack(uint32_t slot, int64_t time, std::string_view id, const advice::Rows& rows);

  size_t tuples() const;     // distinct tuples: what unpacking all slots would give
  size_t rows() const;       // over all instances: an upper bound of that, and cheap
  size_t instances() const;  // over all slots
  size_t Bytes();            // serialised; 0 if there is nothing to carry

 private:
  using Held = std::shared_ptr<HeldTuples>;
  struct SlotContent {
    std::shared_ptr<const std::vector<Held>> frozen;  // ascending by instance; null: none
    Held active;                                      // owned by this branch only
    Held kept;                                        // for a filter slot; shared until it changes
  };
  const advice::Slot& rule(size_t slot) const { return program_->slots[slot]; }
  void JoinBag(size_t slot, std::vector<SimulatedBaggage>& branches);
  void JoinKept(size_t slot, std::vector<SimulatedBaggage>& branches);
  std::vector<HeldTuples*> Parts(size_t slot) const;
  size_t DifferentTuples(size_t slot) const;

  const advice::Program* program_;
  std::vector<SlotContent> slots_;  // empty until something is packed
};

// The bytes of a serialised baggage of one query (docs/concepts/baggage.md) whose instances have
// `instance_bytes` bytes in all.
size_t BaggageBytes(size_t instance_bytes);
inline constexpr size_t kInstanceIdBytes = 8;

}  // namespace wf::query
