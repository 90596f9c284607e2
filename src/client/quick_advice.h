// The advice that most hits run, made ready when a tracepoint is woven: one query's straight line at one tracepoint, in
// a few cache lines, run by little code over cells on the stack.
//
// Where requests pass, the caches hold what the host does, not what we do: a hit costs what it touches, far more than
// what it computes. So variables are found by their place instead of by their name, a query's slots by one look at the
// baggage, tuples go from their cells into the bytes that travel, and nothing is allocated.
//
// It does a part of what the interpreter (advice/interpreter.h) does, in the same way: an observation with at most one
// list, unpacked tuples without aggregates, filters, and at the end a bag, the one event of First or MostRecent, or
// groups. At whatever does not fit in it gives up before anything has happened, and the interpreter runs the same hit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "advice/program.h"
#include "client/hit_event.h"
#include "client/live_query.h"

namespace wherefore::client {

class QuickAdvice {
 public:
  // Of `query`, which must outlive it, at a tracepoint of this name and these fields. Perhaps it is not ready() then.
  QuickAdvice(const LiveQuery& query, const internal::Tracepoint& tracepoint);
  bool ready() const { return ready_; }
  // False, and nothing has happened: the interpreter has to run it. `line` may be null; `made` is for a moment.
  bool Run(const LiveQuery& query, const HitEvent& event, BaggageLine* line,
           QueryInterval& interval, wf::advice::MadeTexts& made) const;
  // Whether it looks into baggage at all, and whether it needs some to pack into.
  bool looks() const { return looks_; }
  bool packs() const { return ending_ != Ending::kEmit; }

 private:
  static constexpr size_t kMostVariables = 6, kMostSteps = 6, kMostColumns = 6, kMostAggregates = 4;

  struct Variable {
    DefaultVariable is = DefaultVariable::kNone;
    uint8_t field = 0;  // where it stands, if it is none of these
    uint16_t size = 0;
    const char* name = nullptr;
  };
  struct Step {
    uint32_t slot = 0;
    const wf::advice::Slot* rule = nullptr;  // unpack, or:
    const wf::advice::Expression* condition = nullptr;
  };
  // Most expressions only name a column.
  struct Column {
    int32_t column = -1;
    const wf::advice::Expression* expression = nullptr;
  };
  struct Sum {
    bool counts = false;  // every tuple
    wf::advice::AggregateKind kind = wf::advice::AggregateKind::kCount;
    Column argument;
  };
  enum class Ending : uint8_t { kPack, kKeep, kEmit };
  struct Flight;

  static Column ColumnOf(const wf::advice::Expression& expression);
  bool Add(const LiveQuery& query, const wf::advice::Step& step);
  bool Observe(const HitEvent& event, Flight& flight) const;
  bool Unpack(const Step& step, const BaggageLine::Found& found, Flight& flight) const;
  bool Pack(const LiveQuery& query, const HitEvent& event, BaggageLine& line,
            const BaggageLine::Found& found, QueryInterval& interval, Flight& flight) const;
  void Emit(QueryInterval& interval, Flight& flight) const;

  bool ready_ = false;
  bool looks_ = false;
  Ending ending_ = Ending::kEmit;
  uint8_t variable_count_ = 0, step_count_ = 0, column_count_ = 0, sum_count_ = 0;
  uint32_t slot_ = 0;  // to pack into
  Variable variables_[kMostVariables];
  Step steps_[kMostSteps];
  Column columns_[kMostColumns];
  Sum sums_[kMostAggregates];
};

// What stands behind a tracepoint while it is woven.
struct WovenAdvice {
  std::vector<std::shared_ptr<const LiveQuery>> queries;
  std::vector<QuickAdvice> quick;  // of each of them; of what is no tracepoint, none
  std::shared_ptr<const ProcessIdentity> process;

  void Add(std::shared_ptr<const LiveQuery> query, const internal::Tracepoint& tracepoint) {
    quick.emplace_back(*query, tracepoint);
    queries.push_back(std::move(query));
  }
};

}  // namespace wherefore::client
