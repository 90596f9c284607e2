#include "answer/explain/explain_load.h"

#include <algorithm>
#include <set>

#include "answer/trace/clock_answer.h"
#include "model/trace_builder.h"

namespace wf::answer {
namespace {

// Stretches of one place closer than this are asked for at once: a query costs a millisecond or two, whatever it finds.
constexpr Nanos kJoinStretches = 20 * kMilli;
// So many traces tell the least one-way time between services that do not record arrivals.
constexpr size_t kOneWaySample = 50;
constexpr Nanos kOneWayAround = 10 * kMinute;
constexpr size_t kOneWayServices = 8;
constexpr size_t kReadAtOnce = 50;
// How long before a stretch a trace may have begun that still runs in it, where only starts can be searched.
constexpr Nanos kSearchBack = kMinute;

std::string_view ProcessHost(const Trace& trace, const Block& block) {
  if (block.process == kNone) return {};
  return trace.events->str(trace.events->processes[trace.processes[block.process]].host);
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

void ExplainTraces::AddPlace(const std::string& name, Place place, Stretch stretch, Nanos offset,
                             Wants& wants) {
  Wanted& wanted = wants[name];
  wanted.place = std::move(place);
  wanted.stretches.push_back(stretch);
  wanted.offset = offset;
}

// Of the block's process; none where it tells neither of an instance nor of a host.
std::vector<std::pair<store::ResourceKey, std::string>> ExplainTraces::ProcessKeys(
    const Trace& trace, const Block& block) {
  std::vector<std::pair<store::ResourceKey, std::string>> keys;
  if (const auto instance = provenance::BlockAttribute(trace, block, "service.instance.id")) {
    keys.emplace_back(store::ResourceKey::kInstance, *instance);
  } else if (const std::string_view host = ProcessHost(trace, block); !host.empty()) {
    keys.emplace_back(store::ResourceKey::kHost, host);
    if (const auto pid = provenance::BlockAttribute(trace, block, "process.pid"))
      keys.emplace_back(store::ResourceKey::kPid, *pid);
  }
  return keys;
}

// Locks that were watched from outside are in traces of their own: what its threads did meanwhile.
void ExplainTraces::WantWatchedLocks(const Trace& trace, Stretch within, Wants& wants) {
  for (const provenance::ThreadWork& work : provenance::FindThreadWork(trace)) {
    const Block& block = trace.blocks[work.block];
    const Nanos from = std::max(work.start_ns, within.first);
    const Nanos until = std::min(work.end_ns, within.second);
    if (SaturatingSub(until, from) < least_wait_) continue;
    Place place;
    place.keys = ProcessKeys(trace, block);
    if (place.keys.empty()) continue;
    const std::string thread(provenance::ThreadOf(trace, block));
    place.keys.emplace_back(store::ResourceKey::kThread, thread);
    const Nanos offset = SaturatingSub(block.raw_start_ns, block.start_ns);
    AddPlace(provenance::ProcessName(trace, block) + " thread " + thread, std::move(place),
             {SaturatingAdd(from, offset), SaturatingAdd(until, offset)}, offset, wants);
  }
}

void ExplainTraces::Want(const Trace& trace, const provenance::TraceWait& wait, Stretch within,
                         Wants& wants) {
  const Block& block = trace.blocks[wait.block];
  if (block.stand_in()) return;
  const Nanos from = std::max(wait.from_ns, within.first);
  const Nanos until = std::min(wait.until_ns, within.second);
  if (from >= until) return;
  if (SaturatingSub(until, from) < least_wait_) {
    ++counts_.waits_ignored;
    return;
  }
  // The store knows what hosts recorded.
  const Nanos offset = SaturatingSub(block.raw_start_ns, block.start_ns);
  const Stretch stretch = {SaturatingAdd(from, offset), SaturatingAdd(until, offset)};
  Place process;
  process.keys = ProcessKeys(trace, block);
  process.service = trace.service(block);
  const auto attribute = [&](std::string_view key) {
    return provenance::BlockAttribute(trace, block, key);
  };
  AddPlace(provenance::ProcessName(trace, block), std::move(process), stretch, offset, wants);
  if (const auto partition = attribute("messaging.destination.partition.id"))
    AddPlace("partition " + *partition, {{{store::ResourceKey::kPartition, *partition}}, ""},
             stretch, offset, wants);
  for (const std::string& name :
       provenance::BlockAttributeValues(trace, block, "wherefore.resource"))
    AddPlace("resource " + name, {{{store::ResourceKey::kResource, name}}, ""}, stretch, offset,
             wants);
}

std::vector<ExplainTraces::Stretch> ExplainTraces::NotYetAsked(const std::string& place,
                                                               std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end());
  std::vector<Stretch> joined;
  for (const Stretch& stretch : stretches) {
    if (!joined.empty() && stretch.first <= SaturatingAdd(joined.back().second, kJoinStretches))
      joined.back().second = std::max(joined.back().second, stretch.second);
    else
      joined.push_back(stretch);
  }
  std::map<Nanos, Nanos>& asked = asked_[place];
  const auto known = [&](const Stretch& s) {
    const auto behind = asked.upper_bound(s.first);
    return behind != asked.begin() && s.second <= std::prev(behind)->second;
  };
  joined.erase(std::remove_if(joined.begin(), joined.end(), known), joined.end());
  for (const Stretch& stretch : joined) {
    Stretch whole = stretch;
    auto at = asked.upper_bound(whole.first);
    if (at != asked.begin() && std::prev(at)->second >= whole.first) --at;
    while (at != asked.end() && at->first <= whole.second) {
      whole = {std::min(whole.first, at->first), std::max(whole.second, at->second)};
      at = asked.erase(at);
    }
    asked.insert(whole);
  }
  return joined;
}

void ExplainTraces::Extend(Relevant& found, TraceId id, Stretch stretch) {
  if (stretch.first > stretch.second) return;
  const auto [at, added] = found.try_emplace(id, stretch);
  if (added) return;
  at->second.first = std::min(at->second.first, stretch.first);
  at->second.second = std::max(at->second.second, stretch.second);
}

Status ExplainTraces::Ask(const Place& place, Stretch stretch, Nanos offset, Relevant& found) {
  store::ResourceQuery query;
  query.keys = place.keys;
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
    Extend(found, rows.trace_id(row),
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

void ExplainTraces::AskByService(const Place& place, Stretch stretch, Nanos offset,
                                 Relevant& found) {
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
    Extend(found, trace.trace_id,
           {SaturatingSub(stretch.first, offset), SaturatingSub(stretch.second, offset)});
  }
}

// Where arrivals are not recorded, the quickest calls of other times tell how long the way takes.
Status ExplainTraces::ReadOneWayTimes(const std::vector<ExplainWindow>& windows) {
  std::set<std::string> services;
  Nanos first = INT64_MAX, last = INT64_MIN;
  for (const ExplainWindow& window : windows) {
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

Status ExplainTraces::AskFor(Wants& wants, Relevant& found) {
  for (auto& [name, wanted] : wants) {
    const std::vector<Stretch> stretches = NotYetAsked(name, std::move(wanted.stretches));
    const bool by_service = wanted.place.keys.empty();
    if (by_service) WF_TRY(SearchService(wanted.place.service, stretches));
    for (const Stretch& stretch : stretches) {
      if (by_service)
        AskByService(wanted.place, stretch, wanted.offset, found);
      else if (counts_.queries >= limits_.queries)
        ++counts_.queries_left_out;
      else
        WF_TRY(Ask(wanted.place, stretch, wanted.offset, found));
    }
  }
  return {};
}

Status ExplainTraces::ReadWithinLimits(const std::vector<TraceId>& ids) {
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

std::vector<TraceId> ExplainTraces::LinkedTo(const Relevant& traces) const {
  std::set<TraceId> named;
  for (const auto& [id, within] : traces) {
    const Trace* trace = Find(id);
    if (trace == nullptr) continue;
    for (const provenance::SpanLink& link : provenance::FindLinks(*trace)) {
      if (by_id_.count(link.trace) == 0) named.insert(link.trace);
    }
  }
  return {named.begin(), named.end()};
}

Status ExplainTraces::ReadNeighbours(const std::vector<ExplainWindow>& windows) {
  WF_TRY(ReadOneWayTimes(windows));
  WF_ASSIGN(const auto lock_keys, context_.store.AttributeKeys(context_.tenant, "label:lock", 1));
  locks_stored_ = !lock_keys.empty();
  least_wait_ = INT64_MAX;
  Relevant fresh;
  for (const ExplainWindow& window : windows) {
    const Nanos length = SaturatingSub(window.until_ns, window.from_ns);
    least_wait_ = std::min(least_wait_, std::max<Nanos>(1, length / 1000));
    Extend(fresh, window.trace, {window.from_ns, window.until_ns});
  }
  looked_at_ = fresh;
  Stretch whole = {INT64_MAX, INT64_MIN};
  for (const auto& [id, within] : fresh)
    whole = {std::min(whole.first, within.first), std::max(whole.second, within.second)};
  for (int round = 0; !fresh.empty() && round < limits_.rounds; ++round) {
    Wants wants;
    for (const auto& [id, within] : fresh) {
      const Trace* trace = Find(id);
      if (trace == nullptr) continue;
      for (const provenance::TraceWait& wait : provenance::FindWaits(*trace))
        Want(*trace, wait, within, wants);
      if (locks_stored_) WantWatchedLocks(*trace, within, wants);
    }
    if (locks_stored_) {
      for (const provenance::LockWait& lock : provenance::FindLockWaits(traces())) {
        const auto within = looked_at_.find(lock.trace->id);
        if (within != looked_at_.end()) Want(*lock.trace, lock.wait, within->second, wants);
      }
    }
    Relevant found;
    WF_TRY(AskFor(wants, found));
    std::vector<TraceId> unread;
    for (const auto& [id, stretch] : found) {
      if (by_id_.count(id) == 0) unread.push_back(id);
    }
    WF_TRY(ReadWithinLimits(unread));
    // Whom their spans link to is a cause, whenever it was; that it waited counts within the request's time.
    const std::vector<TraceId> linked = LinkedTo(fresh);
    WF_TRY(ReadWithinLimits(linked));
    for (const TraceId& id : linked) {
      if (Find(id) != nullptr) Extend(found, id, whole);
    }
    // Follow what is new: traces, or other times of traces.
    fresh.clear();
    for (const auto& [id, stretch] : found) {
      const auto known = looked_at_.find(id);
      if (known != looked_at_.end() && known->second.first <= stretch.first &&
          stretch.second <= known->second.second)
        continue;
      fresh.emplace(id, stretch);
      Extend(looked_at_, id, stretch);
    }
  }
  return {};
}

}  // namespace wf::answer
