#include "lang/query/local_query.h"

#include <algorithm>

namespace wf::query {

bool LocalQuery::Possible(const Query& query) {
  const Query* const inner = query.aliases.front().source.subquery.get();
  return query.aliases.size() == 1 && (inner == nullptr || Possible(*inner));
}

LocalQuery::LocalQuery(const Query& query, RowBuilder& rows) : rows_(rows) {
  std::vector<const Query*> queries;
  from_ = &query.aliases.front();
  while (from_->source.subquery != nullptr) {
    queries.push_back(from_->source.subquery.get());
    from_ = &queries.back()->aliases.front();
  }
  std::reverse(queries.begin(), queries.end());
  for (const Query* inner : queries) inner_.emplace_back(*inner);
}

void LocalQuery::Add(int64_t time, const advice::Tuple& values) {
  for (advice::Tuple& tuple : ExpandLists(values)) {
    bool passes = true;
    for (const RowBuilder& level : inner_) {
      passes = level.Passes(tuple);
      if (!passes) break;
      tuple = level.Select(time, tuple);
    }
    if (passes && rows_.Passes(tuple)) rows_.Add(time, tuple);
  }
}

}  // namespace wf::query
