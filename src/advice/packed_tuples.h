// What baggage holds for one slot of one query: tuples kept by the slot's rule. Merging is associative, commutative
// and idempotent per event for First/MostRecent; for bags the caller merges each instance once (union by instance id).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/program.h"

namespace wf::advice {

struct PackedTuple {
  Tuple columns;
  uint64_t weight = 1;
  std::vector<AggregateState> states;
};

// One kept event of First or MostRecent. For kAll there is a single one, with time 0 and no id.
struct PackedEvent {
  int64_t adjusted_time = 0;
  std::string id;  // breaks ties by bytes; live: 8 bytes
  std::vector<PackedTuple> tuples;
};

class PackedTuples {
 public:
  // kAll: adds tuples, equal columns become one.
  void Add(const Slot& slot, std::vector<PackedTuple> tuples);
  // kFirst, kMostRecent: one event at `time`; its adjusted time follows from what is here already.
  void AddEvent(const Slot& slot, int64_t time, std::string_view id,
                std::vector<PackedTuple> tuples);
  void Merge(const Slot& slot, const PackedTuples& other);

  const std::vector<PackedEvent>& events() const { return events_; }
  bool empty() const { return events_.empty(); }
  size_t tuple_count() const;

  void Encode(const Slot& slot, std::string& out) const;
  static bool Decode(const Slot& slot, std::string_view bytes, PackedTuples& out);

 private:
  std::vector<PackedEvent> events_;
};

}  // namespace wf::advice
