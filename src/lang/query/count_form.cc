#include "lang/query/count_form.h"

#include <utility>

#include "lang/query/advice_builder.h"
#include "lang/query/advice_plan.h"
#include "lang/query/join_tree.h"

namespace wf::query {
namespace {

using advice::Aggregate;
using advice::AggregateInput;
using advice::AggregateKind;
using advice::Expression;
using advice::Op;

// Bytes of what is not a column: the weight of a tuple, an aggregate's state, time and id of a picked event, and an
// expression that cannot be measured here because it reads other aliases.
constexpr int64_t kTupleBytes = 1, kStateBytes = 6, kPickedBytes = 18, kMixedBytes = 6;

// Expressions put together by hand.
Expression Number(int64_t value) { return advice::Constant(value); }

Expression Combine(Op op, Expression a, const Expression& b) {
  const auto shift = static_cast<uint32_t>(a.constants.size());
  for (advice::Instruction instruction : b.code) {
    if (instruction.op == Op::kConstant) instruction.operand += shift;
    a.code.push_back(instruction);
  }
  a.constants.insert(a.constants.end(), b.constants.begin(), b.constants.end());
  a.code.push_back({op, 0});
  return a;
}

AggregateInput Fold(AggregateKind kind, Expression argument) {
  AggregateInput input;
  input.aggregate = Aggregate{kind, 0};
  input.argument = std::move(argument);
  return input;
}

class Counter {
 public:
  explicit Counter(Compiled& out) : out_(out) {}

  void CountEmitting(const Block& block, const BlockPlan& plan);

 private:
  // What a tuple in flight holds behind its observed variables: two numbers of every unpacked slot.
  struct Flight {
    advice::Advice advice;
    std::vector<uint32_t> children;
    uint32_t variables = 0;

    Expression Tuples(size_t child) const {
      return advice::Column(variables + 2 * static_cast<uint32_t>(child));
    }
    Expression Bytes(size_t child) const {
      return advice::Column(variables + 2 * static_cast<uint32_t>(child) + 1);
    }
  };

  uint32_t CountNode(const Block& block, const BlockPlan& plan, uint32_t id);
  uint32_t CountGroups(const Block& block, const BlockPlan& plan);
  Flight Read(const Block& block, const BlockPlan& plan, uint32_t id);
  uint32_t Pack(const Block& block, uint32_t id, Flight flight, const std::vector<TermId>& columns,
                size_t states, const advice::Slot& rule);
  static advice::Unpack Finished(uint32_t slot) {
    return {slot, true, {advice::Column(0), advice::Column(1)}};
  }

  Compiled& out_;
};

// What of a node's advice can be run without the tuples of others: its own variables and conditions on them.
void Observe(const Block& block, const BlockPlan& plan, uint32_t id, advice::Advice& to) {
  to.tracepoints = block.nodes[id].tracepoints;
  to.steps.emplace_back(advice::Observe{block.nodes[id].variables});
  for (const auto& filters : plan.nodes[id].filters)
    for (const TermId term : filters)
      if (block.terms[term].nodes == std::vector<uint32_t>{id})
        to.steps.emplace_back(advice::Filter{LowerOwn(block, id, term)});
}

Counter::Flight Counter::Read(const Block& block, const BlockPlan& plan, uint32_t id) {
  const Node& node = block.nodes[id];
  Flight flight;
  flight.children = node.Children();
  flight.variables = static_cast<uint32_t>(node.variables.size());
  std::vector<uint32_t> slots;
  for (const uint32_t child : flight.children)
    slots.push_back(block.nodes[child].groups
                        ? CountGroups(*block.nodes[child].groups, *plan.groups[child])
                        : CountNode(block, plan, child));
  Observe(block, plan, id, flight.advice);
  for (size_t i = 0; i <= slots.size(); ++i) {
    if (i > 0) flight.advice.steps.emplace_back(Finished(slots[i - 1]));
    if (i == node.inner.size() && node.picks_subquery)
      flight.advice.steps.emplace_back(advice::RequireTuples{});
  }
  return flight;
}

uint32_t Counter::Pack(const Block& block, uint32_t id, Flight flight,
                       const std::vector<TermId>& columns, size_t states,
                       const advice::Slot& rule) {
  int64_t constant = kTupleBytes + kStateBytes * static_cast<int64_t>(states);
  if (rule.keep != advice::Keep::kAll) constant += kPickedBytes;
  std::vector<bool> carried(flight.children.size(), false);
  Expression bytes;
  std::vector<Expression> own;
  for (const TermId column : columns) {
    const std::vector<uint32_t>& nodes = block.terms[column].nodes;
    if (nodes == std::vector<uint32_t>{id}) {
      own.push_back(LowerOwn(block, id, column));
      own.back().code.push_back({Op::kSize, 0});
      continue;
    }
    bool of_one_child = false;
    for (size_t i = 0; i < flight.children.size() && !of_one_child; ++i) {
      of_one_child = !nodes.empty();
      for (const uint32_t node : nodes)
        of_one_child = of_one_child && block.Below(node, flight.children[i]);
      carried[i] = carried[i] || of_one_child;
    }
    if (!of_one_child) constant += kMixedBytes;
  }
  bytes = Number(constant);
  for (const Expression& one : own) bytes = Combine(Op::kAdd, std::move(bytes), one);
  Expression tuples = Number(1);
  for (size_t i = 0; i < flight.children.size(); ++i) {
    tuples = Combine(Op::kMultiply, std::move(tuples), flight.Tuples(i));
    if (carried[i])
      bytes = Combine(Op::kAdd, std::move(bytes),
                      Combine(Op::kDivide, flight.Bytes(i), flight.Tuples(i)));
  }

  advice::Grouping grouping;
  if (columns.empty() && rule.keep == advice::Keep::kAll) {
    grouping.aggregates = {Fold(AggregateKind::kMax, Number(1)),
                           Fold(AggregateKind::kMax, Number(constant))};
  } else {
    bytes = Combine(Op::kMultiply, std::move(bytes), tuples);
    grouping.aggregates = {Fold(AggregateKind::kSum, std::move(tuples)),
                           Fold(AggregateKind::kSum, std::move(bytes))};
  }
  const auto slot = static_cast<uint32_t>(out_.program.slots.size());
  advice::Pack pack{slot, rule.keep, rule.limit, std::move(grouping)};
  out_.program.slots.push_back(advice::SlotOf(pack));
  flight.advice.steps.emplace_back(std::move(pack));
  out_.program.advice.push_back(std::move(flight.advice));
  out_.aliases.push_back(block.nodes[id].label);
  return slot;
}

uint32_t Counter::CountNode(const Block& block, const BlockPlan& plan, uint32_t id) {
  advice::Slot rule;
  rule.keep = block.nodes[id].keep;
  rule.limit = block.nodes[id].limit;
  return Pack(block, id, Read(block, plan, id), plan.nodes[id].columns,
              plan.nodes[id].states.size(), rule);
}

uint32_t Counter::CountGroups(const Block& block, const BlockPlan& plan) {
  return Pack(block, 0, Read(block, plan, 0), block.keys, plan.aggregates.size(), {});
}

void Counter::CountEmitting(const Block& block, const BlockPlan& plan) {
  for (const uint32_t child : block.nodes[0].Children()) {
    if (block.nodes[child].groups)
      CountGroups(*block.nodes[child].groups, *plan.groups[child]);
    else
      CountNode(block, plan, child);
  }
  advice::Advice advice;
  Observe(block, plan, 0, advice);
  const size_t slots = out_.program.slots.size();
  const auto variables = static_cast<uint32_t>(block.nodes[0].variables.size());
  Expression tuples = Number(0);
  Expression bytes = Number(slots == 0 ? 0 : static_cast<int64_t>(kBaggageFrameBytes));
  for (uint32_t slot = 0; slot < slots; ++slot) {
    advice.steps.emplace_back(Finished(slot));
    tuples = Combine(Op::kAdd, std::move(tuples), advice::Column(variables + 2 * slot));
    bytes = Combine(Op::kAdd, std::move(bytes),
                    Combine(Op::kAdd, advice::Column(variables + 2 * slot + 1),
                            Number(static_cast<int64_t>(kSlotFrameBytes))));
  }
  advice::Emit emit;
  emit.grouped = true;
  emit.grouping.aggregates = {
      Fold(AggregateKind::kCount, advice::Constant(true)), Fold(AggregateKind::kAverage, tuples),
      Fold(AggregateKind::kMax, tuples), Fold(AggregateKind::kAverage, bytes),
      Fold(AggregateKind::kMax, bytes)};
  for (uint32_t i = 0; i < 5; ++i) emit.select.push_back(advice::Column(i));
  advice.steps.emplace_back(std::move(emit));
  out_.program.advice.push_back(std::move(advice));
  out_.aliases.push_back(block.nodes[0].label);
  out_.program.result_columns = {"arrivals", "tuples_average", "tuples_max", "bytes_average",
                                 "bytes_max"};
}

}  // namespace

Result<Compiled> Counting(const Query& query) {
  WF_ASSIGN(const auto block, BuildJoinTree(query));
  const BlockPlan plan = PlanRewritten(*block);
  Compiled compiled;
  Counter(compiled).CountEmitting(*block, plan);
  compiled.program.sample = query.sample;
  if (!Valid(compiled.program))
    return BadInput("the query is larger than advice may be",
                    "read fewer variables, or split it into several queries");
  return compiled;
}

}  // namespace wf::query
