#include "answer/explain/explain_load.h"

#include <algorithm>
#include <set>

#include "answer/trace/clock_answer.h"
#include "model/trace_builder.h"

namespace wf::answer {
namespace {

// So many traces tell the least one-way time between services that do not record arrivals.
constexpr size_t kOneWaySample = 50;
constexpr Nanos kOneWayAround = 10 * kMinute;
constexpr size_t kOneWayServices = 8;
constexpr size_t kReadAtOnce = 50;
// How long before a stretch a trace may have begun that still runs in it, where only starts can be searched.
constexpr Nanos kSearchBack = kMinute;

store::ResourceKey ResourceKeyOf(provenance::PlaceKey key) {
  switch (key) {
    case provenance::PlaceKey::kInstance:
      return store::ResourceKey::kInstance;
    case provenance::PlaceKey::kHost:
      return store::ResourceKey::kHost;
    case provenance::PlaceKey::kPid:
      return store::ResourceKey::kPid;
    case provenance::PlaceKey::kThread:
      return store::ResourceKey::kThread;
    case provenance::PlaceKey::kPartition:
      return store::ResourceKey::kPartition;
    case provenance::PlaceKey::kResource:
      break;
  }
  return store::ResourceKey::kResource;
}

}  // namespace

Status ExplainTraces::Read(const std::vector<TraceId>& ids) {
  std::vector<TraceId> unread;
  for (const TraceId& id : ids) {
    if (by_id_.count(id) == 0) unread.push_back(id);
  }
  std::sort(unread.begin(), unread.end());
  unread.erase(std::unique(unread.begin(), unread.end()), unread.end());
  if (unread.empty()) return {};
  WF_ASSIGN(EventBatch read, context_.store.ReadTraces(context_.tenant, unread));
  if (read.empty()) return {};
  const EventBatch& events = batches_.emplace_back(std::move(read));
  WF_ASSIGN(const HostClocks clocks, pipeline::ClocksFor(context_.store, context_.tenant, events));
  BuildOptions build;
  build.clock = clock_;
  build.now_ns = context_.now;
  build.clocks = &clocks;
  std::map<TraceId, std::vector<uint32_t>> rows;
  for (uint32_t row = 0; row < events.size(); ++row) rows[events.trace_id(row)].push_back(row);
  for (auto& [id, of_trace] : rows) {
    const Trace& trace = traces_.emplace_back(BuildTrace(events, std::move(of_trace), build));
    by_id_[id] = &trace;
    ++counts_.traces;
    counts_.spans += static_cast<int64_t>(trace.blocks.size());
  }
  return {};
}

const Trace* ExplainTraces::Find(TraceId id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : at->second;
}

std::vector<const Trace*> ExplainTraces::traces() const {
  std::vector<const Trace*> out;
  for (const auto& [id, trace] : by_id_) out.push_back(trace);
  return out;
}

Status ExplainTraces::Ask(const provenance::NeighbourPlace& place, Stretch stretch, Nanos offset,
                          provenance::TraceStretches& found) {
  store::ResourceQuery query;
  for (const auto& [key, value] : place.keys) query.keys.emplace_back(ResourceKeyOf(key), value);
  query.time = {stretch.first, stretch.second};
  query.limit = limits_.rows_a_query;
  WF_ASSIGN(const store::ResourcePage page, context_.store.OnResource(context_.tenant, query));
  ++counts_.queries;
  if (page.next) ++counts_.stretches_cut;
  const EventBatch& rows = page.rows;
  for (size_t row = 0; row < rows.size(); ++row) {
    const Process& process = rows.processes[rows.process[row]];
    if (!place.service.empty() && rows.str(process.service) != place.service) continue;
    const Nanos start = rows.start_ns[row];
    const bool ended = (rows.marks[row] & kHasEnd) && rows.end_ns[row] > start;
    const Nanos end = ended ? rows.end_ns[row] : start;
    provenance::Extend(
        found, rows.trace_id(row),
        {SaturatingSub(std::max(start, stretch.first), offset),
         SaturatingSub(std::min(std::max(end, stretch.first), stretch.second), offset)});
  }
  return {};
}

Status ExplainTraces::SearchService(const std::string& service,
                                    const std::vector<Stretch>& stretches) {
  std::vector<ServiceTraces> groups;
  for (const Stretch& stretch : stretches) {
    const Nanos from = SaturatingSub(stretch.first, kSearchBack);
    if (groups.empty() || from > groups.back().until)
      groups.push_back({from, stretch.second, from, {}});
    else
      groups.back().until = std::max(groups.back().until, stretch.second);
  }
  std::vector<ServiceTraces>& known = services_[service];
  for (ServiceTraces& group : groups) {
    const bool searched = std::any_of(known.begin(), known.end(), [&](const ServiceTraces& k) {
      return k.from <= group.from && group.until <= k.until;
    });
    if (searched || counts_.queries >= limits_.queries) continue;
    store::TraceQuery query;
    query.service = service;
    query.time = {group.from, group.until};
    query.limit = std::min(limits_.traces, limits_.rows_a_query);
    bool more = true;
    while (more && counts_.queries < limits_.queries) {
      WF_ASSIGN(const store::SearchPage page, context_.store.Search(context_.tenant, query));
      ++counts_.queries;
      group.traces.insert(group.traces.end(), page.traces.begin(), page.traces.end());
      query.cursor = page.next;
      more = page.next.has_value();
      if (group.traces.size() >= limits_.rows_a_query) break;
    }
    // Newest first: what is missing is older than the last.
    if (more) group.known_from = group.traces.empty() ? group.until : group.traces.back().start_ns;
    known.push_back(std::move(group));
  }
  return {};
}

void ExplainTraces::AskByService(const provenance::NeighbourPlace& place, Stretch stretch,
                                 Nanos offset, provenance::TraceStretches& found) {
  const Nanos from = SaturatingSub(stretch.first, kSearchBack);
  const auto& known = services_[place.service];
  const auto at = std::find_if(known.begin(), known.end(), [&](const ServiceTraces& k) {
    return k.from <= from && stretch.second <= k.until;
  });
  if (at == known.end()) {
    ++counts_.queries_left_out;
    return;
  }
  if (at->known_from > from) ++counts_.stretches_cut;
  for (const store::TraceSummary& trace : at->traces) {
    if (trace.start_ns < from || trace.start_ns >= stretch.second ||
        SaturatingAdd(trace.start_ns, trace.duration_ns) < stretch.first)
      continue;
    provenance::Extend(
        found, trace.trace_id,
        {SaturatingSub(stretch.first, offset), SaturatingSub(stretch.second, offset)});
  }
}

// Where arrivals are not recorded, the quickest calls of other times tell how long the way takes.
Status ExplainTraces::ReadOneWayTimes(const std::vector<provenance::NeighbourWindow>& windows) {
  std::set<std::string> services;
  Nanos first = INT64_MAX, last = INT64_MIN;
  for (const provenance::NeighbourWindow& window : windows) {
    const Trace* trace = Find(window.trace);
    if (trace == nullptr || !provenance::AddOneWayTimes(*trace, one_way_.least)) continue;
    first = std::min(first, window.from_ns);
    last = std::max(last, window.until_ns);
    for (const provenance::TraceWait& wait : provenance::FindWaits(*trace)) {
      const Block& block = trace->blocks[wait.block];
      if (!block.stand_in()) services.insert(std::string(trace->service(block)));
    }
  }
  size_t asked = 0;
  for (const std::string& service : services) {
    if (one_way_.sampled.count(service) != 0) continue;
    if (asked++ == kOneWayServices) break;
    one_way_.sampled.insert(service);
    store::TraceQuery query;
    query.service = service;
    query.time = {SaturatingSub(first, kOneWayAround), SaturatingAdd(last, kOneWayAround)};
    query.limit = kOneWaySample;
    WF_ASSIGN(const store::SearchPage page, context_.store.Search(context_.tenant, query));
    std::vector<TraceId> ids;
    for (const store::TraceSummary& trace : page.traces) ids.push_back(trace.trace_id);
    ExplainTraces sample(context_, clock_, one_way_);
    WF_TRY(sample.Read(ids));
    for (const Trace* trace : sample.traces()) provenance::AddOneWayTimes(*trace, one_way_.least);
  }
  return {};
}

Status ExplainTraces::FindAt(const provenance::NeighbourPlace& place,
                             const std::vector<Stretch>& stretches, Nanos offset,
                             provenance::TraceStretches& found) {
  const bool by_service = place.keys.empty();
  if (by_service) WF_TRY(SearchService(place.service, stretches));
  for (const Stretch& stretch : stretches) {
    if (by_service)
      AskByService(place, stretch, offset, found);
    else if (counts_.queries >= limits_.queries)
      ++counts_.queries_left_out;
    else
      WF_TRY(Ask(place, stretch, offset, found));
  }
  return {};
}

Status ExplainTraces::ReadTraces(const std::vector<TraceId>& ids) {
  const size_t room = limits_.traces > by_id_.size() ? limits_.traces - by_id_.size() : 0;
  size_t taken = 0;
  // A few at a time: the last of them may go beyond the limit, not thousands.
  while (taken < std::min(room, ids.size()) && !full()) {
    const size_t next = std::min({taken + kReadAtOnce, room, ids.size()});
    WF_TRY(Read(
        {ids.begin() + static_cast<ptrdiff_t>(taken), ids.begin() + static_cast<ptrdiff_t>(next)}));
    taken = next;
  }
  counts_.left_out += static_cast<int64_t>(ids.size() - taken);
  return {};
}

Status ExplainTraces::ReadNeighbours(const std::vector<provenance::NeighbourWindow>& windows) {
  WF_TRY(ReadOneWayTimes(windows));
  WF_ASSIGN(const auto lock_keys, context_.store.AttributeKeys(context_.tenant, "label:lock", 1));
  provenance::NeighbourOptions options;
  options.rounds = limits_.rounds;
  if (!lock_keys.empty()) options.locks = provenance::NeighbourOptions::WatchedLocks::kStored;
  WF_ASSIGN(const int64_t ignored, provenance::ReadNeighbours(windows, options, *this));
  counts_.waits_ignored += ignored;
  return {};
}

}  // namespace wf::answer
