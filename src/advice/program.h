// What a query becomes: one Advice per alias, a straight line of steps at the tracepoints of that alias (Pivot Tracing
// tables 1 and 2). The advice of the From alias emits; every other packs into its own slot of the query's baggage, and
// the advice of the alias it is joined to unpacks that slot.
//
// A tuple in flight is: its columns (observed variables first, then the columns of every unpacked slot, in the order
// of the steps), a weight (how many equal tuples of the bag it stands for) and carried aggregate states (one list per
// unpacked slot).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "advice/aggregate.h"
#include "advice/expression.h"

namespace wf::advice {

// The n-th unpack of an advice, its m-th state.
struct CarriedState {
  uint32_t unpack = 0, state = 0;
};

// Where an aggregate gets what it adds: an expression over the tuple, or a state that an unpacked slot carries (then
// it is merged with the weight of everything else in the tuple).
struct AggregateInput {
  // By itself, because clang has no default constructor for one nested here.
  using Carried = CarriedState;

  Aggregate aggregate;
  Expression argument;  // unless `carried`; COUNT of tuples: a constant true
  std::optional<Carried> carried;
};

// Rows of equal `columns` are one row: weights add up and states merge. All of a bag therefore means: no aggregates.
struct Grouping {
  std::vector<Expression> columns;
  std::vector<AggregateInput> aggregates;
};

enum class Keep : uint8_t {
  kAll,
  kFirst,  // the `limit` events with the least (adjusted time, id); all tuples of a kept event stay
  kMostRecent,  // ... the greatest
};

struct Observe {
  std::vector<std::string> variables;
};  // "host", "time", "procName", "procId", "tracepoint", exports
struct Filter {
  Expression condition;
};
struct RequireTuples {
};  // an event without tuples here is no event of the (sub-query) source: it is not packed
struct Unpack {
  uint32_t slot = 0;
  // An aggregated sub-query is finished where it is unpacked: its columns are these expressions over [packed columns…,
  // finished aggregates…], its weight is 1. Otherwise the columns are the packed ones.
  bool finish = false;
  std::vector<Expression> select;
};
struct Pack {
  uint32_t slot = 0;
  Keep keep = Keep::kAll;
  uint32_t limit = 0;  // of events, unless kAll
  Grouping grouping;
};
struct Emit {
  Grouping grouping;
  bool grouped = false;            // rows are groups; otherwise each tuple is a row, weight times
  std::vector<Expression> select;  // over [columns…, finished aggregates…]
};

struct Step : std::variant<Observe, Filter, RequireTuples, Unpack, Pack, Emit> {
  using variant::variant;
};

struct Advice {
  std::vector<std::string> tracepoints;  // each event once, however many of the names it bears
  std::vector<Step> steps;               // Observe first, Pack or Emit last
};

// How the tuples of a slot are kept in baggage; the interpreter and the merge of branches need it. Derived from the
// Pack steps.
struct Slot {
  Keep keep = Keep::kAll;
  uint32_t limit = 0;
  uint32_t columns = 0;
  std::vector<Aggregate> aggregates;
};

struct Program {
  uint64_t query = 0;  // random, never reused
  std::vector<Advice> advice;
  std::vector<Slot> slots;
  std::vector<std::string> result_columns;
  std::optional<double> sample;  // keeps whole requests whose id hashes below it
};

// The same in bytes, for agents and linked processes. Decoding accepts only programs that are valid throughout:
// columns and slots in range, sizes bounded.
inline constexpr size_t kMaxProgramBytes = 1 << 20;
std::string Encode(const Program& program);
bool Decode(std::string_view bytes, Program& out);
bool Valid(const Program& program);
// The slot that a Pack step fills.
Slot SlotOf(const Pack& pack);
// The step that emits, or null.
const Emit* EmitOf(const Program& program);

// FNV-1a 64 finished by MurmurHash3's 64-bit finaliser, over 2^64: whether `Sample p` keeps the request.
bool Sampled(std::string_view request_id, double p);

}  // namespace wf::advice
