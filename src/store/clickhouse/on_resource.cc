// What ran on a resource: `resource_events` gives the places of the first rows in order, the events themselves follow by
// trace. Both queries answer with what was asked for and no more, however much ran there.
//
// Which rows overlap [from, until): those that begin in it, and those that began earlier and are long enough. Rows are
// sorted by resource, class of length (event_rows.h) and start, so each class gives one range of starts.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/clickhouse/store_impl.h"
#include "store/match.h"
#include "store/resource_rows.h"

namespace wf::store::clickhouse {
namespace {

constexpr size_t kPlacesPerRead = 2000;

// The key that fewest events share comes first in the sorting key; the others are looked up in the row.
int Rank(ResourceKey key) {
  switch (key) {
    case ResourceKey::kResource:
      return 0;
    case ResourceKey::kPool:
      return 1;
    case ResourceKey::kPartition:
      return 2;
    case ResourceKey::kInstance:
      return 3;
    case ResourceKey::kThread:
      return 4;
    case ResourceKey::kPid:
      return 5;
    case ResourceKey::kHost:
      return 6;
  }
  return 7;
}

std::string Overlapping(TimeRange time) {
  std::string out;
  if (time.until != INT64_MAX) out += fmt::format(" AND start_ns < {}", time.until);
  if (time.from == INT64_MIN) return out;
  out += fmt::format(" AND (ends_ns > {0} OR start_ns >= {0})", time.from);
  // The same once more, as ranges of the sorting key.
  std::string classes;
  for (int c = 0; c < clickhouse::kLengthClasses; ++c) {
    const Nanos first = SaturatingSub(time.from, clickhouse::LongestOfClass(c));
    classes += classes.empty() ? "" : " OR ";
    classes += first == INT64_MIN ? fmt::format("length_class = {}", c)
                                  : fmt::format("(length_class = {} AND start_ns >= {})", c, first);
  }
  return out + " AND (" + classes + ")";
}

std::string Behind(const ResourceCursor& c) {
  return fmt::format(
      " AND start_ns >= {0} AND (start_ns > {0} OR (trace_hi, trace_lo, id1, content_hi, "
      "content_lo) > (toUInt64({1}), toUInt64({2}), toUInt64({3}), toUInt64({4}), toUInt64({5})))",
      c.start_ns, c.trace_id.hi, c.trace_id.lo, c.id1, c.content.hi, c.content.lo);
}

}  // namespace

Result<ResourcePage> ClickhouseStore::OnResource(const std::string& tenant,
                                                 const ResourceQuery& query) {
  ResourceRows rows(tenant, query);
  if (query.limit == 0) return rows.Finish();
  std::vector<std::pair<ResourceKey, std::string>> keys = query.keys;
  std::stable_sort(keys.begin(), keys.end(),
                   [](const auto& a, const auto& b) { return Rank(a.first) < Rank(b.first); });
  // A process without a host has the empty one, which is no row of its own; and no key at all asks for every event.
  // Then the events themselves are looked through.
  const auto is_row = [](const auto& key) {
    return key.first != ResourceKey::kHost || !key.second.empty();
  };
  const bool by_resource = !keys.empty() && is_row(keys.front());
  const char* const all_resources = by_resource ? "also" : "resources";
  std::string where = "tenant = " + clickhouse::Quote(tenant);
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string resource =
        clickhouse::Quote(clickhouse::ResourceText(keys[i].first, keys[i].second));
    if (!is_row(keys[i]))
      where += fmt::format(" AND NOT arrayExists(r -> startsWith(r, 'host:'), {})", all_resources);
    else if (i == 0)
      where += " AND resource = " + resource;
    else
      where += fmt::format(" AND has({}, {})", all_resources, resource);
  }
  where += Overlapping(query.time);
  if (query.cursor) where += Behind(*query.cursor);
  WF_ASSIGN(const std::string answer,
            client_.AskAny("looking up a resource",
                           fmt::format("SELECT DISTINCT start_ns, trace_hi, trace_lo, id1, "
                                       "content_hi, content_lo FROM {} WHERE {} ORDER BY start_ns, "
                                       "trace_hi, trace_lo, id1, content_hi, content_lo LIMIT {} "
                                       "FORMAT RowBinary",
                                       names_.All(by_resource ? "resource_events" : "events"),
                                       where, query.limit + 1)));
  clickhouse::RowReader reader(answer);
  std::vector<ResourceCursor> places;
  while (reader.more()) {
    ResourceCursor place;
    place.start_ns = reader.Number<int64_t>();
    place.trace_id.hi = reader.Number<uint64_t>();
    place.trace_id.lo = reader.Number<uint64_t>();
    place.id1 = reader.Number<uint64_t>();
    place.content.hi = reader.Number<uint64_t>();
    place.content.lo = reader.Number<uint64_t>();
    places.push_back(place);
  }
  WF_TRY(reader.status());
  for (size_t at = 0; at < places.size(); at += kPlacesPerRead) {
    const size_t end = std::min(places.size(), at + kPlacesPerRead);
    std::vector<TraceId> ids;
    std::vector<uint64_t> contents;
    for (size_t i = at; i < end; ++i) {
      ids.push_back(places[i].trace_id);
      contents.push_back(places[i].content.lo);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    WF_ASSIGN(const EventBatch events,
              ReadWhere(tenant,
                        fmt::format("{} AND content_lo IN ({})",
                                    clickhouse::WhereTraces(tenant, ids), fmt::join(contents, ",")),
                        {}, "reading what ran on a resource"));
    rows.Offer(events);
  }
  return rows.Finish();
}

}  // namespace wf::store::clickhouse
