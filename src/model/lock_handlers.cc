// One holding of a lock becomes two blocks in the unit of the block that wants it (Canopy §3.4): its wait, from
// request to acquisition, and its hold, from acquisition to release. An edge leads from the previous release of the
// same lock to the end of the wait.
#include <algorithm>
#include <map>
#include <tuple>

#include "model/event_handlers.h"

namespace wf {
namespace {

struct Hold {
  uint64_t id = 0;
  uint32_t request = kNone, acquire = kNone, release = kNone;  // rows
  uint32_t wait_block = kNone, hold_block = kNone;
  uint32_t any() const { return acquire != kNone ? acquire : request != kNone ? request : release; }
};

// The holdings that one id tells of. Usually one; an id used for the lock itself tells of one per block and round.
std::vector<Hold> SplitHolds(const BuildState& state, const std::vector<uint32_t>& rows) {
  const EventBatch& events = state.events;
  size_t count[3] = {0, 0, 0};
  const auto step = [&](uint32_t row) {
    return static_cast<size_t>(events.type[row]) - static_cast<size_t>(EventType::kLockRequest);
  };
  for (const uint32_t row : rows) ++count[step(row)];
  const bool single =
      std::all_of(std::begin(count), std::end(count), [](size_t n) { return n <= 1; });
  std::map<uint64_t, std::vector<uint32_t>> by_block;
  for (const uint32_t row : rows) by_block[single ? 0 : events.id2[row]].push_back(row);
  std::vector<Hold> holds;
  for (const auto& [block, steps] : by_block) {
    // Step of the round at hand that came last; a step not after it opens the next round.
    size_t done = 3;
    for (const uint32_t row : steps) {
      const size_t s = step(row);
      if (done == 3 || (!single && s <= done)) holds.push_back({events.id1[row]});
      Hold& hold = holds.back();
      (s == 0 ? hold.request : s == 1 ? hold.acquire : hold.release) = row;
      done = s;
    }
  }
  return holds;
}

uint32_t Part(BuildState& state, BlockKind kind, uint64_t id, uint32_t row, uint32_t from,
              uint32_t to, uint32_t name) {
  const uint32_t where = state.BlockFor(state.events.id2[row], row);
  const uint32_t b = state.AddBlock(id, row);
  Block& block = state.trace.blocks[b];
  block.kind = kind;
  block.name = name;
  block.unit = state.trace.blocks[where].unit;
  block.thread = state.trace.blocks[where].thread;
  block.parent = where;
  block.reference = ParentRef::kChildOf;
  // The block waits for the lock; while it holds it, the time is its own.
  block.marks = kind == BlockKind::kHold ? kBlockAsync : 0;
  if (from != kNone) {
    block.raw_start_ns = state.events.start_ns[from];
    block.start_ns = state.Align(state.ProcessOf(from), block.raw_start_ns);
  } else {
    block.marks |= kBlockNoStart;
  }
  if (to != kNone) {
    block.raw_end_ns = state.events.start_ns[to];
    block.end_ns = state.Align(state.ProcessOf(to), block.raw_end_ns);
  } else {
    block.marks |= kBlockNoEnd;
  }
  state.entered[b] = 1;
  state.block_by_id.Insert(id, b);
  state.block_by_id.Insert(state.events.id1[row], b);
  return b;
}

// Which lock: label:lock, else the event's name, within its process; else the id itself.
std::tuple<uint32_t, uint32_t, uint64_t> LockOf(const BuildState& state, const Hold& hold,
                                                uint32_t& name) {
  name = 0;
  for (const uint32_t row : {hold.request, hold.acquire, hold.release}) {
    if (row == kNone || name != 0) continue;
    name = state.Label(row, "lock");
    if (name == 0) name = state.NameOf(row);
  }
  const uint32_t process = state.process_index[state.ProcessOf(hold.any())];
  return {process, name, name != 0 ? 0 : hold.id};
}

// An edge from the latest release before each acquisition. A release after it is no cause: the lock was shared.
void RelateHolds(BuildState& state, std::vector<Hold>& holds) {
  Trace& trace = state.trace;
  const auto held = [&](const Hold& hold) -> const Block& { return trace.blocks[hold.hold_block]; };
  std::vector<const Hold*> released;
  for (const Hold& hold : holds) {
    if (hold.release != kNone) released.push_back(&hold);
  }
  const auto by_release = [&](const Hold* a, const Hold* b) {
    return std::make_pair(held(*a).end_ns, held(*a).id) <
           std::make_pair(held(*b).end_ns, held(*b).id);
  };
  std::sort(released.begin(), released.end(), by_release);
  for (const Hold& hold : holds) {
    if (hold.acquire == kNone) continue;
    const Nanos acquired = held(hold).start_ns;
    auto at = std::upper_bound(released.begin(), released.end(), acquired,
                               [&](Nanos time, const Hold* h) { return time < held(*h).end_ns; });
    // Itself, if it was released at once; or one that was not acquired before.
    while (at != released.begin() && (*(at - 1) == &hold || held(**(at - 1)).start_ns > acquired))
      --at;
    if (at == released.begin()) continue;
    const Block& previous = held(**(at - 1));
    const bool waited =
        hold.wait_block != kNone && trace.blocks[hold.wait_block].start_ns < previous.end_ns;
    const uint32_t to =
        hold.wait_block != kNone ? trace.blocks[hold.wait_block].end_point : held(hold).begin_point;
    state.AddEdge(previous.end_point, to, EdgeType::kLock, waited);
  }
}

}  // namespace

void HandleLock(BuildState& state, uint32_t row) { state.lock_rows.push_back(row); }

void RelateLocks(BuildState& state) {
  Trace& trace = state.trace;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::vector<Hold>> locks;
  for (const auto& group : GroupById(state, state.lock_rows)) {
    uint64_t round = 0;
    for (Hold hold : SplitHolds(state, group)) {
      uint32_t name;
      const auto lock = LockOf(state, hold, name);
      if (name == 0) name = trace.Intern("lock");
      const uint64_t source = hold.id + round++;
      if (hold.acquire != kNone || hold.release != kNone) {
        hold.hold_block = Part(state, BlockKind::kHold, DeriveId(source, kRoleHold),
                               hold.acquire != kNone ? hold.acquire : hold.release, hold.acquire,
                               hold.release, name);
      }
      if (hold.request != kNone) {
        hold.wait_block = Part(state, BlockKind::kWait, DeriveId(source, kRoleWait), hold.request,
                               hold.request, hold.acquire, name);
      }
      for (const uint32_t row : {hold.request, hold.acquire, hold.release}) {
        if (row == kNone) continue;
        const uint32_t part = row == hold.request ? hold.wait_block : hold.hold_block;
        state.Annotate(ElementKind::kBlock, part, row);
      }
      locks[lock].push_back(hold);
    }
  }
  for (auto& [lock, holds] : locks) RelateHolds(state, holds);
}

}  // namespace wf
