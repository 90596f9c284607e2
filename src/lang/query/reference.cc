// Written straight from the rules of docs/reference/query-language.md, and from nothing else: no tuple is packed, nothing is pushed down,
// and what happened before an event is found by going back along its edges. Shared with the plans it checks are only
// values, expressions and the states of aggregates.
#include "lang/query/reference.h"

#include <algorithm>
#include <map>

#include "advice/program.h"
#include "base/nanos.h"
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

using Keeps = std::function<bool(uint32_t event)>;

class Evaluator {
 public:
  explicit Evaluator(const Execution& request) : request_(request) {}

  // Calls `sink` with every combined tuple whose From event is kept and for which all Wheres are true.
  void Combined(const Query& query, const RowBuilder& rows, const Keeps& keeps,
                const std::function<void(uint32_t event, const Columns&)>& sink) {
    std::vector<uint32_t> events(query.aliases.size());
    const std::function<void(size_t, const Columns&)> extend = [&](size_t next,
                                                                   const Columns& columns) {
      if (next == query.aliases.size()) {
        if (rows.Passes(columns)) sink(events[0], columns);
        return;
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

 private:
  // ---- what happened before an event (rule 3)
  // Valid until the next call.
  const std::vector<bool>& Before(uint32_t event) {
    constexpr size_t kKeptBits = size_t{1} << 30;  // 128 MB; a request may have 100,000 events
    if (before_.size() * request_.events.size() > kKeptBits) before_.clear();
    auto [entry, fresh] = before_.emplace(event, std::vector<bool>());
    std::vector<bool>& seen = entry->second;
    if (!fresh) return seen;
    seen.assign(request_.events.size(), false);
    std::vector<uint32_t> open = {event};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t before : request_.events[at].after) {
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
    const auto known = source_tuples_.find(&alias);
    if (known != source_tuples_.end()) return known->second;
    std::vector<Located> tuples;
    if (alias.source.subquery != nullptr) {
      const Query& query = *alias.source.subquery;
      const RowBuilder rows(query);
      const auto all = [](uint32_t) { return true; };
      Combined(query, rows, all, [&](uint32_t event, const Columns& columns) {
        tuples.push_back({event, rows.Select(request_.events[event].time_ns, columns)});
      });
    } else {
      for (const uint32_t event : SourceEvents(alias)) AddEventTuples(alias, event, tuples);
    }
    return source_tuples_[&alias] = std::move(tuples);
  }

  // Events of the tracepoints; of a sub-query those where a tuple of it happens.
  const std::vector<uint32_t>& SourceEvents(const Alias& alias) {
    const auto known = source_events_.find(&alias);
    if (known != source_events_.end()) return known->second;
    std::vector<uint32_t> events;
    if (alias.source.subquery != nullptr) {
      for (const Located& tuple : SourceTuples(alias)) events.push_back(tuple.event);
      std::sort(events.begin(), events.end());
      events.erase(std::unique(events.begin(), events.end()), events.end());
    } else {
      const auto& names = alias.source.tracepoints;
      for (uint32_t i = 0; i < request_.events.size(); ++i)
        if (std::find(names.begin(), names.end(), request_.events[i].tracepoint) != names.end())
          events.push_back(i);
    }
    return source_events_[&alias] = std::move(events);
  }

  void AddEventTuples(const Alias& alias, uint32_t event, std::vector<Located>& out) const {
    Columns variables;
    for (const std::string& name : alias.columns)
      variables.push_back(request_.events[event].Variable(name));
    for (Columns& tuple : ExpandLists(variables)) out.push_back({event, std::move(tuple)});
  }

  // ---- filters (rule 6)
  const std::vector<int64_t>& AdjustedTimes(const Alias& alias) {
    const auto known = adjusted_.find(&alias);
    if (known != adjusted_.end()) return known->second;
    std::vector<int64_t> adjusted(request_.events.size(), 0);
    const std::vector<uint32_t>& events = SourceEvents(alias);
    std::vector<bool> of_source(request_.events.size(), false);
    for (const uint32_t event : events) of_source[event] = true;
    for (const uint32_t event : request_.order) {  // so all before it are known
      if (!of_source[event]) continue;
      adjusted[event] = request_.events[event].time_ns;
      const std::vector<bool>& before = Before(event);
      for (const uint32_t other : events)
        if (before[other])
          adjusted[event] = std::max(adjusted[event], SaturatingAdd(adjusted[other], 1));
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
      return request_.events[a].id < request_.events[b].id;
    });
    if (alias.filter == FilterKind::kMostRecent) std::reverse(events.begin(), events.end());
    if (events.size() > alias.limit) events.resize(alias.limit);
    std::vector<bool> picked(request_.events.size(), false);
    for (const uint32_t event : events) picked[event] = true;
    return picked;
  }

  // ---- joins (rules 5 and 8)
  // The tuples of `alias` that a tuple at event `y` joins.
  const std::vector<Located>& Joined(const Alias& alias, uint32_t y) {
    const auto known = joined_.find({&alias, y});
    if (known != joined_.end()) return known->second;
    const std::vector<bool> before = Before(y);
    std::vector<Located> tuples;
    const Query* const subquery = alias.source.subquery.get();
    if (subquery != nullptr && subquery->grouped) {
      RowBuilder groups(*subquery);
      Combined(
          *subquery, groups, [&](uint32_t event) { return before[event]; },
          [&](uint32_t event, const Columns& columns) {
            groups.Add(request_.events[event].time_ns, columns);
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

  const Execution& request_;
  std::map<uint32_t, std::vector<bool>> before_;
  std::map<const Alias*, std::vector<Located>> source_tuples_;
  std::map<const Alias*, std::vector<uint32_t>> source_events_;
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

void EvaluateRequest(const Query& query, const Execution& request,
                     const std::function<bool(const Event&)>& keeps_from, RowBuilder& rows) {
  if (query.sample && !advice::Sampled(request.request_ids.front(), *query.sample)) return;
  Evaluator(request).Combined(
      query, rows, [&](uint32_t event) { return keeps_from(request.events[event]); },
      [&](uint32_t event, const Columns& columns) {
        rows.Add(request.events[event].time_ns, columns);
      });
}

std::vector<advice::Tuple> EvaluateReference(const Query& query, const Execution& execution) {
  RowBuilder builder(query);
  for (const Execution& request : Requests(execution))
    EvaluateRequest(
        query, request, [](const Event&) { return true; }, builder);
  std::vector<advice::Tuple> rows = builder.Rows();
  SortRows(rows);
  return rows;
}

}  // namespace wf::query
