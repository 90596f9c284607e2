// Written straight from the rules of docs/QUERY.md, and from nothing else: no tuple is packed, nothing is pushed down,
// and what happened before an event is found by going back along its edges. Shared with the plans it checks are only
// values, expressions and the states of aggregates.
#include "lang/query/reference.h"

#include <algorithm>
#include <functional>
#include <map>

#include "advice/program.h"
#include "lang/query/lowering.h"
#include "lang/query/rows_json.h"

namespace wf::query {
namespace {

using advice::Value;
using Columns = advice::Tuple;

// A tuple of an alias: its columns, and the event where it happens.
struct Located {
  uint32_t event = 0;
  Columns columns;
};

struct RowLess {
  bool operator()(const Columns& a, const Columns& b) const {
    for (size_t i = 0; i < a.size(); ++i)
      if (const int order = advice::Compare(a[i], b[i]); order != 0) return order < 0;
    return false;
  }
};

using Keeps = std::function<bool(uint32_t event)>;

// Where in a combined tuple, the columns of all aliases one behind the other, an expression finds what it reads.
std::function<uint32_t(const Expr&)> ColumnsOf(const Query& query) {
  std::vector<uint32_t> first;
  uint32_t width = 0;
  for (const Alias& alias : query.aliases) {
    first.push_back(width);
    width += static_cast<uint32_t>(alias.columns.size());
  }
  return [first](const Expr& expr) { return first[expr.alias] + expr.column; };
}

// From's time rounded down (rule 13).
Value WindowOf(const Query& query, int64_t time) {
  advice::Expression bucket;
  bucket.code = {{advice::Op::kColumn, 0}, {advice::Op::kColumn, 1}, {advice::Op::kBucket, 0}};
  Columns columns;
  columns.emplace_back(time);
  columns.emplace_back(*query.window_ns);
  return advice::Evaluate(bucket, columns);
}

// One row per group (rules 9 and 11). The window is the first key.
class Groups {
 public:
  explicit Groups(const Query& query) : query_(query) {
    for (const Expr& key : query.keys) keys_.push_back(Lower(key, ColumnsOf(query)));
    for (const AggregateCall& call : query.aggregates)
      arguments_.push_back(call.argument ? Lower(*call.argument, ColumnsOf(query))
                                         : advice::Constant(true));
  }

  void Add(int64_t time, const Columns& columns) {
    Columns key;
    if (query_.window_ns) key.push_back(WindowOf(query_, time));
    for (const advice::Expression& expression : keys_)
      key.push_back(advice::Evaluate(expression, columns));
    auto [group, fresh] = groups_.try_emplace(std::move(key));
    if (fresh)
      for (const AggregateCall& call : query_.aggregates)
        group->second.emplace_back(call.aggregate.kind);
    for (size_t i = 0; i < arguments_.size(); ++i)
      group->second[i].Add(advice::Evaluate(arguments_[i], columns), 1);
  }

  std::vector<Columns> Rows() const {
    const uint32_t window = query_.window_ns ? 1 : 0;
    const auto key_count = static_cast<uint32_t>(query_.keys.size());
    const auto column = [&](const Expr& expr) {
      return expr.kind == Expr::Kind::kKey ? window + expr.key
                                           : window + key_count + expr.aggregate;
    };
    std::vector<advice::Expression> select;
    for (const SelectItem& item : query_.select) select.push_back(Lower(item.expr, column));
    std::vector<Columns> rows;
    for (const auto& [key, states] : groups_) {
      Columns columns = key;
      for (size_t i = 0; i < states.size(); ++i)
        columns.push_back(states[i].Finish(query_.aggregates[i].aggregate));
      Columns row(key.begin(), key.begin() + window);
      for (const advice::Expression& expression : select)
        row.push_back(advice::Evaluate(expression, columns));
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  const Query& query_;
  std::vector<advice::Expression> keys_, arguments_;
  std::map<Columns, std::vector<advice::AggregateState>, RowLess> groups_;
};

// One request: events of different requests never join, so only the outermost groups reach across them.
class Evaluator {
 public:
  explicit Evaluator(const Execution& execution) : execution_(execution) {}

  // Calls `sink` with every combined tuple whose From event is kept and for which all Wheres are true.
  void Combined(const Query& query, const Keeps& keeps,
                const std::function<void(uint32_t event, const Columns&)>& sink) {
    const auto column = ColumnsOf(query);
    std::vector<advice::Expression> where;
    for (const Expr& expr : query.where) where.push_back(Lower(expr, column));
    std::vector<uint32_t> events(query.aliases.size());
    const std::function<void(size_t, const Columns&)> extend = [&](size_t next,
                                                                   const Columns& columns) {
      if (next == query.aliases.size()) {
        for (const advice::Expression& condition : where) {
          const Value value = advice::Evaluate(condition, columns);
          const bool* truth = std::get_if<bool>(&value);
          if (truth == nullptr || !*truth) return;
        }
        return sink(events[0], columns);
      }
      const Alias& alias = query.aliases[next];
      for (const Located& tuple : Joined(alias, events[alias.on])) {
        events[next] = tuple.event;
        Columns wider = columns;
        wider.insert(wider.end(), tuple.columns.begin(), tuple.columns.end());
        extend(next + 1, wider);
      }
    };
    for (const Located& tuple : SourceTuples(query.aliases[0])) {
      if (!keeps(tuple.event)) continue;
      events[0] = tuple.event;
      extend(1, tuple.columns);
    }
  }

  // Of a query without groups: its rows, each with its From event (rule 7).
  std::vector<Located> Tuples(const Query& query) {
    std::vector<advice::Expression> select;
    for (const SelectItem& item : query.select)
      select.push_back(Lower(item.expr, ColumnsOf(query)));
    std::vector<Located> out;
    const auto all = [](uint32_t) { return true; };
    Combined(query, all, [&](uint32_t event, const Columns& columns) {
      Located tuple{event, {}};
      if (query.window_ns)
        tuple.columns.push_back(WindowOf(query, execution_.events[event].time_ns));
      for (const advice::Expression& expression : select)
        tuple.columns.push_back(advice::Evaluate(expression, columns));
      out.push_back(std::move(tuple));
    });
    return out;
  }

 private:
  // ---- what happened before an event (rule 3)
  const std::vector<bool>& Before(uint32_t event) {
    auto [entry, fresh] = before_.emplace(event, std::vector<bool>());
    std::vector<bool>& seen = entry->second;
    if (!fresh) return seen;
    seen.assign(execution_.events.size(), false);
    std::vector<uint32_t> open = {event};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t before : execution_.events[at].after) {
        if (seen[before]) continue;
        seen[before] = true;
        open.push_back(before);
      }
    }
    return seen;
  }

  // ---- sources (rules 4 and 7)
  // Not of a sub-query with groups: that has rows only as seen from an event.
  const std::vector<Located>& SourceTuples(const Alias& alias) {
    auto [entry, fresh] = source_tuples_.emplace(&alias, std::vector<Located>());
    if (!fresh) return entry->second;
    std::vector<Located> tuples;
    if (alias.source.subquery != nullptr) {
      tuples = Tuples(*alias.source.subquery);
    } else {
      for (const uint32_t event : SourceEvents(alias)) AddEventTuples(alias, event, tuples);
    }
    return source_tuples_[&alias] = std::move(tuples);
  }

  // Events of the tracepoints; of a sub-query those where a tuple of it happens.
  std::vector<uint32_t> SourceEvents(const Alias& alias) {
    std::vector<uint32_t> events;
    if (alias.source.subquery != nullptr) {
      for (const Located& tuple : SourceTuples(alias)) events.push_back(tuple.event);
      std::sort(events.begin(), events.end());
      events.erase(std::unique(events.begin(), events.end()), events.end());
      return events;
    }
    const auto& names = alias.source.tracepoints;
    for (uint32_t i = 0; i < execution_.events.size(); ++i)
      if (std::find(names.begin(), names.end(), execution_.events[i].tracepoint) != names.end())
        events.push_back(i);
    return events;
  }

  void AddEventTuples(const Alias& alias, uint32_t event, std::vector<Located>& out) const {
    std::vector<Columns> tuples = {{}};
    for (const std::string& name : alias.columns) {
      const Value value = execution_.events[event].Variable(name);
      const auto* list = std::get_if<advice::List>(&value);
      const advice::List elements = list != nullptr ? *list : advice::List{value};
      std::vector<Columns> wider;
      for (const Columns& tuple : tuples)
        for (const Value& element : elements) {
          wider.push_back(tuple);
          wider.back().push_back(element);
        }
      tuples = std::move(wider);
    }
    for (Columns& tuple : tuples) out.push_back({event, std::move(tuple)});
  }

  // ---- filters (rule 6)
  const std::vector<int64_t>& AdjustedTimes(const Alias& alias) {
    auto [entry, fresh] = adjusted_.emplace(&alias, std::vector<int64_t>());
    if (!fresh) return entry->second;
    std::vector<int64_t> adjusted(execution_.events.size(), 0);
    const std::vector<uint32_t> events = SourceEvents(alias);
    std::vector<bool> of_source(execution_.events.size(), false);
    for (const uint32_t event : events) of_source[event] = true;
    for (const uint32_t event : execution_.order) {  // so all before it are known
      if (!of_source[event]) continue;
      adjusted[event] = execution_.events[event].time_ns;
      const std::vector<bool>& before = Before(event);
      for (const uint32_t other : events)
        if (before[other]) adjusted[event] = std::max(adjusted[event], adjusted[other] + 1);
    }
    return adjusted_[&alias] = std::move(adjusted);
  }

  std::vector<bool> Picked(const Alias& alias, const std::vector<bool>& before) {
    std::vector<uint32_t> events;
    for (const uint32_t event : SourceEvents(alias))
      if (before[event]) events.push_back(event);
    const std::vector<int64_t>& adjusted = AdjustedTimes(alias);
    std::sort(events.begin(), events.end(), [&](uint32_t a, uint32_t b) {
      if (adjusted[a] != adjusted[b]) return adjusted[a] < adjusted[b];
      return execution_.events[a].id < execution_.events[b].id;
    });
    if (alias.filter == FilterKind::kMostRecent) std::reverse(events.begin(), events.end());
    if (events.size() > alias.limit) events.resize(alias.limit);
    std::vector<bool> picked(execution_.events.size(), false);
    for (const uint32_t event : events) picked[event] = true;
    return picked;
  }

  // ---- joins (rules 5 and 8)
  // The tuples of `alias` that a tuple at event `y` joins.
  const std::vector<Located>& Joined(const Alias& alias, uint32_t y) {
    auto [entry, fresh] = joined_.emplace(std::make_pair(&alias, y), std::vector<Located>());
    if (!fresh) return entry->second;
    const std::vector<bool> before = Before(y);
    std::vector<Located> tuples;
    const Query* const subquery = alias.source.subquery.get();
    if (subquery != nullptr && subquery->grouped) {
      Groups groups(*subquery);
      Combined(
          *subquery, [&](uint32_t event) { return before[event]; },
          [&](uint32_t event, const Columns& columns) {
            groups.Add(execution_.events[event].time_ns, columns);
          });
      for (Columns& row : groups.Rows())
        tuples.push_back({0, std::move(row)});  // never right of ->, so it needs no event
    } else {
      const std::vector<bool> keeps =
          alias.filter == FilterKind::kNone ? before : Picked(alias, before);
      for (const Located& tuple : SourceTuples(alias))
        if (keeps[tuple.event]) tuples.push_back(tuple);
    }
    return joined_[{&alias, y}] = std::move(tuples);
  }

  const Execution& execution_;
  std::map<uint32_t, std::vector<bool>> before_;
  std::map<const Alias*, std::vector<Located>> source_tuples_;
  std::map<const Alias*, std::vector<int64_t>> adjusted_;
  std::map<std::pair<const Alias*, uint32_t>, std::vector<Located>> joined_;
};

// The execution request by request.
std::vector<Execution> Requests(const Execution& execution) {
  std::vector<Execution> out(execution.request_ids.size());
  std::vector<uint32_t> place(execution.events.size());
  for (size_t i = 0; i < out.size(); ++i) out[i].request_ids = {execution.request_ids[i]};
  for (const uint32_t event : execution.order) {  // so all before it have their place
    Execution& request = out[execution.request[event]];
    place[event] = static_cast<uint32_t>(request.events.size());
    request.order.push_back(place[event]);
    request.request.push_back(0);
    request.events.push_back(execution.events[event]);
    for (uint32_t& before : request.events.back().after) before = place[before];
  }
  return out;
}

}  // namespace

std::vector<advice::Tuple> EvaluateReference(const Query& query, const Execution& execution) {
  Groups groups(query);
  std::vector<Columns> rows;
  for (const Execution& request : Requests(execution)) {
    if (query.sample && !advice::Sampled(request.request_ids.front(), *query.sample)) continue;
    Evaluator evaluator(request);
    if (query.grouped) {
      evaluator.Combined(
          query, [](uint32_t) { return true; },
          [&](uint32_t event, const Columns& columns) {
            groups.Add(request.events[event].time_ns, columns);
          });
    } else {
      for (Located& tuple : evaluator.Tuples(query)) rows.push_back(std::move(tuple.columns));
    }
  }
  if (query.grouped) rows = groups.Rows();
  SortRows(rows);
  return rows;
}

}  // namespace wf::query
