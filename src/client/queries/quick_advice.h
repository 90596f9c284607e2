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
#include "client/queries/hit_event.h"
#include "client/queries/live_query.h"

namespace wherefore::client {

class QuickAdvice {
 public:
  // Of `query`, which must outlive it, at a tracepoint of this name and these fields. Perhaps it is not ready() then.
  // `process`, if it is known, is the one whose hits it will run.
  QuickAdvice(const LiveQuery& query, const internal::Tracepoint& tracepoint,
              const ProcessIdentity* process = nullptr);
  bool ready() const { return ready_; }
  // False, and nothing has happened: the interpreter has to run it. `line` may be null; `made` is for a moment.
  [[gnu::hot]] bool Run(const HitEvent& event, BaggageLine* line, QueryInterval& interval,
                        wf::advice::MadeTexts& made) const;
  // Whether it looks into baggage at all, and whether it needs some to pack into.
  bool looks() const { return looks_; }
  bool packs() const { return ending_ != Ending::kEmit; }

 private:
  static constexpr size_t kMostVariables = 4, kMostSteps = 4, kMostColumns = 6, kMostSums = 3;

  // Most expressions only name a column.
  struct Column {
    uint8_t column = 0;
    bool computed = false;  // then: a number in `expressions_`
  };
  struct Sum {
    wf::advice::AggregateKind kind = wf::advice::AggregateKind::kCount;
    bool counts = false;  // every tuple
    Column argument;
  };
  struct Step {
    const wf::advice::Slot* rule = nullptr;  // unpack; null: filter
    uint32_t number = 0;                     // of the slot, or of the condition in `expressions_`
    // The commonest filter: whether two columns are equal, or that they are not.
    enum class Test : uint8_t { kOther, kEqual, kNotEqual };
    Test test = Test::kOther;
    uint8_t left = 0, right = 0;
  };
  struct Variable {
    const char* name = nullptr;
    uint16_t size = 0;
    DefaultVariable is = DefaultVariable::kNone;
    uint8_t field = 0;  // where it stands, if it is none of these
  };
  enum class Ending : uint8_t { kPack, kKeep, kEmit };
  struct Flight;

  bool ColumnOf(const wf::advice::Expression& expression, Column& column);
  bool Add(const LiveQuery& query, const wf::advice::Step& step);
  void MakeConstant(const HitEvent& event);
  void AddFilter(const wf::advice::Expression& condition);
  bool AddEnding(const wf::advice::Grouping& grouping);
  [[gnu::hot]] bool Observe(const HitEvent& event, Flight& flight) const;
  [[gnu::hot]] bool Unpack(const Step& step, const BaggageLine::Found& found, Flight& flight) const;
  bool Multiply(const wf::advice::Cell* rows, const uint64_t* weights, size_t count, size_t width,
                Flight& flight) const;
  [[gnu::hot]] bool Pack(const HitEvent& event, BaggageLine& line, const BaggageLine::Found& found,
                         QueryInterval& interval, Flight& flight) const;
  [[gnu::hot]] void Emit(QueryInterval& interval, Flight& flight) const;
  [[gnu::hot]] bool Passes(const Step& step, Flight& flight, size_t tuple) const;
  [[gnu::hot]] wf::advice::Cell At(const Column& column, Flight& flight, size_t tuple) const;

  // A hit touches the first line, and of the others what it needs. What it needs of the query is copied.
  alignas(64) bool ready_ = false;
  bool looks_ = false;
  Ending ending_ = Ending::kEmit;
  uint8_t variable_count_ = 0, step_count_ = 0, column_count_ = 0, sum_count_ = 0;
  uint8_t expression_count_ = 0;
  uint32_t slot_ = 0;  // to pack into
  uint32_t slots_ = 0;
  uint64_t query_ = 0;
  PackLimits limits_;
  std::shared_ptr<const TupleLog> constant_;  // what every hit packs, if it is always the same
  Column columns_[kMostColumns];
  Sum sums_[kMostSums];
  const wf::advice::Slot* pack_rule_ = nullptr;
  Step steps_[kMostSteps];
  Variable variables_[kMostVariables];
  const wf::advice::Expression* expressions_[kMostSteps + kMostColumns + kMostSums] = {};
};

// What stands behind a tracepoint while it is woven.
struct WovenAdvice {
  WovenAdvice() = default;
  explicit WovenAdvice(std::shared_ptr<const ProcessIdentity> of) : process(std::move(of)) {}

  std::vector<std::shared_ptr<const LiveQuery>> queries;
  std::vector<QuickAdvice> quick;  // of each of them; of what is no tracepoint, none
  std::shared_ptr<const ProcessIdentity> process;

  void Add(std::shared_ptr<const LiveQuery> query, const internal::Tracepoint& tracepoint) {
    quick.emplace_back(*query, tracepoint, process.get());
    queries.push_back(std::move(query));
  }
};

}  // namespace wherefore::client
