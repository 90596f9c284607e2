#include "analysis/lineage/sync_edges.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "recorder/reader/replay.h"

namespace wf::lineage {
namespace {

using recorder::Action;
using recorder::Recording;
using recorder::Role;
using recorder::SubId;

// A release that no later one of the object covers.
struct Release {
  SubId sub = 0;
  uint32_t thread = 0;
  uint64_t number = 0;  // of the actions of the object
  bool to_all = false;  // else only writers see it: of a read lock
};

// How far a thread has acquired the object: all of it, and what writers released.
struct Seen {
  uint64_t all = 0, by_writers = 0;
};

struct ObjectState {
  std::vector<Release> for_all;      // what an acquire of everything takes up
  std::vector<Release> for_readers;  // what a read lock does
  std::unordered_map<uint32_t, Seen> seen;
  uint64_t actions = 0;
};

class EdgeFinder {
 public:
  explicit EdgeFinder(const Recording& recording)
      : r_(recording), objects_(recording.objects.size()) {}

  std::vector<SyncEdge> Run() {
    recorder::ReplayVisitor visitor;
    visitor.release = [this](SubId sub, const Action& action) { Released(sub, action); };
    visitor.acquire = [this](SubId sub, const Action& action) { Acquired(sub, action); };
    recorder::Replay(r_, visitor);
    std::sort(edges_.begin(), edges_.end(), [](const SyncEdge& a, const SyncEdge& b) {
      return std::tie(a.from, a.to, a.object) < std::tie(b.from, b.to, b.object);
    });
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    return std::move(edges_);
  }

 private:
  void Released(SubId sub, const Action& action) {
    if (action.role == Role::kReleaseRound) {
      rounds_[{action.object, action.sequence}].push_back(sub);
      return;
    }
    ObjectState& object = objects_[action.object];
    const Release release{sub, r_.subs[sub].thread, ++object.actions,
                          action.role == Role::kReleaseAll};
    const Seen seen = object.seen[release.thread];
    const auto stood_for = [&](const Release& old) {
      return old.thread == release.thread || old.number < seen.all ||
             (old.to_all && old.number < seen.by_writers);
    };
    const auto add = [&](std::vector<Release>& to) {
      to.erase(std::remove_if(to.begin(), to.end(), stood_for), to.end());
      to.push_back(release);
    };
    add(object.for_all);
    if (release.to_all) add(object.for_readers);
  }

  void Acquired(SubId sub, const Action& action) {
    const uint32_t thread = r_.subs[sub].thread;
    if (action.role == Role::kAcquireRound) {
      for (const SubId from : rounds_[{action.object, action.sequence}]) {
        if (r_.subs[from].thread != thread) edges_.push_back({from, sub, action.object});
      }
      return;
    }
    ObjectState& object = objects_[action.object];
    Seen& seen = object.seen[thread];
    const bool all = action.role == Role::kAcquireAll;
    for (const Release& release : all ? object.for_all : object.for_readers) {
      const bool known =
          release.number < seen.all || (release.to_all && release.number < seen.by_writers);
      if (release.thread != thread && !known) edges_.push_back({release.sub, sub, action.object});
    }
    const uint64_t number = ++object.actions;
    seen.by_writers = number;
    if (all) seen.all = number;
  }

  const Recording& r_;
  std::vector<ObjectState> objects_;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<SubId>> rounds_;
  std::vector<SyncEdge> edges_;
};

}  // namespace

std::vector<SyncEdge> SyncEdges(const Recording& recording) { return EdgeFinder(recording).Run(); }

}  // namespace wf::lineage
