#include "pipeline/clock_refresh.h"

#include <algorithm>
#include <map>
#include <set>

namespace wf::pipeline {
namespace {

Nanos WindowStart(Nanos time) {
  Nanos window = time / kClockWindow;
  if (time % kClockWindow < 0) --window;
  // The first window of all begins before time does.
  return window <= INT64_MIN / kClockWindow ? INT64_MIN / kClockWindow * kClockWindow
                                            : window * kClockWindow;
}

}  // namespace

Status RefreshClocks(store::ClockStore& store, const std::string& tenant, store::TimeRange time) {
  // A call sent in one window may be answered in the next: whole windows, and one more on each side.
  store::TimeRange windows{SaturatingSub(WindowStart(time.from), kClockWindow),
                           SaturatingAdd(time.until, kClockWindow)};
  WF_ASSIGN(const auto exchanges, store.ReadExchanges(tenant, windows));
  if (exchanges.empty()) return {};
  // What was in force before the first of them, and what is stored for them.
  WF_ASSIGN(const auto stored,
            store.ReadClocks(tenant, {SaturatingSub(windows.from, 1), windows.until}));
  const auto solved = SolveClocks(exchanges, stored);

  // A host's unchanged offsets at both ends need no writing; what lies between is replaced as a whole.
  std::map<std::pair<std::string_view, Nanos>, const ClockOffset*> known;
  for (const ClockOffset& offset : stored) known[{offset.host, offset.from_ns}] = &offset;
  const auto is_new = [&](const ClockOffset& offset) {
    const auto at = known.find({offset.host, offset.from_ns});
    return at == known.end() || at->second->offset_ns != offset.offset_ns ||
           at->second->error_ns != offset.error_ns;
  };
  std::vector<ClockOffset> changed;
  for (size_t begin = 0, end; begin < solved.size(); begin = end) {
    for (end = begin; end < solved.size() && solved[end].host == solved[begin].host;) ++end;
    const auto first = std::find_if(solved.begin() + static_cast<ptrdiff_t>(begin),
                                    solved.begin() + static_cast<ptrdiff_t>(end), is_new);
    auto last = solved.begin() + static_cast<ptrdiff_t>(end);
    while (last != first && !is_new(*(last - 1))) --last;
    changed.insert(changed.end(), first, last);
  }
  return store.WriteClocks(tenant, changed);
}

Result<HostClocks> ClocksFor(store::ClockStore& store, const std::string& tenant,
                             const EventBatch& events) {
  if (events.empty()) return HostClocks();
  store::TimeRange time{INT64_MAX, INT64_MIN};
  std::map<std::string_view, Nanos> first_seen;
  for (size_t row = 0; row < events.size(); ++row) {
    const Nanos start = events.start_ns[row];
    time.from = std::min(time.from, start);
    time.until = std::max({time.until, start, events.end_ns[row]});
    const std::string_view host = events.str(events.processes[events.process[row]].host);
    if (host.empty()) continue;
    const auto [at, fresh] = first_seen.try_emplace(host, start);
    if (!fresh) at->second = std::min(at->second, start);
  }
  if (first_seen.empty()) return HostClocks();
  const store::TimeRange around{SaturatingSub(time.from, kClockWindow),
                                SaturatingAdd(time.until, kClockWindow)};
  WF_ASSIGN(auto stored, store.ReadClocks(tenant, around));
  if (first_seen.size() > 1) {
    // A window is the caller's: a host whose clock is off may stand in that of another.
    std::set<Nanos> windows;
    for (const auto& [host, first] : first_seen) windows.insert(WindowStart(first));
    const bool unsolved = std::any_of(first_seen.begin(), first_seen.end(), [&](const auto& seen) {
      return std::none_of(stored.begin(), stored.end(), [&](const ClockOffset& offset) {
        return offset.host == seen.first && windows.count(offset.from_ns) != 0;
      });
    });
    if (unsolved) {
      WF_TRY(RefreshClocks(store, tenant, time));
      WF_ASSIGN(stored, store.ReadClocks(tenant, around));
    }
  }
  return HostClocks(stored);
}

}  // namespace wf::pipeline
