// Runs a query's advice at one event.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "advice/cell.h"
#include "advice/packed_tuples.h"
#include "advice/program.h"
#include "advice/rows.h"

namespace wf::advice {

// What happened at a tracepoint. `variable` answers defaults ("time", "host", …) and exports alike; null if missing;
// a List gives one tuple per element if the advice observes it.
class Event {
 public:
  virtual ~Event() = default;
  virtual Value Variable(std::string_view name) const = 0;
  // The same without a copy: appends the value, or a list's elements. Text must stay until the advice has run.
  enum class Observed : uint8_t { kNo, kOne, kList };  // kNo: ask Variable
  virtual Observed Observe(std::string_view /*name*/, std::vector<Cell>& /*into*/) const {
    return Observed::kNo;
  }
  virtual int64_t time_ns() const = 0;
  virtual std::string_view id() const = 0;
};

// The request's baggage as one query's advice sees it.
class Baggage {
 public:
  virtual ~Baggage() = default;
  // Everything packed in `slot` by events that happened before this one, all branches merged.
  virtual PackedTuples Unpack(const Program& program, uint32_t slot) = 0;
  // The same into memory that is there already.
  virtual void UnpackInto(const Program& program, uint32_t slot, PackedTuples& into) {
    into = Unpack(program, slot);
  }
  // The same without a copy, which must stay until the advice has run; false, whatever was written: ask the other.
  virtual bool Borrow(const Program& /*program*/, uint32_t /*slot*/, BorrowedRows& /*into*/) {
    return false;
  }
  // Adds to the active instance of this branch. For kFirst and kMostRecent `rows` are the tuples of one event, perhaps
  // none: PackedTuples::AdjustedTime of everything that happened before, then AddEventAt; otherwise PackedTuples::Add.
  virtual void Pack(const Program& program, uint32_t slot, int64_t time, std::string_view id,
                    Rows rows) = 0;
  // The same; what is left of `rows` is the caller's again.
  virtual void PackRows(const Program& program, uint32_t slot, int64_t time, std::string_view id,
                        Rows& rows) {
    Pack(program, slot, time, id, std::move(rows));
  }
};

class Results;

class Emitter {
 public:
  virtual ~Emitter() = default;
  // Where tuples that need not be held back are folded at once; null: nowhere, give all to EmitTuples.
  virtual Results* Folds() { return nullptr; }
  // `rows` have the columns and the states of Emit's grouping; Results folds them.
  virtual void EmitTuples(const Program& program, Rows rows) = 0;
  // The same; what is left of `rows` is the caller's again.
  virtual void EmitRows(const Program& program, Rows& rows) {
    EmitTuples(program, std::move(rows));
  }
};

// Runs every advice of `program` that names `tracepoint`. All unpack before any packs, so an event never joins itself.
// Past `max_tuples` tuples in flight it stops and returns false (the event is counted as overflowed): nothing is packed
// and nothing emitted then.
inline constexpr size_t kMaxTuplesPerEvent = 100'000;
// Where the host's process is our own.
inline constexpr size_t kUnlimitedTuples = static_cast<size_t>(-1);
bool RunAdvice(const Program& program, std::string_view tracepoint, const Event& event,
               Baggage& baggage, Emitter& emitter, size_t max_tuples = kMaxTuplesPerEvent);

// The memory advice runs in, kept from one event to the next: where a host's requests pass, most events should allocate
// nothing. One thread at a time.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

 private:
  friend bool RunAdvice(const Program&, std::string_view, const Event&, Baggage&, Emitter&,
                        Workspace&, size_t);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};
bool RunAdvice(const Program& program, std::string_view tracepoint, const Event& event,
               Baggage& baggage, Emitter& emitter, Workspace& workspace,
               size_t max_tuples = kMaxTuplesPerEvent);

// What an Unpack step makes of a slot: its rows, or, of an aggregated sub-query, its groups finished.
Rows UnpackedRows(const Program& program, const Unpack& unpack, PackedTuples packed);

}  // namespace wf::advice
