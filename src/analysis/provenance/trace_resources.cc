#include "analysis/provenance/trace_resources.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/provenance/trace_pools.h"
#include "analysis/provenance/worker_kind.h"

namespace wf::provenance {
namespace {

// The work of one thread for one request, from its head's start to its end.
struct Activation {
  uint32_t trace = 0, head = 0;
  std::vector<uint32_t> segments;  // drafts, by time
  std::string process, service, thread;
  bool request = false;  // it came from outside the process: a worker took it
};

// Nothing holds more at once than this; a span that names thousands is mistaken or worse.
constexpr size_t kMostHolds = 64;

class Holder {
 public:
  Holder(const std::vector<TraceFrames>& frames, const TraceExecutionOptions& options,
         std::vector<Draft>& drafts, TraceAssumptions& assumed)
      : frames_(frames), options_(options), drafts_(drafts), assumed_(assumed) {}

  HeldResources Hold() {
    CollectActivations();
    // The order matters where several are free at once: the more specific first.
    for (const Activation& activation : activations_) HoldLocks(activation);
    for (const Activation& activation : activations_) HoldPartition(activation);
    for (const Activation& activation : activations_) HoldNamed(activation);
    HoldPools();
    HoldWorkers();
    CountServers();
    return std::move(out_);
  }

 private:
  const Trace& TraceOf(const Activation& a) const { return *frames_[a.trace].trace; }
  const Frame& HeadOf(const Activation& a) const { return frames_[a.trace].frames[a.head]; }

  void CollectActivations() {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
    for (uint32_t d = 0; d < drafts_.size(); ++d) {
      const Draft& draft = drafts_[d];
      if (draft.role != DraftRole::kSegment) continue;
      const uint32_t head = frames_[draft.trace].frames[draft.block].head;
      const auto [at, added] =
          known.try_emplace({draft.trace, head}, static_cast<uint32_t>(activations_.size()));
      if (added) activations_.push_back(Describe(draft.trace, head));
      activations_[at->second].segments.push_back(d);
    }
    for (Activation& a : activations_) {
      std::sort(a.segments.begin(), a.segments.end(), [&](uint32_t x, uint32_t y) {
        return std::tie(drafts_[x].start, drafts_[x].end, x) <
               std::tie(drafts_[y].start, drafts_[y].end, y);
      });
    }
  }

  Activation Describe(uint32_t trace_index, uint32_t head) const {
    const Trace& trace = *frames_[trace_index].trace;
    const Block& block = trace.blocks[head];
    const FrameKind kind = frames_[trace_index].frames[head].kind;
    Activation a;
    a.trace = trace_index;
    a.head = head;
    a.process = ProcessName(trace, block);
    a.service = trace.service(block);
    a.thread = ThreadOf(trace, block);
    const bool comes_in = kind == FrameKind::kRemote || kind == FrameKind::kReceived ||
                          block.kind == BlockKind::kServer || block.kind == BlockKind::kConsumer;
    // The page or program that makes the request is not a server, even if it has a process of its own.
    a.request = comes_in && !block.stand_in() && block.kind != BlockKind::kClient;
    return a;
  }

  uint32_t Resource(const std::string& name) {
    const auto [at, added] = codes_.try_emplace(name, static_cast<uint32_t>(out_.names.size()));
    if (added) {
      out_.names.push_back(name);
      occupied_.emplace_back();
    }
    return at->second;
  }

  void Occupy(uint32_t draft, uint32_t resource, Nanos since) {
    // A span within another of the same resource.
    const auto& holds = drafts_[draft].holds;
    if (std::any_of(holds.begin(), holds.end(),
                    [&](const DraftHold& hold) { return hold.resource == resource; }))
      return;
    if (holds.size() >= kMostHolds) {
      ++out_.dropped;
      return;
    }
    drafts_[draft].holds.push_back({resource, since});
    occupied_[resource].emplace_back(since, drafts_[draft].end);
  }

  // The segments of an activation within [from, until] hold the resource one after another; as long as it is kept, each
  // since the one before ended. Those beside another of the same request add nothing.
  void HoldThroughout(const Activation& a, Nanos from, Nanos until, uint32_t resource) {
    Nanos covered = from;
    bool first = true;
    for (const uint32_t d : a.segments) {
      const Draft& draft = drafts_[d];
      if (draft.start < covered || draft.end > until) continue;
      const Nanos since = first ? draft.start : covered;
      if (!first && since == draft.end) continue;
      Occupy(d, resource, since);
      covered = draft.end;
      first = false;
    }
  }

  void HoldLocks(const Activation& a) {
    const TraceFrames& frames = frames_[a.trace];
    auto& locks = locks_of_[a.trace];
    if (locks.empty()) {
      for (uint32_t i = 0; i < frames.locks.size(); ++i)
        locks.emplace(frames.frames[frames.locks[i].block].head, i);
    }
    for (auto [at, end] = locks.equal_range(a.head); at != end; ++at) {
      const LockUse& use = frames.locks[at->second];
      HoldThroughout(a, use.acquired, use.released, Resource(use.resource));
    }
  }

  void HoldPartition(const Activation& a) {
    const Trace& trace = TraceOf(a);
    const Block& block = trace.blocks[a.head];
    if (block.kind != BlockKind::kConsumer) return;
    const auto partition = BlockAttribute(trace, block, "messaging.destination.partition.id");
    if (!partition) return;
    const auto destination = BlockAttribute(trace, block, "messaging.destination.name");
    const std::string name =
        "partition " + destination.value_or("") + "/" + *partition + " of " + a.service;
    HoldThroughout(a, HeadOf(a).start, HeadOf(a).end, Resource(name));
  }

  // What the spans name themselves, what a config says of them, and items of queues.
  void HoldNamed(const Activation& a) {
    const Trace& trace = TraceOf(a);
    std::set<uint32_t> blocks;
    for (const uint32_t d : a.segments) blocks.insert(drafts_[d].block);
    for (const uint32_t b : blocks) {
      const Block& block = trace.blocks[b];
      const Frame& frame = frames_[a.trace].frames[b];
      const auto hold = [&](const std::string& name) {
        HoldThroughout(a, frame.start, frame.end, Resource(name));
      };
      for (const std::string& name : BlockAttributeValues(trace, block, "wherefore.resource"))
        hold(name);
      // The called server has no span: the whole span holds the connection.
      if (const auto pool = PoolOf(trace, block); pool && !Answered(a.trace, b)) hold(*pool);
      if (block.kind == BlockKind::kWork)
        hold("queue " + std::string(trace.str(block.name)) + " of " + a.process);
      for (const ResourceRule& rule : options_.resources) {
        if (!rule.service.empty() && rule.service != a.service) continue;
        if (!rule.operation.empty() && rule.operation != trace.str(block.name)) continue;
        std::vector<std::string> names = {rule.name};
        if (!rule.attribute.empty()) {
          names = BlockAttributeValues(trace, block, rule.attribute);
          for (std::string& name : names) name = rule.name + " " + name;
        }
        for (const std::string& name : names) {
          hold(name);
          if (rule.servers) told_servers_[Resource(name)] = *rule.servers;
        }
      }
    }
  }

  // Whether a server recorded the call.
  bool Answered(uint32_t trace_index, uint32_t b) const {
    const TraceFrames& frames = frames_[trace_index];
    const Trace& trace = *frames.trace;
    for (uint32_t i = trace.children_begin[b]; i < trace.children_begin[b + 1]; ++i) {
      if (frames.frames[trace.children[i]].kind == FrameKind::kRemote) return true;
    }
    return false;
  }

  // The sending takes the connection, the answer gives it back.
  void HoldPools() {
    for (uint32_t d = 0; d < drafts_.size(); ++d) {
      const Draft& draft = drafts_[d];
      if (draft.role != DraftRole::kSend && draft.role != DraftRole::kAnswer) continue;
      const TraceFrames& frames = frames_[draft.trace];
      const Frame& f = frames.frames[draft.about];
      if (f.kind != FrameKind::kRemote) continue;
      const auto pool = PoolOf(*frames.trace, frames.trace->blocks[f.parent]);
      if (!pool || (draft.role == DraftRole::kSend && f.asked == f.sent)) continue;
      Occupy(d, Resource(*pool), f.sent);
    }
  }

  void HoldWorkers() {
    std::map<std::string, std::vector<uint32_t>> by_process;
    for (uint32_t i = 0; i < activations_.size(); ++i)
      by_process[activations_[i].process].push_back(i);
    for (const auto& [process, members] : by_process) {
      std::set<std::string> worker_threads;
      for (const uint32_t i : members) {
        if (activations_[i].request && !activations_[i].thread.empty())
          worker_threads.insert(activations_[i].thread);
      }
      // Other work in a worker's thread keeps it busy just the same.
      std::vector<uint32_t> pool;
      for (const uint32_t i : members) {
        if (activations_[i].request || worker_threads.count(activations_[i].thread) != 0)
          pool.push_back(i);
      }
      if (!pool.empty()) HoldPool(process, pool);
    }
  }

  WorkerUse UseOf(const Activation& a) const {
    WorkerUse use;
    const Frame& head = HeadOf(a);
    use.ready = head.arrived;
    use.start = head.start;
    use.end = head.start;
    use.thread = a.thread;
    for (const uint32_t d : a.segments) {
      const Draft& draft = drafts_[d];
      if (!use.segments.empty() && draft.start < use.segments.back().second) continue;
      use.segments.emplace_back(draft.start, draft.end);
      use.end = std::max(use.end, draft.end);
    }
    return use;
  }

  void HoldPool(const std::string& process, const std::vector<uint32_t>& pool) {
    std::vector<WorkerUse> uses;
    for (const uint32_t i : pool) uses.push_back(UseOf(activations_[i]));
    const std::string& service = activations_[pool[0]].service;
    const WorkerRule* rule = nullptr;
    for (const WorkerRule& known : options_.workers) {
      if (known.service == service) rule = &known;
    }
    const WorkerJudgement judged = JudgeWorkers(uses, rule);
    const uint32_t resource = Resource("workers of " + process);
    for (const uint32_t i : pool) {
      const Activation& a = activations_[i];
      if (judged.kind == ServerKind::kSynchronous) {
        HoldThroughout(a, HeadOf(a).start, INT64_MAX, resource);
        continue;
      }
      Nanos covered = INT64_MIN;
      for (const uint32_t d : a.segments) {
        if (drafts_[d].start < covered) continue;
        Occupy(d, resource, drafts_[d].start);
        covered = drafts_[d].end;
      }
    }
    told_servers_[resource] = judged.workers;
    assumed_.resources.push_back(
        {out_.names[resource], judged.workers, judged.workers_by, judged.kind, judged.kind_by});
  }

  void CountServers() {
    out_.servers.resize(out_.names.size(), 1);
    for (uint32_t r = 0; r < out_.names.size(); ++r) {
      const int64_t seen = std::max<int64_t>(1, MostAtOnce(occupied_[r]));
      const auto told = told_servers_.find(r);
      out_.servers[r] = told == told_servers_.end() ? seen : std::max(seen, told->second);
      const bool workers = std::any_of(
          assumed_.resources.begin(), assumed_.resources.end(),
          [&](const AssumedResource& known) { return known.resource == out_.names[r]; });
      if (workers) continue;
      AssumedResource said;
      said.resource = out_.names[r];
      said.servers = out_.servers[r];
      said.servers_by = told != told_servers_.end() && told->second >= seen ? ToldBy::kConfig
                                                                            : ToldBy::kConcurrency;
      assumed_.resources.push_back(std::move(said));
    }
    std::sort(assumed_.resources.begin(), assumed_.resources.end(),
              [](const auto& a, const auto& b) { return a.resource < b.resource; });
  }

  const std::vector<TraceFrames>& frames_;
  const TraceExecutionOptions& options_;
  std::vector<Draft>& drafts_;
  TraceAssumptions& assumed_;
  HeldResources out_;
  std::map<std::string, uint32_t> codes_;
  std::vector<std::vector<std::pair<Nanos, Nanos>>> occupied_;  // by resource
  std::map<uint32_t, int64_t> told_servers_;
  std::vector<Activation> activations_;
  std::map<uint32_t, std::multimap<uint32_t, uint32_t>> locks_of_;  // trace → head → lock use
};

}  // namespace

HeldResources HoldResources(const std::vector<TraceFrames>& frames,
                            const TraceExecutionOptions& options, std::vector<Draft>& drafts,
                            TraceAssumptions& assumed) {
  return Holder(frames, options, drafts, assumed).Hold();
}

}  // namespace wf::provenance
