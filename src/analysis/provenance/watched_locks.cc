#include "analysis/provenance/watched_locks.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace wf::provenance {
namespace {

bool IsWatch(const Trace& trace) {
  const uint32_t root = trace.main_root();
  if (root == kNone) return false;
  const Block& block = trace.blocks[root];
  return trace.str(block.name) == "locks of " + std::string(trace.service(block)) ||
         BlockAttribute(trace, block, "recording").has_value();
}

struct Worked {
  Nanos start, end;
  uint32_t trace, block;
  bool operator<(const Worked& o) const {
    return std::tie(start, o.end, trace, block) < std::tie(o.start, end, o.trace, o.block);
  }
};

}  // namespace

std::string ThreadKey(const Trace& trace, const Block& block) {
  const std::string_view thread = ThreadOf(trace, block);
  if (thread.empty() || block.process == kNone) return {};
  std::string key;
  if (const auto instance = BlockAttribute(trace, block, "service.instance.id")) {
    key = *instance;
  } else {
    const Process& process = trace.events->processes[trace.processes[block.process]];
    const auto pid = BlockAttribute(trace, block, "process.pid");
    if (process.host == 0 || !pid) return {};
    key = std::string(trace.events->str(process.host)) + ":" + *pid;
  }
  key += " ";
  key += thread;
  return key;
}

void JoinWatchedLocks(std::vector<TraceFrames>& frames) {
  std::vector<uint32_t> watches;
  for (uint32_t t = 0; t < frames.size(); ++t) {
    if (!frames[t].locks.empty() && IsWatch(*frames[t].trace)) watches.push_back(t);
  }
  if (watches.empty()) return;
  std::map<std::string, std::vector<Worked>> by_thread;
  for (uint32_t t = 0; t < frames.size(); ++t) {
    if (std::binary_search(watches.begin(), watches.end(), t)) continue;
    for (const uint32_t b : frames[t].order) {
      const std::string key = ThreadKey(*frames[t].trace, frames[t].trace->blocks[b]);
      const Frame& f = frames[t].frames[b];
      if (!key.empty()) by_thread[key].push_back({f.start, f.end, t, b});
    }
  }
  for (auto& [key, worked] : by_thread) std::sort(worked.begin(), worked.end());
  for (const uint32_t t : watches) {
    std::vector<LockUse> left;
    for (LockUse& use : frames[t].locks) {
      const auto worked =
          by_thread.find(ThreadKey(*frames[t].trace, frames[t].trace->blocks[use.block]));
      const Worked* in = nullptr;
      if (worked != by_thread.end()) {
        // The latest that began before it and lasted until it had the lock.
        const auto& list = worked->second;
        auto at = std::partition_point(list.begin(), list.end(),
                                       [&](const Worked& w) { return w.start <= use.requested; });
        while (in == nullptr && at != list.begin()) {
          --at;
          if (at->end >= use.acquired) in = &*at;
        }
      }
      if (in == nullptr) {
        left.push_back(std::move(use));
        continue;
      }
      TraceFrames& of = frames[in->trace];
      use.block = in->block;
      use.released =
          std::max(use.acquired, std::min(use.released, of.frames[of.frames[in->block].head].end));
      of.locks.push_back(std::move(use));
    }
    frames[t].locks = std::move(left);
  }
  for (TraceFrames& of : frames) {
    std::sort(of.locks.begin(), of.locks.end(), [](const LockUse& a, const LockUse& b) {
      return std::tie(a.block, a.requested, a.acquired, a.resource) <
             std::tie(b.block, b.requested, b.acquired, b.resource);
    });
  }
}

std::vector<LockWait> FindLockWaits(const std::vector<const Trace*>& traces) {
  std::vector<TraceFrames> frames;
  for (const Trace* trace : traces) frames.push_back(MakeFrames(*trace));
  JoinWatchedLocks(frames);
  std::vector<LockWait> waits;
  for (const TraceFrames& of : frames) {
    for (const LockUse& use : of.locks) {
      if (use.waited) waits.push_back({of.trace, {use.block, use.requested, use.acquired}});
    }
  }
  return waits;
}

}  // namespace wf::provenance
