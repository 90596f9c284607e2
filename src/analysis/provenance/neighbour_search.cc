#include "analysis/provenance/neighbour_search.h"

#include <algorithm>
#include <set>

namespace wf::provenance {
namespace {

// Stretches of one place closer than this are asked for at once: a query costs a millisecond or two, whatever it finds.
constexpr Nanos kJoinStretches = 20 * kMilli;

std::string_view ProcessHost(const Trace& trace, const Block& block) {
  if (block.process == kNone) return {};
  return trace.events->str(trace.events->processes[trace.processes[block.process]].host);
}

// Of the block's process; none where it tells neither of an instance nor of a host.
std::vector<std::pair<PlaceKey, std::string>> ProcessKeys(const Trace& trace, const Block& block) {
  std::vector<std::pair<PlaceKey, std::string>> keys;
  if (const auto instance = BlockAttribute(trace, block, "service.instance.id")) {
    keys.emplace_back(PlaceKey::kInstance, *instance);
  } else if (const std::string_view host = ProcessHost(trace, block); !host.empty()) {
    keys.emplace_back(PlaceKey::kHost, host);
    if (const auto pid = BlockAttribute(trace, block, "process.pid"))
      keys.emplace_back(PlaceKey::kPid, *pid);
  }
  return keys;
}

class NeighbourSearch {
 public:
  NeighbourSearch(const NeighbourOptions& options, NeighbourSource& source)
      : options_(options), source_(source) {}

  Result<int64_t> Run(const std::vector<NeighbourWindow>& windows) {
    least_wait_ = INT64_MAX;
    TraceStretches fresh;
    for (const NeighbourWindow& window : windows) {
      const Nanos length = SaturatingSub(window.until_ns, window.from_ns);
      least_wait_ = std::min(least_wait_, std::max<Nanos>(1, length / 1000));
      Extend(fresh, window.trace, {window.from_ns, window.until_ns});
    }
    looked_at_ = fresh;
    Stretch whole = {INT64_MAX, INT64_MIN};
    for (const auto& [id, within] : fresh)
      whole = {std::min(whole.first, within.first), std::max(whole.second, within.second)};
    for (int round = 0; !fresh.empty() && round < options_.rounds; ++round) {
      TraceStretches found;
      WF_TRY(FindAt(PlacesOf(fresh), found));
      std::vector<TraceId> unread;
      for (const auto& [id, stretch] : found) {
        if (source_.Find(id) == nullptr) unread.push_back(id);
      }
      WF_TRY(source_.ReadTraces(unread));
      // Whom their spans link to is a cause, whenever it was; that it waited counts within the request's time.
      const std::vector<TraceId> linked = LinkedTo(fresh);
      WF_TRY(source_.ReadTraces(linked));
      for (const TraceId& id : linked) {
        if (source_.Find(id) != nullptr) Extend(found, id, whole);
      }
      fresh = NotYetLookedAt(found);
    }
    return waits_ignored_;
  }

 private:
  struct Wanted {
    NeighbourPlace place;
    std::vector<Stretch> stretches;  // as recorded there
    Nanos offset = 0;                // of its host's clock
  };
  using Wants = std::map<std::string, Wanted>;  // by the place's name

  // Where these traces waited within their stretches.
  Wants PlacesOf(const TraceStretches& fresh) {
    const bool locks = options_.locks == NeighbourOptions::WatchedLocks::kStored;
    Wants wants;
    for (const auto& [id, within] : fresh) {
      const Trace* trace = source_.Find(id);
      if (trace == nullptr) continue;
      for (const TraceWait& wait : FindWaits(*trace)) Want(*trace, wait, within, wants);
      if (locks) WantWatchedLocks(*trace, within, wants);
    }
    if (locks) {
      for (const LockWait& lock : FindLockWaits(source_.traces())) {
        const auto within = looked_at_.find(lock.trace->id);
        if (within != looked_at_.end()) Want(*lock.trace, lock.wait, within->second, wants);
      }
    }
    return wants;
  }

  static void AddPlace(const std::string& name, NeighbourPlace place, Stretch stretch, Nanos offset,
                       Wants& wants) {
    Wanted& wanted = wants[name];
    wanted.place = std::move(place);
    wanted.stretches.push_back(stretch);
    wanted.offset = offset;
  }

  // Locks that were watched from outside are in traces of their own: what its threads did meanwhile.
  void WantWatchedLocks(const Trace& trace, Stretch within, Wants& wants) const {
    for (const ThreadWork& work : FindThreadWork(trace)) {
      const Block& block = trace.blocks[work.block];
      const Nanos from = std::max(work.start_ns, within.first);
      const Nanos until = std::min(work.end_ns, within.second);
      if (SaturatingSub(until, from) < least_wait_) continue;
      NeighbourPlace place;
      place.keys = ProcessKeys(trace, block);
      if (place.keys.empty()) continue;
      const std::string thread(ThreadOf(trace, block));
      place.keys.emplace_back(PlaceKey::kThread, thread);
      const Nanos offset = SaturatingSub(block.raw_start_ns, block.start_ns);
      AddPlace(ProcessName(trace, block) + " thread " + thread, std::move(place),
               {SaturatingAdd(from, offset), SaturatingAdd(until, offset)}, offset, wants);
    }
  }

  void Want(const Trace& trace, const TraceWait& wait, Stretch within, Wants& wants) {
    const Block& block = trace.blocks[wait.block];
    if (block.stand_in()) return;
    const Nanos from = std::max(wait.from_ns, within.first);
    const Nanos until = std::min(wait.until_ns, within.second);
    if (from >= until) return;
    if (SaturatingSub(until, from) < least_wait_) {
      ++waits_ignored_;
      return;
    }
    // The source knows what hosts recorded.
    const Nanos offset = SaturatingSub(block.raw_start_ns, block.start_ns);
    const Stretch stretch = {SaturatingAdd(from, offset), SaturatingAdd(until, offset)};
    NeighbourPlace process;
    process.keys = ProcessKeys(trace, block);
    process.service = trace.service(block);
    AddPlace(ProcessName(trace, block), std::move(process), stretch, offset, wants);
    if (const auto partition = BlockAttribute(trace, block, "messaging.destination.partition.id"))
      AddPlace("partition " + *partition, {{{PlaceKey::kPartition, *partition}}, ""}, stretch,
               offset, wants);
    for (const std::string& name : BlockAttributeValues(trace, block, "wherefore.resource"))
      AddPlace("resource " + name, {{{PlaceKey::kResource, name}}, ""}, stretch, offset, wants);
  }

  Status FindAt(Wants wants, TraceStretches& found) {
    for (auto& [name, wanted] : wants) {
      const std::vector<Stretch> stretches = NotYetAsked(name, std::move(wanted.stretches));
      WF_TRY(source_.FindAt(wanted.place, stretches, wanted.offset, found));
    }
    return {};
  }

  std::vector<Stretch> NotYetAsked(const std::string& place, std::vector<Stretch> stretches) {
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

  // Whom their spans link to, as far as it was not read.
  std::vector<TraceId> LinkedTo(const TraceStretches& traces) const {
    std::set<TraceId> named;
    for (const auto& [id, within] : traces) {
      const Trace* trace = source_.Find(id);
      if (trace == nullptr) continue;
      for (const SpanLink& link : FindLinks(*trace)) {
        if (source_.Find(link.trace) == nullptr) named.insert(link.trace);
      }
    }
    return {named.begin(), named.end()};
  }

  // What is new: traces, or other times of traces.
  TraceStretches NotYetLookedAt(const TraceStretches& found) {
    TraceStretches fresh;
    for (const auto& [id, stretch] : found) {
      const auto known = looked_at_.find(id);
      if (known != looked_at_.end() && known->second.first <= stretch.first &&
          stretch.second <= known->second.second)
        continue;
      fresh.emplace(id, stretch);
      Extend(looked_at_, id, stretch);
    }
    return fresh;
  }

  const NeighbourOptions& options_;
  NeighbourSource& source_;
  Nanos least_wait_ = 0;
  int64_t waits_ignored_ = 0;
  std::map<std::string, std::map<Nanos, Nanos>> asked_;  // by place: stretches, none touch
  TraceStretches looked_at_;  // up to where each trace's waits were followed
};

}  // namespace

void Extend(TraceStretches& found, TraceId id, Stretch stretch) {
  if (stretch.first > stretch.second) return;
  const auto [at, added] = found.try_emplace(id, stretch);
  if (added) return;
  at->second.first = std::min(at->second.first, stretch.first);
  at->second.second = std::max(at->second.second, stretch.second);
}

Result<int64_t> ReadNeighbours(const std::vector<NeighbourWindow>& windows,
                               const NeighbourOptions& options, NeighbourSource& source) {
  return NeighbourSearch(options, source).Run(windows);
}

}  // namespace wf::provenance
