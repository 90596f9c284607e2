#include "lang/query/row_builder.h"

#include "lang/query/lowering.h"

namespace wf::query {
namespace {

// Where in a combined tuple an expression finds what it reads.
std::function<uint32_t(const Expr&)> ColumnsOf(const Query& query) {
  std::vector<uint32_t> first;
  uint32_t width = 0;
  for (const Alias& alias : query.aliases) {
    first.push_back(width);
    width += static_cast<uint32_t>(alias.columns.size());
  }
  return [first](const Expr& expr) { return first[expr.alias] + expr.column; };
}

// From's time rounded down.
advice::Value WindowOf(const Query& query, int64_t time) {
  advice::Expression bucket;
  bucket.code = {{advice::Op::kColumn, 0}, {advice::Op::kColumn, 1}, {advice::Op::kBucket, 0}};
  advice::Tuple columns;
  columns.emplace_back(time);
  columns.emplace_back(*query.window_ns);
  return advice::Evaluate(bucket, columns);
}

}  // namespace

std::vector<advice::Tuple> ExpandLists(const advice::Tuple& variables) {
  std::vector<advice::Tuple> tuples(1);
  for (const advice::Value& variable : variables) {
    const auto* list = std::get_if<advice::List>(&variable);
    if (list == nullptr) {
      for (advice::Tuple& tuple : tuples) tuple.push_back(variable);
      continue;
    }
    std::vector<advice::Tuple> wider;
    for (const advice::Tuple& tuple : tuples)
      for (const advice::Value& element : *list) {
        wider.push_back(tuple);
        wider.back().push_back(element);
      }
    tuples = std::move(wider);
  }
  return tuples;
}

bool RowBuilder::Less::operator()(const advice::Tuple& a, const advice::Tuple& b) const {
  for (size_t i = 0; i < a.size(); ++i)
    if (const int order = advice::Compare(a[i], b[i]); order != 0) return order < 0;
  return false;
}

RowBuilder::RowBuilder(const Query& query) : query_(query) {
  const auto column = ColumnsOf(query);
  for (const Expr& expr : query.where) where_.push_back(Lower(expr, column));
  for (const Expr& key : query.keys) keys_.push_back(Lower(key, column));
  for (const AggregateCall& call : query.aggregates)
    arguments_.push_back(call.argument ? Lower(*call.argument, column) : advice::Constant(true));
  // Of a group, expressions read its keys (the window before them) and its finished aggregates.
  const uint32_t window = query.window_ns ? 1 : 0;
  const auto key_count = static_cast<uint32_t>(query.keys.size());
  const auto of_group = [&](const Expr& expr) {
    return expr.kind == Expr::Kind::kKey ? window + expr.key : window + key_count + expr.aggregate;
  };
  for (const SelectItem& item : query.select)
    select_.push_back(query.grouped ? Lower(item.expr, of_group) : Lower(item.expr, column));
}

bool RowBuilder::Passes(const advice::Tuple& combined) const {
  for (const advice::Expression& condition : where_) {
    const advice::Value value = advice::Evaluate(condition, combined);
    const bool* truth = std::get_if<bool>(&value);
    if (truth == nullptr || !*truth) return false;
  }
  return true;
}

advice::Tuple RowBuilder::Select(int64_t time, const advice::Tuple& combined) const {
  advice::Tuple row;
  if (query_.window_ns) row.push_back(WindowOf(query_, time));
  for (const advice::Expression& expression : select_)
    row.push_back(advice::Evaluate(expression, combined));
  return row;
}

void RowBuilder::Add(int64_t time, const advice::Tuple& combined) {
  ++tuples_;
  if (!query_.grouped) {
    rows_.push_back(Select(time, combined));
    return;
  }
  advice::Tuple key;
  if (query_.window_ns) key.push_back(WindowOf(query_, time));
  for (const advice::Expression& expression : keys_)
    key.push_back(advice::Evaluate(expression, combined));
  auto [at, fresh] = groups_.try_emplace(key);
  Group& group = at->second;
  if (fresh) {
    group.shown = key;
    for (const AggregateCall& call : query_.aggregates)
      group.states.emplace_back(call.aggregate.kind);
  }
  for (size_t i = 0; i < key.size(); ++i)
    group.shown[i] = advice::Value(advice::ShownKey(group.shown[i], key[i]));
  for (size_t i = 0; i < arguments_.size(); ++i)
    group.states[i].Add(advice::Evaluate(arguments_[i], combined), 1);
}

std::vector<advice::Tuple> RowBuilder::Rows() const {
  if (!query_.grouped) return rows_;
  std::vector<advice::Tuple> rows;
  for (const auto& [key, group] : groups_) {
    advice::Tuple columns = group.shown;
    for (size_t i = 0; i < group.states.size(); ++i)
      columns.push_back(group.states[i].Finish(query_.aggregates[i].aggregate));
    advice::Tuple row;
    if (query_.window_ns) row.push_back(group.shown.front());
    for (const advice::Expression& expression : select_)
      row.push_back(advice::Evaluate(expression, columns));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace wf::query
