// Runs advice over an execution with ideal baggage: an event sees exactly what events that happened before it packed.
// No instances, no bytes; what is wrong here is wrong in the program or its interpreter. And random executions.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "advice/interpreter.h"
#include "advice/results.h"
#include "lang/query/compile.h"
#include "lang/query/execution.h"

namespace wf::query::lab {

class IdealRun : private advice::Baggage, private advice::Emitter {
 public:
  IdealRun(const advice::Program& program, const Execution& execution)
      : program_(program), execution_(execution), results_(program) {
    const size_t count = execution.events.size();
    before_.assign(count, std::vector<bool>(count, false));
    for (const uint32_t event : execution.order) {
      for (const uint32_t direct : execution.events[event].after) {
        before_[event][direct] = true;
        for (size_t i = 0; i < count; ++i)
          if (before_[direct][i]) before_[event][i] = true;
      }
      if (program.sample &&
          !advice::Sampled(execution.request_ids[execution.request[event]], *program.sample))
        continue;
      now_ = event;
      const LabEvent seen(execution.events[event]);
      complete_ =
          advice::RunAdvice(program, execution.events[event].tracepoint, seen, *this, *this) &&
          complete_;
      size_t tuples = 0;
      for (uint32_t slot = 0; slot < program.slots.size(); ++slot) {
        const size_t of_slot = Visible(slot, event, true).tuple_count();
        slot_max_[slot] = std::max(slot_max_[slot], of_slot);
        tuples += of_slot;
      }
      tuples_max_ = std::max(tuples_max_, tuples);
    }
  }

  std::vector<advice::Tuple> Rows() const { return results_.Rows(); }
  size_t tuples_max() const { return tuples_max_; }  // the most that was in baggage after any event
  size_t tuples_max(uint32_t slot) const { return slot_max_.at(slot); }
  size_t arriving_max() const {
    return arriving_max_;
  }  // … that an event which emitted found there
  bool complete() const { return complete_; }

 private:
  struct LabEvent : advice::Event {
    explicit LabEvent(const query::Event& event) : event(event) {}
    advice::Value Variable(std::string_view name) const override { return event.Variable(name); }
    int64_t time_ns() const override { return event.time_ns; }
    std::string_view id() const override { return event.id; }
    const query::Event& event;
  };
  struct Packed {
    uint32_t slot = 0;
    int64_t adjusted_time = 0;
    advice::Rows rows;
  };

  advice::PackedTuples Visible(uint32_t slot, uint32_t event, bool own) const {
    const advice::Slot& rule = program_.slots[slot];
    advice::PackedTuples all(rule);
    for (const uint32_t other : execution_.order) {
      if (!before_[event][other] && !(own && other == event)) continue;
      const auto found = packed_.find(other);
      if (found == packed_.end()) continue;
      for (const Packed& one : found->second) {
        if (one.slot != slot) continue;
        if (rule.keep == advice::Keep::kAll)
          all.Add(rule, one.rows);
        else
          all.AddEventAt(rule, one.adjusted_time, execution_.events[other].id, one.rows);
      }
    }
    return all;
  }

  advice::PackedTuples Unpack(const advice::Program&, uint32_t slot) override {
    return Visible(slot, now_, false);
  }
  void Pack(const advice::Program&, uint32_t slot, int64_t time, std::string_view,
            advice::Rows rows) override {
    Packed packed{slot, 0, std::move(rows)};
    if (program_.slots[slot].keep != advice::Keep::kAll) {
      const auto adjusted = Visible(slot, now_, false).AdjustedTime(program_.slots[slot], time);
      if (!adjusted) return;
      packed.adjusted_time = *adjusted;
    }
    packed_[now_].push_back(std::move(packed));
  }
  void EmitTuples(const advice::Program&, advice::Rows rows) override {
    results_.Add(rows);
    size_t tuples = 0;
    for (uint32_t slot = 0; slot < program_.slots.size(); ++slot)
      tuples += Visible(slot, now_, false).tuple_count();
    if (!rows.empty()) arriving_max_ = std::max(arriving_max_, tuples);
  }

  const advice::Program& program_;
  const Execution& execution_;
  advice::Results results_;
  std::vector<std::vector<bool>> before_;
  std::map<uint32_t, std::vector<Packed>> packed_;
  std::map<uint32_t, size_t> slot_max_;
  uint32_t now_ = 0;
  size_t tuples_max_ = 0, arriving_max_ = 0;
  bool complete_ = true;
};

// The whole range from the first case on: RapidCheck begins with small sizes, where everything would be 0.
inline int Pick(int below) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, below));
}

template <typename Of>
auto OneOf(const Of& choices) {
  return choices[static_cast<size_t>(Pick(static_cast<int>(choices.size())))];
}

inline advice::Value RandomScalar() {
  switch (Pick(9)) {
    case 0:
      return {};
    case 1:
      return advice::Value(Pick(2) == 0);
    case 2:
      return advice::Value(static_cast<double>(Pick(5)) / 2);
    case 3:
      return advice::Value(std::string(OneOf(std::vector<std::string>{"a", "b", "Ab", ""})));
    case 4:
      return advice::Value(int64_t{INT64_MAX} - Pick(3));
    default:
      return advice::Value(int64_t{Pick(4)} - 1);
  }
}

// A few requests that branch and rejoin, of tracepoints A to D with variables x, y (anything), s (text) and l (lists).
inline Execution RandomExecution(int most_events = 12) {
  Execution execution;
  const int count = std::max(Pick(most_events + 1), Pick(most_events + 1));
  for (int i = 0; i < count; ++i) {
    Event event;
    event.id = "e" + std::to_string(i * 7 % 10) + std::to_string(i);
    event.tracepoint = std::string(1, static_cast<char>('A' + std::min(Pick(4), Pick(4))));
    event.time_ns = Pick(20);
    event.host = advice::Value(std::string(1, static_cast<char>('h' + Pick(2))));
    if (Pick(3) > 0) event.proc = advice::Value("p" + std::to_string(Pick(2)));
    if (Pick(3) > 0) event.variables["x"] = RandomScalar();
    if (Pick(6) > 0) event.variables["y"] = advice::Value(int64_t{Pick(3)});
    if (Pick(3) > 0) event.variables["s"] = advice::Value(std::string(Pick(2) != 0 ? "u" : "v"));
    if (Pick(3) > 0) {
      advice::List list;
      for (int n = std::max(Pick(3), Pick(4)); n > 0; --n) list.push_back(RandomScalar());
      event.variables["l"] = advice::Value(std::move(list));
    }
    for (int edge = std::max(Pick(3), Pick(4)); edge > 0 && i > 0; --edge) {
      const auto to = static_cast<uint32_t>(std::max(0, i - 1 - Pick(4)));
      if (std::find(event.after.begin(), event.after.end(), to) == event.after.end())
        event.after.push_back(to);
    }
    execution.events.push_back(std::move(event));
  }
  uint32_t on_cycle = 0;
  RC_ASSERT(Arrange(execution, on_cycle));
  return execution;
}

}  // namespace wf::query::lab
