// Aggregates. Of tables: the contributions of a group are kept, and when the value they give changes (or the one that
// gave it goes) the old value is taken back and the new one derived. Of an event: over the ways one event matches.
#include <fmt/format.h>

#include <algorithm>

#include "lang/ndlog/simulation_core.h"

namespace wf::ndlog {
namespace {

bool IsExtreme(AggregateFunction function) {
  return function == AggregateFunction::kMin || function == AggregateFunction::kMax;
}

}  // namespace

void Core::Contribute(int rule_index, Match match, const Moment& moment) {
  const CompiledRule& rule = program_.rules[static_cast<size_t>(rule_index)];
  Value value = std::exchange(match.head[rule.aggregate->position], Value());
  Group*& group = group_of_[{rule_index, moment.node}][match.head];
  if (group == nullptr) {
    group = &groups_.emplace_back();
    group->rule = rule_index;
    group->node = moment.node;
    group->key = match.head;
  }
  Support& support = supports_.emplace_back();
  support.rule = rule_index;
  support.premises = std::move(match.premises);
  support.group = group;
  support.number = ++support_numbers_;
  support.value = value;
  for (Row* premise : std::set<Row*>(support.premises.begin(), support.premises.end()))
    premise->uses.push_back(&support);
  Keep(support.premises.size() + support.value.Weight());
  group->members.emplace(std::pair(std::move(value), support.number), &support);
  Recompute(*group, moment);
}

void Core::Withdraw(Support* support, const Moment& moment) {
  support->dying = true;
  support->group->members.erase({support->value, support->number});
  Recompute(*support->group, moment);
}

Value Core::Aggregated(AggregateFunction function, const std::vector<Value>& sorted,
                       const Place& place) {
  switch (function) {
    case AggregateFunction::kMin:
      return sorted.front();
    case AggregateFunction::kMax:
      return sorted.back();
    case AggregateFunction::kCount:
      return Value(static_cast<int64_t>(sorted.size()));
    case AggregateFunction::kList:
      break;
    case AggregateFunction::kSum:
      break;
  }
  if (function == AggregateFunction::kList) {
    Expression list;
    list.kind = Expression::Kind::kList;
    list.place = place;
    for (const Value& value : sorted) list.args.emplace_back().value = value;
    return Evaluate(list, {}, evaluation_);
  }
  Expression sum;
  sum.kind = Expression::Kind::kOperator;
  sum.name = "+";
  sum.place = place;
  sum.args.resize(2);
  Value total(int64_t{0});
  for (const Value& value : sorted) {
    sum.args[0].value = std::move(total);
    sum.args[1].value = value;
    total = Evaluate(sum, {}, evaluation_);
  }
  return total;
}

void Core::Recompute(Group& group, const Moment& moment) {
  const CompiledRule& rule = program_.rules[static_cast<size_t>(group.rule)];
  const AggregateFunction function = rule.aggregate->function;
  Support* old = group.current;
  if (group.members.empty()) {
    group.current = nullptr;
    if (old != nullptr) ScheduleUnderive(old, moment);
    return;
  }
  // What the value depends on: the contribution with the extreme, or all of them.
  std::vector<Row*> premises;
  Value value;
  if (IsExtreme(function)) {
    // The first of those that give the extreme.
    auto witness = group.members.begin();
    if (function == AggregateFunction::kMax)
      witness = group.members.lower_bound({std::prev(group.members.end())->first.first, 0});
    value = witness->first.first;
    premises = witness->second->premises;
    const bool same = old != nullptr && old->value == value;
    // As long as the old witness stands, nothing changes.
    if (same && std::all_of(old->premises.begin(), old->premises.end(),
                            [](const Row* r) { return r->alive; }))
      return;
  } else {
    std::vector<Value> values;
    for (const auto& [key, member] : group.members) {
      values.push_back(key.first);
      premises.insert(premises.end(), member->premises.begin(), member->premises.end());
    }
    value = Aggregated(function, values, rule.aggregate->place);
    if (!evaluation_.fault.empty()) return Fail(rule, evaluation_.fault);
    std::sort(premises.begin(), premises.end());
    premises.erase(std::unique(premises.begin(), premises.end()), premises.end());
  }
  List head = group.key;
  head[rule.aggregate->position] = value;
  const Predicate& predicate = program_.predicates[static_cast<size_t>(rule.head)];
  const Value& where = head[static_cast<size_t>(predicate.location)];
  const int node = NodeOf(where);
  if (node < 0)
    return Fail(
        rule, fmt::format("derives {} for {}, which is not a node", predicate.name, where.Shown()));
  if (!predicate.is_table()) {
    // An aggregate that is announced as an event: each new value once.
    if (old != nullptr && old->value == value) return;
    Support& current = supports_.emplace_back();
    current.value = value;
    group.current = &current;
    return Derived(rule, group.rule, {std::move(head), std::move(premises)}, moment);
  }
  Support& current = supports_.emplace_back();
  current.rule = group.rule;
  current.value = value;
  current.premises = std::move(premises);
  Keep(current.premises.size());
  current.head = RowFor(moment.node, rule.head, head, node == moment.node ? -1 : node);
  group.current = &current;
  const bool same_head = old != nullptr && old->head == current.head;
  // The same value for another reason: the new reason comes first, so that the tuple stays.
  if (old != nullptr && !same_head) ScheduleUnderive(old, moment);
  ScheduleDerive(&current, moment, CausesOf(current.premises, moment.vertex));
  if (same_head) ScheduleUnderive(old, moment);
}

void Core::AggregateOfEvent(int rule_index, std::vector<Match> matches, const Moment& moment) {
  const CompiledRule& rule = program_.rules[static_cast<size_t>(rule_index)];
  const size_t position = rule.aggregate->position;
  std::map<List, std::vector<Match>> groups;
  for (Match& match : matches) {
    List key = match.head;
    key[position] = Value();
    groups[std::move(key)].push_back(std::move(match));
  }
  for (auto& [key, members] : groups) {
    std::stable_sort(members.begin(), members.end(), [&](const Match& a, const Match& b) {
      return a.head[position] < b.head[position];
    });
    std::vector<Value> values;
    Match out;
    for (const Match& member : members) {
      values.push_back(member.head[position]);
      out.premises.insert(out.premises.end(), member.premises.begin(), member.premises.end());
    }
    if (rule.aggregate->function == AggregateFunction::kMin)
      out.premises = members.front().premises;
    if (rule.aggregate->function == AggregateFunction::kMax) out.premises = members.back().premises;
    out.head = key;
    out.head[position] = Aggregated(rule.aggregate->function, values, rule.aggregate->place);
    if (!evaluation_.fault.empty()) return Fail(rule, evaluation_.fault);
    Derived(rule, rule_index, std::move(out), moment);
  }
}

}  // namespace wf::ndlog
