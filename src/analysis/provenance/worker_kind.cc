#include "analysis/provenance/worker_kind.h"

#include <algorithm>
#include <map>
#include <set>

namespace wf::provenance {
namespace {

using Intervals = std::vector<std::pair<Nanos, Nanos>>;

// One thread works on two requests at the same time: it turns to others while it waits.
bool ThreadsInterleave(const std::vector<WorkerUse>& uses) {
  std::map<std::string, Intervals> by_thread;
  for (const WorkerUse& use : uses) by_thread[use.thread].emplace_back(use.start, use.end);
  return std::any_of(by_thread.begin(), by_thread.end(),
                     [](const auto& thread) { return MostAtOnce(thread.second) > 1; });
}

// A request that waited began when something ended. If that was another request, the worker was kept until
// then; if it was a stretch within one, the worker was given up while that request waited for something else.
struct LetIn {
  int64_t by_request = 0, by_stretch = 0;
};
LetIn CountLetIn(const std::vector<WorkerUse>& uses) {
  std::vector<Nanos> ends, stretches;
  for (const WorkerUse& use : uses) {
    ends.push_back(use.end);
    for (const auto& segment : use.segments) {
      if (segment.second < use.end) stretches.push_back(segment.second);
    }
  }
  std::sort(ends.begin(), ends.end());
  std::sort(stretches.begin(), stretches.end());
  LetIn found;
  for (const WorkerUse& use : uses) {
    const Nanos waited = SaturatingSub(use.start, use.ready);
    if (waited <= 0) continue;
    // A thread needs some time to take over; a tenth of the wait, at most a millisecond, separates cause from
    // chance.
    const Nanos near = std::min(waited / 10, kMilli);
    const auto ended = [&](const std::vector<Nanos>& times) {
      const auto at = std::upper_bound(times.begin(), times.end(), use.start);
      return at != times.begin() && *(at - 1) >= SaturatingSub(use.start, near);
    };
    found.by_request += ended(ends);
    found.by_stretch += ended(stretches);
  }
  return found;
}

}  // namespace

int64_t MostAtOnce(Intervals intervals) {
  std::vector<std::pair<Nanos, int>> changes;
  changes.reserve(2 * intervals.size());
  int64_t most = 0, now = 0;
  for (const auto& [start, end] : intervals) {
    most = 1;
    if (start >= end) continue;
    changes.emplace_back(start, 1);
    changes.emplace_back(end, -1);
  }
  std::sort(changes.begin(), changes.end());  // ends before starts
  for (const auto& [time, change] : changes) {
    now += change;
    most = std::max(most, now);
  }
  return most;
}

WorkerJudgement JudgeWorkers(const std::vector<WorkerUse>& uses, const WorkerRule* rule) {
  WorkerJudgement judged;
  Intervals whole, stretches;
  std::set<std::string> threads;
  bool threads_known = !uses.empty();
  for (const WorkerUse& use : uses) {
    whole.emplace_back(use.start, use.end);
    stretches.insert(stretches.end(), use.segments.begin(), use.segments.end());
    threads.insert(use.thread);
    threads_known = threads_known && !use.thread.empty();
  }
  const int64_t requests_at_once = MostAtOnce(whole), stretches_at_once = MostAtOnce(stretches);

  if (rule != nullptr && rule->kind) {
    judged.kind = *rule->kind;
    judged.kind_by = ToldBy::kConfig;
  } else if (threads_known) {
    judged.kind = ThreadsInterleave(uses) ? ServerKind::kAsynchronous : ServerKind::kSynchronous;
    judged.kind_by = ToldBy::kThreads;
  } else {
    const LetIn let_in = CountLetIn(uses);
    if (let_in.by_request != let_in.by_stretch) {
      judged.kind = let_in.by_request > let_in.by_stretch ? ServerKind::kSynchronous
                                                          : ServerKind::kAsynchronous;
      judged.kind_by = ToldBy::kWaits;
    } else {
      // Many open requests and never two running: one thread that switches to whichever is ready.
      const bool one_at_work = requests_at_once > 1 && stretches_at_once == 1;
      judged.kind = one_at_work ? ServerKind::kAsynchronous : ServerKind::kSynchronous;
    }
  }

  const int64_t at_once =
      judged.kind == ServerKind::kSynchronous ? requests_at_once : stretches_at_once;
  judged.workers = std::max<int64_t>(1, at_once);
  if (rule != nullptr && rule->workers) {
    judged.workers_by = ToldBy::kConfig;
    judged.workers = std::max(judged.workers, *rule->workers);
  } else if (threads_known && static_cast<int64_t>(threads.size()) >= judged.workers) {
    judged.workers_by = ToldBy::kThreads;
    judged.workers = static_cast<int64_t>(threads.size());
  }
  return judged;
}

std::string_view ServerKindName(ServerKind kind) {
  return kind == ServerKind::kSynchronous ? "synchronous" : "asynchronous";
}

std::string_view ToldByName(ToldBy by) {
  static constexpr std::string_view kNames[] = {"config", "threads", "waits", "concurrency"};
  return kNames[static_cast<size_t>(by)];
}

}  // namespace wf::provenance
