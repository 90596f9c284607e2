#include "advice/program.h"

#include <cmath>
#include <set>

namespace wf::advice {
namespace {

// Far beyond any query that was typed, and small enough that nothing multiplies into trouble.
constexpr size_t kMaxAdvice = 256, kMaxSteps = 256, kMaxSlots = 256, kMaxColumns = 1024;
constexpr size_t kMaxCode = 4096;

bool SameAggregates(const std::vector<AggregateInput>& inputs,
                    const std::vector<Aggregate>& aggregates) {
  if (inputs.size() != aggregates.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].aggregate.kind != aggregates[i].kind) return false;
  }
  return true;
}

bool ValidAggregate(const Aggregate& aggregate) {
  return aggregate.kind <= AggregateKind::kHistogram && std::isfinite(aggregate.parameter);
}

// Holds one advice against the shape its tuples have at each step.
class AdviceCheck {
 public:
  explicit AdviceCheck(const Program& program) : program_(program) {}

  bool Valid(const Advice& advice) {
    if (advice.tracepoints.empty() || advice.tracepoints.size() > kMaxColumns) return false;
    if (advice.steps.size() < 2 || advice.steps.size() > kMaxSteps) return false;
    for (size_t i = 0; i < advice.steps.size(); ++i) {
      const Step& step = advice.steps[i];
      const bool first = i == 0, last = i + 1 == advice.steps.size();
      const bool ends = std::holds_alternative<Pack>(step) || std::holds_alternative<Emit>(step);
      if (std::holds_alternative<Observe>(step) != first || ends != last) return false;
      if (!std::visit([this](const auto& s) { return ValidStep(s); }, AsVariant(step)))
        return false;
      if (columns_ > kMaxColumns) return false;
    }
    return true;
  }

 private:
  using StepVariant = std::variant<Observe, Filter, RequireTuples, Unpack, Pack, Emit>;
  static const StepVariant& AsVariant(const Step& step) { return step; }

  bool ValidExpression(const Expression& expression, size_t columns) const {
    return expression.code.size() <= kMaxCode && expression.constants.size() <= kMaxCode &&
           advice::Valid(expression, columns);
  }
  bool ValidStep(const Observe& observe) {
    columns_ = observe.variables.size();
    // One observed twice would multiply its list by itself.
    return std::set<std::string>(observe.variables.begin(), observe.variables.end()).size() ==
           columns_;
  }
  bool ValidStep(const Filter& filter) { return ValidExpression(filter.condition, columns_); }
  bool ValidStep(const RequireTuples&) { return true; }
  bool ValidStep(const Unpack& unpack) {
    if (unpack.slot >= program_.slots.size()) return false;
    const Slot& slot = program_.slots[unpack.slot];
    if (!unpack.finish) {
      columns_ += slot.columns;
      unpacked_.push_back(&slot);
      return unpack.select.empty();
    }
    unpacked_.push_back(nullptr);  // finished: it carries no states
    columns_ += unpack.select.size();
    return AllValid(unpack.select, slot.columns + slot.aggregates.size());
  }
  bool ValidStep(const Pack& pack) {
    if (pack.slot >= program_.slots.size() || pack.keep > Keep::kMostRecent) return false;
    const Slot& slot = program_.slots[pack.slot];
    return slot.keep == pack.keep && slot.limit == pack.limit &&
           slot.columns == pack.grouping.columns.size() &&
           SameAggregates(pack.grouping.aggregates, slot.aggregates) &&
           ValidGrouping(pack.grouping);
  }
  bool ValidStep(const Emit& emit) {
    const Grouping& grouping = emit.grouping;
    return ValidGrouping(grouping) && emit.select.size() <= kMaxColumns &&
           emit.select.size() == program_.result_columns.size() &&
           AllValid(emit.select, grouping.columns.size() + grouping.aggregates.size());
  }
  bool AllValid(const std::vector<Expression>& expressions, size_t columns) const {
    for (const Expression& expression : expressions) {
      if (!ValidExpression(expression, columns)) return false;
    }
    return true;
  }
  bool ValidGrouping(const Grouping& grouping) const {
    if (grouping.columns.size() > kMaxColumns || grouping.aggregates.size() > kMaxColumns)
      return false;
    for (const AggregateInput& input : grouping.aggregates) {
      if (!ValidAggregate(input.aggregate) || !ValidInput(input)) return false;
    }
    return AllValid(grouping.columns, columns_);
  }
  bool ValidInput(const AggregateInput& input) const {
    if (!input.carried) return ValidExpression(input.argument, columns_);
    if (input.carried->unpack >= unpacked_.size()) return false;
    const Slot* slot = unpacked_[input.carried->unpack];
    return slot != nullptr && input.carried->state < slot->aggregates.size() &&
           slot->aggregates[input.carried->state].kind == input.aggregate.kind;
  }

  const Program& program_;
  size_t columns_ = 0;
  std::vector<const Slot*> unpacked_;
};

bool ValidSlot(const Slot& slot) {
  if (slot.keep > Keep::kMostRecent || slot.columns > kMaxColumns) return false;
  if (slot.aggregates.size() > kMaxColumns) return false;
  for (const Aggregate& aggregate : slot.aggregates) {
    if (!ValidAggregate(aggregate)) return false;
  }
  return true;
}

}  // namespace

bool Valid(const Program& program) {
  if (program.advice.size() > kMaxAdvice || program.slots.size() > kMaxSlots) return false;
  if (program.result_columns.size() > kMaxColumns) return false;
  if (program.sample && !std::isfinite(*program.sample)) return false;
  for (const Slot& slot : program.slots) {
    if (!ValidSlot(slot)) return false;
  }
  size_t emits = 0;
  for (const Advice& advice : program.advice) {
    if (!AdviceCheck(program).Valid(advice)) return false;
    emits += std::holds_alternative<Emit>(advice.steps.back()) ? 1 : 0;
  }
  return emits == 1;
}

Slot SlotOf(const Pack& pack) {
  Slot slot;
  slot.keep = pack.keep;
  slot.limit = pack.limit;
  slot.columns = static_cast<uint32_t>(pack.grouping.columns.size());
  for (const AggregateInput& input : pack.grouping.aggregates)
    slot.aggregates.push_back(input.aggregate);
  return slot;
}

const Emit* EmitOf(const Program& program) {
  for (const Advice& advice : program.advice) {
    if (advice.steps.empty()) continue;
    if (const auto* emit = std::get_if<Emit>(&advice.steps.back())) return emit;
  }
  return nullptr;
}

bool Sampled(std::string_view request_id, double p) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : request_id) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdull;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ull;
  hash ^= hash >> 33;
  return p >= 1 || std::ldexp(static_cast<double>(hash), -64) < p;
}

}  // namespace wf::advice
