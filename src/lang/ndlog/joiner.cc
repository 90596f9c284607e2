#include "lang/ndlog/joiner.h"

#include <algorithm>

namespace wf::ndlog {

std::vector<Match> Joiner::Run(Row* trigger) {
  slots_.assign(static_cast<size_t>(rule_.slots), Value());
  premises_.assign(rule_.atoms.size(), nullptr);
  const BodyAtom& atom = rule_.atoms[static_cast<size_t>(strand_.trigger)];
  if (trigger->values.size() != atom.args.size()) return {};
  // Of the trigger, only constants are known before.
  for (const int column : strand_.columns.known)
    if (!(trigger->values[static_cast<size_t>(column)] ==
          atom.args[static_cast<size_t>(column)].value))
      return {};
  if (!Bind(atom, strand_.columns, trigger->values)) return {};
  premises_[static_cast<size_t>(strand_.trigger)] = trigger;
  From(0);
  return std::move(found_);
}

bool Joiner::Bind(const BodyAtom& atom, const Columns& columns, const List& values) {
  for (const int column : columns.fresh)
    slots_[static_cast<size_t>(atom.args[static_cast<size_t>(column)].slot)] =
        values[static_cast<size_t>(column)];
  return std::all_of(columns.repeated.begin(), columns.repeated.end(), [&](int column) {
    return slots_[static_cast<size_t>(atom.args[static_cast<size_t>(column)].slot)] ==
           values[static_cast<size_t>(column)];
  });
}

void Joiner::From(size_t at) {
  if (!evaluation_.fault.empty()) return;
  if (--evaluation_.joins_left < 0) {
    evaluation_.fault = "one tuple makes it look at too many combinations of tuples";
    return;
  }
  if (at == strand_.steps.size()) {
    Match match;
    for (const Expression& arg : rule_.head_args)
      match.head.push_back(Evaluate(arg, slots_, evaluation_));
    match.premises = premises_;
    if (!evaluation_.fault.empty()) return;
    evaluation_.weight_left -= static_cast<int64_t>(WeightOf(match.head) + match.premises.size());
    if (--evaluation_.matches_left < 0) {
      evaluation_.fault = "one tuple makes its body hold in too many ways";
    } else if (evaluation_.weight_left < 0) {
      evaluation_.fault = "one tuple makes it derive more than can be held";
    } else {
      found_.push_back(std::move(match));
    }
    return;
  }
  const Step& step = strand_.steps[at];
  switch (step.kind) {
    case Step::Kind::kMatch:
      return MatchStep(step, at);
    case Step::Kind::kRange:
      return RangeStep(step, at);
    case Step::Kind::kAssign:
      slots_[static_cast<size_t>(step.slot)] = Evaluate(step.expression, slots_, evaluation_);
      return From(at + 1);
    case Step::Kind::kCondition:
      if (Holds(Evaluate(step.expression, slots_, evaluation_), step.expression.place, evaluation_))
        From(at + 1);
  }
}

void Joiner::MatchStep(const Step& step, size_t at) {
  const BodyAtom& atom = rule_.atoms[static_cast<size_t>(step.atom)];
  List key;
  for (const int column : step.columns.known) {
    const Pattern& pattern = atom.args[static_cast<size_t>(column)];
    key.push_back(pattern.slot < 0 ? pattern.value : slots_[static_cast<size_t>(pattern.slot)]);
  }
  for (Row* row : table_of_(atom.predicate).Matching(step.columns.known, key)) {
    bool same = row->values.size() == atom.args.size();
    for (size_t i = 0; same && i < key.size(); ++i)
      same = row->values[static_cast<size_t>(step.columns.known[i])] == key[i];
    if (!same || !Bind(atom, step.columns, row->values)) continue;
    premises_[static_cast<size_t>(step.atom)] = row;
    From(at + 1);
  }
}

void Joiner::RangeStep(const Step& step, size_t at) {
  const Value least = Evaluate(step.expression, slots_, evaluation_);
  const Value greatest = Evaluate(step.greatest, slots_, evaluation_);
  if (!evaluation_.fault.empty()) return;
  constexpr int64_t kMost = 1'000'000;
  const bool whole = least.Int() != nullptr && greatest.Int() != nullptr;
  if (!whole ||
      (*greatest.Int() > *least.Int() &&
       static_cast<uint64_t>(*greatest.Int()) - static_cast<uint64_t>(*least.Int()) > kMost)) {
    evaluation_.fault = "range counts from one whole number to another, a million at most";
    evaluation_.fault_place = step.expression.place;
    return;
  }
  if (step.slot < 0) {
    const Value counted = Evaluate(step.counted, slots_, evaluation_);
    if (counted.Int() != nullptr && !(counted < least) && !(greatest < counted)) From(at + 1);
    return;
  }
  for (int64_t i = *least.Int(); i <= *greatest.Int(); ++i) {
    slots_[static_cast<size_t>(step.slot)] = Value(i);
    From(at + 1);
    if (i == INT64_MAX) break;
  }
}

}  // namespace wf::ndlog
