// Search: `pieces` lists the traces of every insert by time; a query gives candidates, newest first; their events decide.
//
// A trace's start is the least of its pieces'. Candidates are asked for by windows of time, the newest first, each
// looking only at pieces that begin in it or later: what began before a window seems to begin in it, until its events
// are read; it is passed over then and found again in the window where it belongs. So an answer needs no look at older
// pieces than its own, and pages have neither gap nor repeat.
//
// Conditions that pieces know (service, operation, an error) choose among pieces; attributes and the like are looked
// for in the events themselves, on each shard, and only ids of traces leave it.
#include <fmt/format.h>

#include <algorithm>

#include "store/clickhouse/store_impl.h"
#include "store/match.h"
#include "store/summary.h"

namespace wf::store::clickhouse {
namespace {

constexpr size_t kFewest = 32, kMost = 4096;  // candidates asked for at once; grows fourfold
// Most searches are for what just happened. One that finds too little there looks further back.
constexpr Nanos kFirstWindow = kHour, kSecondWindow = kDay;
constexpr Nanos kSizeKnownFor = kMinute;
constexpr size_t kMostTenantsKnown = 10'000;

struct Window {
  Nanos from, until;
};

enum class Narrow { kNo, kYes };

std::vector<Window> WindowsOf(const TraceQuery& query, Narrow narrow) {
  Nanos until = query.time.until;
  if (query.cursor) until = std::min(until, SaturatingAdd(query.cursor->start_ns, 1));
  if (narrow == Narrow::kNo) return {{query.time.from, until}};
  std::vector<Window> out;
  const Nanos newest = std::min(until, Now());
  for (const Nanos length : {kFirstWindow, kSecondWindow}) {
    const Nanos from = SaturatingSub(newest, length);
    if (from <= query.time.from) break;
    out.push_back({from, until});
    until = from;
  }
  if (query.time.from < until) out.push_back({query.time.from, until});
  return out;
}

// ends - start of a row, as match.h has it: never negative, held at the greatest.
std::string LengthAtLeast(Nanos least) {
  if (least <= 0) return "1";
  return fmt::format("toUInt64(toUInt64(ends_ns) - toUInt64(start_ns)) >= {}", least);
}
std::string LengthAtMost(Nanos most) {
  if (most < 0) return "0";
  if (most == INT64_MAX) return "1";
  return fmt::format("toUInt64(toUInt64(ends_ns) - toUInt64(start_ns)) <= {}", most);
}

}  // namespace

class ClickhouseSearch {
 public:
  ClickhouseSearch(ClickhouseStore& store, const std::string& tenant, const TraceQuery& query)
      : store_(store),
        tenant_(tenant),
        query_(query),
        in_events_(!query.attributes.empty() || query.min_span_duration_ns ||
                   query.max_span_duration_ns ||
                   (query.status && *query.status != SpanStatus::kError)) {}

  Result<SearchPage> Run() {
    SearchPage page;
    if (query_.limit == 0) return page;
    WF_ASSIGN(const bool large, store_.IsLarge(tenant_));
    for (const Window& window : WindowsOf(query_, large ? Narrow::kYes : Narrow::kNo)) {
      WF_TRY(SearchWindow(window));
      if (Enough()) break;
    }
    const bool more = Enough();
    if (more) results_.resize(query_.limit);
    if (more) page.next = SearchCursor{results_.back().start_ns, results_.back().trace_id};
    page.traces = std::move(results_);
    return page;
  }

 private:
  struct Candidate {
    Nanos start;
    TraceId id;
  };

  bool Enough() const { return results_.size() > query_.limit; }

  Status SearchWindow(const Window& window) {
    std::optional<SearchCursor> behind = query_.cursor;
    size_t chunk = std::clamp(query_.limit + 1, kFewest, kMost);
    while (true) {
      WF_ASSIGN(const std::vector<Candidate> found, Candidates(window, behind, chunk));
      WF_TRY(Decide(window, found));
      if (Enough() || found.size() < chunk) return {};
      behind = SearchCursor{found.back().start, found.back().id};
      chunk = std::min(chunk * 4, kMost);
    }
  }

  std::string Having(const Window& window, const std::optional<SearchCursor>& behind) const {
    std::string out = fmt::format("s < {}", window.until);
    if (behind) {
      out += fmt::format(
          " AND (s < {0} OR (s = {0} AND (trace_hi < {1} OR (trace_hi = {1} AND trace_lo < {2}))))",
          behind->start_ns, behind->trace_id.hi, behind->trace_id.lo);
    }
    // In doubles, whose 2^-53 the slack makes up for, because the difference may not fit in 64 bits.
    if (query_.min_duration_ns) {
      out += fmt::format(" AND toFloat64(e) - toFloat64(s) >= {} - 4096.",
                         static_cast<double>(*query_.min_duration_ns));
    }
    if (query_.max_duration_ns) {
      out += fmt::format(" AND toFloat64(e) - toFloat64(s) <= {} + 4096.",
                         static_cast<double>(*query_.max_duration_ns));
    }
    if (in_events_) return out;
    if (query_.service)
      out += fmt::format(" AND max(has(services, {})) = 1", clickhouse::Quote(*query_.service));
    if (query_.operation)
      out += fmt::format(" AND max(has(names, {})) = 1", clickhouse::Quote(*query_.operation));
    if (query_.status) out += " AND max(failed) = 1";
    return out;
  }

  // Of an event: all conditions on single rows, exactly.
  std::string RowCondition() const {
    std::string out;
    if (query_.status)
      out += fmt::format(" AND type = 0 AND status = {}", static_cast<int>(*query_.status));
    if (query_.service) out += " AND service = " + clickhouse::Quote(*query_.service);
    if (query_.operation) out += " AND name = " + clickhouse::Quote(*query_.operation);
    if (query_.min_span_duration_ns) out += " AND " + LengthAtLeast(*query_.min_span_duration_ns);
    if (query_.max_span_duration_ns) out += " AND " + LengthAtMost(*query_.max_span_duration_ns);
    for (const auto& [key, text] : query_.attributes) {
      const std::string has =
          fmt::format("arrayExists((k, t) -> k = {} AND t = {}, attr_keys, attr_texts)",
                      clickhouse::Quote(key), clickhouse::Quote(text));
      const std::string origins =
          fmt::format("(SELECT id FROM {} WHERE tenant = {} AND {})",
                      store_.names_.Local("origins"), clickhouse::Quote(tenant_), has);
      out += fmt::format(" AND ({} OR process IN {} OR scope IN {})", has, origins, origins);
    }
    return out;
  }

  Result<std::vector<Candidate>> Candidates(const Window& window,
                                            const std::optional<SearchCursor>& behind,
                                            size_t limit) {
    std::string where = fmt::format("tenant = {}", clickhouse::Quote(tenant_));
    if (window.from != INT64_MIN) where += fmt::format(" AND first_ns >= {}", window.from);
    // Pieces after the window tell how long a trace is and whom it met; only without such questions can they be left out.
    if (!query_.min_duration_ns && !HasRowConditions(query_) && window.until != INT64_MAX)
      where += fmt::format(" AND first_ns < {}", window.until);
    if (in_events_) {
      where += fmt::format(
          " AND (trace_hi, trace_lo) IN (SELECT trace_hi, trace_lo FROM {} WHERE tenant = {} "
          "AND start_ns >= {}{})",
          store_.names_.Local("events"), clickhouse::Quote(tenant_), window.from, RowCondition());
    }
    WF_ASSIGN(
        const std::string answer,
        store_.client_.AskAny(
            "searching traces",
            fmt::format("SELECT trace_hi, trace_lo, min(first_ns) AS s, max(last_ns) AS e FROM {} "
                        "WHERE {} GROUP BY trace_hi, trace_lo HAVING {} "
                        "ORDER BY s DESC, trace_hi DESC, trace_lo DESC LIMIT {} FORMAT RowBinary",
                        store_.names_.All("pieces"), where, Having(window, behind), limit)));
    std::vector<Candidate> out;
    clickhouse::RowReader reader(answer);
    while (reader.more()) {
      Candidate c;
      c.id.hi = reader.Number<uint64_t>();
      c.id.lo = reader.Number<uint64_t>();
      c.start = reader.Number<int64_t>();
      (void)reader.Number<int64_t>();
      out.push_back(c);
    }
    WF_TRY(reader.status());
    return out;
  }

  Status Decide(const Window& window, const std::vector<Candidate>& found) {
    if (found.empty()) return {};
    std::vector<TraceId> ids;
    for (const Candidate& c : found) ids.push_back(c.id);
    clickhouse::EventColumns lean;
    lean.origins = lean.attributes = lean.points = lean.rest = false;
    WF_ASSIGN(const EventBatch events,
              store_.ReadWhere(tenant_, clickhouse::WhereTraces(tenant_, ids), lean,
                               "reading found traces"));
    const std::vector<size_t> bounds = TraceBounds(events);
    for (size_t t = 0; t + 1 < bounds.size(); ++t)
      Consider(window, events, bounds[t], bounds[t + 1]);
    return {};
  }

  void Consider(const Window& window, const EventBatch& events, size_t begin, size_t end) {
    bool matches = in_events_ || !HasRowConditions(query_);
    for (size_t row = begin; row < end && !matches; ++row)
      matches = RowMatches(events, row, query_);
    if (!matches) return;
    TraceSummary summary = Summarize(events, begin, end);
    if (summary.start_ns < window.from || summary.start_ns >= window.until) return;
    if (!TraceMatches(summary, query_)) return;
    const auto newer = [](const TraceSummary& a, const TraceSummary& b) {
      return ComesBefore({a.start_ns, a.trace_id}, {b.start_ns, b.trace_id});
    };
    results_.insert(std::upper_bound(results_.begin(), results_.end(), summary, newer), summary);
  }

  ClickhouseStore& store_;
  const std::string& tenant_;
  const TraceQuery& query_;
  const bool in_events_;  // the rows' conditions are looked for in the events
  std::vector<TraceSummary> results_;
};

Result<bool> ClickhouseStore::IsLarge(const std::string& tenant) {
  const Nanos now = MonotonicNow();
  {
    const std::lock_guard lock(sizes_mutex_);
    const auto known = sizes_.find(tenant);
    if (known != sizes_.end() && now - known->second.known_at < kSizeKnownFor)
      return known->second.large;
  }
  WF_ASSIGN(const int64_t pieces,
            client_.AskAnyNumber("counting traces",
                                 fmt::format("SELECT toInt64(count()) FROM {} WHERE tenant = {} "
                                             "FORMAT RowBinary",
                                             names_.All("pieces"), clickhouse::Quote(tenant))));
  const bool large = pieces >= options_.many_traces;
  const std::lock_guard lock(sizes_mutex_);
  if (sizes_.size() > kMostTenantsKnown) sizes_.clear();
  sizes_[tenant] = {large, now};
  return large;
}

Result<SearchPage> ClickhouseStore::Search(const std::string& tenant, const TraceQuery& query) {
  return ClickhouseSearch(*this, tenant, query).Run();
}

}  // namespace wf::store::clickhouse
