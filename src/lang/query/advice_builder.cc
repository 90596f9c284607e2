#include "lang/query/advice_builder.h"

#include <functional>
#include <unordered_map>
#include <utility>

namespace wf::query {
namespace {

using advice::AggregateInput;
using advice::Expression;
using advice::Grouping;

// Which column of a tuple in flight holds a term; none: it is made of its arguments.
using Resolve = std::function<std::optional<uint32_t>(TermId)>;

void AppendTerm(const Terms& terms, TermId id, const Resolve& resolve, Expression& out) {
  if (const auto column = resolve(id)) {
    out.code.push_back({advice::Op::kColumn, *column});
    return;
  }
  const Term& term = terms[id];
  if (term.kind == Term::Kind::kConstant) {
    out.code.push_back({advice::Op::kConstant, static_cast<uint32_t>(out.constants.size())});
    out.constants.push_back(term.constant);
    return;
  }
  if (term.kind != Term::Kind::kOperation) {  // a plan that forgot a column: no valid program
    out.code.push_back({advice::Op::kColumn, UINT32_MAX});
    return;
  }
  for (const TermId arg : term.args) AppendTerm(terms, arg, resolve, out);
  out.code.push_back({term.op, 0});
}

Expression LowerTerm(const Terms& terms, TermId id, const Resolve& resolve) {
  Expression out;
  AppendTerm(terms, id, resolve, out);
  return out;
}

// The columns of a tuple in flight, and where its unpacked states lie.
struct Layout {
  std::unordered_map<TermId, uint32_t> columns;
  uint32_t width = 0;
  std::unordered_map<uint32_t, AggregateInput::Carried> states;  // by index into BlockPlan::states

  void Append(TermId term) { columns.try_emplace(term, width++); }
  Resolve Find() const {
    return [this](TermId term) -> std::optional<uint32_t> {
      const auto at = columns.find(term);
      if (at == columns.end()) return std::nullopt;
      return at->second;
    };
  }
};

class BlockWriter {
 public:
  BlockWriter(const Block& block, const BlockPlan& plan, Compiled& out)
      : block_(block), plan_(plan), out_(out), slot_(block.nodes.size()) {}

  // Of the outermost query.
  void WriteEmitting();
  // Of an aggregated sub-query; the slot its groups are packed in.
  uint32_t WritePacking();
  // A column of an aggregated sub-query over [packed columns…, finished aggregates…].
  Expression SelectColumn(uint32_t index) const;

 private:
  void WriteNode(uint32_t id);
  Layout WriteReading(uint32_t id, advice::Advice& to);
  void WriteFilters(uint32_t id, size_t unpacked, const Layout& layout, advice::Advice& to);
  Grouping Groups(const Layout& layout) const;
  AggregateInput State(uint32_t state, uint32_t at, const Layout& layout) const;
  uint32_t AddPack(advice::Advice& to, advice::Keep keep, uint32_t limit, Grouping grouping);
  void Finish(uint32_t id, advice::Advice advice);

  const Block& block_;
  const BlockPlan& plan_;
  Compiled& out_;
  std::vector<uint32_t> slot_;  // of each node
};

void BlockWriter::WriteFilters(uint32_t id, size_t unpacked, const Layout& layout,
                               advice::Advice& to) {
  // One step each, as a reader expects; beyond a limit the rest are joined, because the number of steps of an
  // advice is limited.
  constexpr size_t kSeparate = 16;
  const std::vector<TermId>& filters = plan_.nodes[id].filters[unpacked];
  Expression joined;
  for (size_t i = 0; i < filters.size(); ++i) {
    Expression condition;
    const bool fits = i >= kSeparate && !joined.code.empty() &&
                      joined.code.size() + block_.terms[filters[i]].size + 1 <= kMaxExpressionSize;
    if (fits) condition = std::move(joined);
    AppendTerm(block_.terms, filters[i], layout.Find(), condition);
    if (fits) condition.code.push_back({advice::Op::kAnd, 0});
    if (fits) to.steps.pop_back();
    joined = condition;
    to.steps.emplace_back(advice::Filter{std::move(condition)});
  }
}

// Observes, unpacks and filters; children's advice is written first.
Layout BlockWriter::WriteReading(uint32_t id, advice::Advice& to) {
  const Node& node = block_.nodes[id];
  const std::vector<uint32_t> children = node.Children();
  std::vector<advice::Unpack> unpacks;
  for (const uint32_t child : children) {
    if (!block_.nodes[child].groups) {
      WriteNode(child);
      unpacks.push_back({slot_[child], false, {}});
      continue;
    }
    BlockWriter groups(*block_.nodes[child].groups, *plan_.groups[child], out_);
    advice::Unpack unpack{groups.WritePacking(), true, {}};
    for (const TermId column : plan_.nodes[child].columns)
      unpack.select.push_back(groups.SelectColumn(block_.terms[column].index));
    unpacks.push_back(std::move(unpack));
  }

  Layout layout;
  to.tracepoints = node.tracepoints;
  to.steps.emplace_back(advice::Observe{node.variables});
  for (const TermId term : node.terms) layout.Append(term);
  for (size_t i = 0; i <= children.size(); ++i) {
    if (i > 0) {
      to.steps.emplace_back(std::move(unpacks[i - 1]));
      const NodePlan& child = plan_.nodes[children[i - 1]];
      for (const TermId term : child.columns) layout.Append(term);
      for (uint32_t s = 0; s < child.states.size(); ++s)
        layout.states[child.states[s]] = {static_cast<uint32_t>(i - 1), s};
    }
    WriteFilters(id, i, layout, to);
    if (i == node.inner.size() && node.picks_subquery)
      to.steps.emplace_back(advice::RequireTuples{});
  }
  return layout;
}

AggregateInput BlockWriter::State(uint32_t state, uint32_t at, const Layout& layout) const {
  const TravellingState& travelling = plan_.states[state];
  AggregateInput input;
  input.aggregate = travelling.aggregate;
  if (travelling.made_at == at)
    input.argument = LowerTerm(block_.terms, travelling.argument, layout.Find());
  else
    input.carried = layout.states.at(state);
  return input;
}

uint32_t BlockWriter::AddPack(advice::Advice& to, advice::Keep keep, uint32_t limit,
                              Grouping grouping) {
  const auto slot = static_cast<uint32_t>(out_.program.slots.size());
  advice::Slot kept;
  kept.keep = keep;
  kept.limit = limit;
  kept.columns = static_cast<uint32_t>(grouping.columns.size());
  for (const AggregateInput& input : grouping.aggregates)
    kept.aggregates.push_back(input.aggregate);
  out_.program.slots.push_back(std::move(kept));
  to.steps.emplace_back(advice::Pack{slot, keep, limit, std::move(grouping)});
  return slot;
}

void BlockWriter::Finish(uint32_t id, advice::Advice advice) {
  out_.program.advice.push_back(std::move(advice));
  out_.aliases.push_back(block_.nodes[id].label);
}

void BlockWriter::WriteNode(uint32_t id) {
  advice::Advice advice;
  const Layout layout = WriteReading(id, advice);
  Grouping grouping;
  for (const TermId term : plan_.nodes[id].columns)
    grouping.columns.push_back(LowerTerm(block_.terms, term, layout.Find()));
  for (const uint32_t state : plan_.nodes[id].states)
    grouping.aggregates.push_back(State(state, id, layout));
  const Node& node = block_.nodes[id];
  slot_[id] = AddPack(advice, node.keep, node.limit, std::move(grouping));
  Finish(id, std::move(advice));
}

Grouping BlockWriter::Groups(const Layout& layout) const {
  Grouping grouping;
  for (const TermId key : block_.keys)
    grouping.columns.push_back(LowerTerm(block_.terms, key, layout.Find()));
  for (const uint32_t index : plan_.aggregates) {
    const BlockAggregate& aggregate = block_.aggregates[index];
    AggregateInput input;
    if (const auto state = plan_.aggregate_state[index]) {
      input = State(*state, 0, layout);
      input.aggregate = aggregate.aggregate;
    } else {
      input.aggregate = aggregate.aggregate;
      input.argument = aggregate.argument
                           ? LowerTerm(block_.terms, *aggregate.argument, layout.Find())
                           : advice::Constant(true);
    }
    grouping.aggregates.push_back(std::move(input));
  }
  return grouping;
}

Expression BlockWriter::SelectColumn(uint32_t index) const {
  return LowerTerm(block_.terms, block_.select[index],
                   [this](TermId id) -> std::optional<uint32_t> {
                     const Term& term = block_.terms[id];
                     if (term.kind == Term::Kind::kKey) return term.index;
                     if (term.kind != Term::Kind::kAggregate) return std::nullopt;
                     uint32_t place = 0;
                     while (plan_.aggregates[place] != term.index) ++place;
                     return static_cast<uint32_t>(block_.keys.size()) + place;
                   });
}

uint32_t BlockWriter::WritePacking() {
  advice::Advice advice;
  const Layout layout = WriteReading(0, advice);
  const uint32_t slot = AddPack(advice, advice::Keep::kAll, 0, Groups(layout));
  Finish(0, std::move(advice));
  return slot;
}

void BlockWriter::WriteEmitting() {
  advice::Advice advice;
  const Layout layout = WriteReading(0, advice);
  advice::Emit emit;
  emit.grouped = block_.grouped;
  if (block_.grouped) {
    emit.grouping = Groups(layout);
    for (uint32_t i = 0; i < block_.select.size(); ++i) emit.select.push_back(SelectColumn(i));
  } else {
    for (const TermId term : block_.select) {
      emit.select.push_back(advice::Column(static_cast<uint32_t>(emit.grouping.columns.size())));
      emit.grouping.columns.push_back(LowerTerm(block_.terms, term, layout.Find()));
    }
  }
  advice.steps.emplace_back(std::move(emit));
  Finish(0, std::move(advice));
}

}  // namespace

Expression LowerOwn(const Block& block, uint32_t node, TermId term) {
  Layout layout;
  for (const TermId variable : block.nodes[node].terms) layout.Append(variable);
  return LowerTerm(block.terms, term, layout.Find());
}

Result<Compiled> BuildAdvice(const Query& query, const Block& block, const BlockPlan& plan) {
  Compiled compiled;
  BlockWriter(block, plan, compiled).WriteEmitting();
  compiled.program.result_columns = block.names;
  compiled.program.sample = query.sample;
  if (!Valid(compiled.program))
    return BadInput("the query is larger than advice may be",
                    "read fewer variables, or split it into several queries");
  return compiled;
}

}  // namespace wf::query
