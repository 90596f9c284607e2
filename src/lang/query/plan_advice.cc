#include "lang/query/plan_advice.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "advice/interpreter.h"
#include "advice/results.h"
#include "lang/query/simulated_baggage.h"

namespace wf::query {
namespace {

class EventView : public advice::Event {
 public:
  explicit EventView(const query::Event& event) : event_(event) {}
  advice::Value Variable(std::string_view name) const override { return event_.Variable(name); }
  int64_t time_ns() const override { return event_.time_ns; }
  std::string_view id() const override { return event_.id; }

 private:
  const query::Event& event_;
};

// Bytes of a large baggage are measured where its branch ends and when it has grown by a sixteenth, not at every event:
// a bag only grows on the way, so the most is seen all the same.
constexpr size_t kMeasuredAlways = 256;

class AdviceRun : private advice::Baggage, private advice::Emitter {
 public:
  // `emit` null: the tuples become rows, what travels is measured, and work is not limited.
  AdviceRun(const advice::Program& program, const Execution& execution, const EmitAt* emit,
            size_t most_work = SIZE_MAX)
      : program_(program),
        execution_(execution),
        emit_(emit),
        work_left_(most_work),
        results_(program),
        now_(program) {
    for (const advice::Advice& advice : program.advice)
      tracepoints_.insert(advice.tracepoints.begin(), advice.tracepoints.end());
  }

  PlanRun Run() {
    RunEvents();
    PlanRun run;
    run.rows = results_.Rows();
    SortRows(run.rows);
    run.cost = cost_;
    return run;
  }

  AdviceRunAt RunEvents() {
    const size_t most = emit_ == nullptr ? advice::kUnlimitedTuples : advice::kMaxTuplesPerEvent;
    AdviceRunAt run;
    const std::vector<Event>& events = execution_.events;
    next_.assign(events.size(), 0);
    for (const Event& event : events)
      for (const uint32_t before : event.after) ++next_[before];
    travelling_.assign(events.size(), std::nullopt);
    FindSampled();
    for (; run.ended_at < execution_.order.size(); ++run.ended_at) {
      const uint32_t event = execution_.order[run.ended_at];
      if (!sampled_[execution_.request[event]]) continue;
      if (work_left_ == 0) break;
      Arrive(event);
      if (tracepoints_.count(events[event].tracepoint) != 0) {
        const EventView view(events[event]);
        event_ = event;
        if (!advice::RunAdvice(program_, events[event].tracepoint, view, *this, *this, most))
          run.overflowed.push_back(event);
        Measure();
      }
      Leave(event);
    }
    return run;
  }

 private:
  void FindSampled() {
    sampled_.assign(execution_.request_ids.size(), true);
    if (!program_.sample) return;
    for (size_t i = 0; i < sampled_.size(); ++i)
      sampled_[i] = advice::Sampled(execution_.request_ids[i], *program_.sample);
  }

  SimulatedBaggage Take(uint32_t event) {
    SimulatedBaggage& baggage = *travelling_[event];
    if (--next_[event] > 0) return baggage;
    SimulatedBaggage last = std::move(baggage);
    travelling_[event].reset();
    return last;
  }

  void Arrive(uint32_t event) {
    const std::vector<uint32_t>& after = execution_.events[event].after;
    if (after.empty()) {
      now_ = SimulatedBaggage(program_);
    } else if (after.size() == 1) {
      now_ = Take(after[0]);
    } else {
      std::vector<SimulatedBaggage> branches;
      branches.reserve(after.size());
      for (const uint32_t before : after) branches.push_back(Take(before));
      if (emit_ != nullptr)
        for (const SimulatedBaggage& branch : branches) Work(branch.rows());
      now_ = SimulatedBaggage::Join(std::move(branches));
      Measure();
    }
  }

  void Leave(uint32_t event) {
    if (emit_ == nullptr && !now_.empty() && (next_[event] != 1 || now_.rows() > kMeasuredAlways))
      MeasureLarge(event);
    if (next_[event] == 0) return;
    if (next_[event] > 1) {
      now_.Freeze(++instances_);
      if (emit_ != nullptr) Work(now_.instances());
    }
    travelling_[event].emplace(std::move(now_));
  }

  void Work(size_t done) { work_left_ -= std::min(work_left_, done + 1); }

  void Measure() {
    if (emit_ != nullptr) return;
    const size_t rows = now_.rows();
    if (rows > cost_.packed_tuples_max)
      cost_.packed_tuples_max = std::max<uint64_t>(cost_.packed_tuples_max, now_.tuples());
    if (rows <= kMeasuredAlways) MeasureBytes();
  }
  void MeasureLarge(uint32_t event) {
    const size_t rows = now_.rows();
    if (rows <= kMeasuredAlways) return;
    if (next_[event] == 1 && rows < largest_measured_ + largest_measured_ / 16) return;
    largest_measured_ = std::max(largest_measured_, rows);
    MeasureBytes();
  }
  void MeasureBytes() {
    cost_.baggage_bytes_max = std::max<uint64_t>(cost_.baggage_bytes_max, now_.Bytes());
  }

  advice::PackedTuples Unpack(const advice::Program&, uint32_t slot) override {
    advice::PackedTuples packed = now_.Unpack(slot);
    Work(packed.tuple_count());
    return packed;
  }
  void Pack(const advice::Program&, uint32_t slot, int64_t time, std::string_view id,
            advice::Rows rows) override {
    Work(rows.size());
    now_.Pack(slot, time, id, rows);
  }
  void EmitTuples(const advice::Program&, advice::Rows rows) override {
    if (emit_ != nullptr) {
      Work(rows.size());
      if (!rows.empty()) (*emit_)(event_, rows);
      return;
    }
    cost_.emitted += rows.size();
    results_.Add(rows);
  }

  const advice::Program& program_;
  const Execution& execution_;
  const EmitAt* const emit_;
  size_t work_left_;
  uint32_t event_ = 0;  // whose advice runs
  advice::Results results_;
  std::unordered_set<std::string> tracepoints_;
  std::vector<bool> sampled_;
  // Of each event: how many that come after have not taken its baggage yet.
  std::vector<uint32_t> next_;
  std::vector<std::optional<SimulatedBaggage>> travelling_;
  SimulatedBaggage now_;
  uint64_t instances_ = 0;
  size_t largest_measured_ = 0;
  Cost cost_;
};

}  // namespace

PlanRun RunAdvicePlan(const advice::Program& program, const Execution& execution) {
  return AdviceRun(program, execution, nullptr).Run();
}

AdviceRunAt RunAdviceAt(const advice::Program& program, const Execution& execution,
                        size_t most_work, const EmitAt& emit) {
  return AdviceRun(program, execution, &emit, most_work).RunEvents();
}

}  // namespace wf::query
