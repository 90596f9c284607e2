#include <algorithm>

#include "model/repair_passes.h"

namespace wf {
namespace {

// A child names its parent by an id that several blocks had: the one of its own process, a server before a client,
// because what a server does carries the shared id as parent; a server itself hangs under the client.
uint32_t ChooseParent(const BuildState& state, uint32_t child, const std::vector<uint32_t>& group) {
  const auto& blocks = state.trace.blocks;
  const Block& block = blocks[child];
  const bool from_client = block.kind == BlockKind::kServer;
  uint32_t best = kNone;
  int best_score = -1;
  // Honest senders repeat an id a few times; of a flood the first ones do.
  constexpr size_t kMostCandidates = 64;
  for (size_t i = 0; i < std::min(group.size(), kMostCandidates); ++i) {
    const uint32_t candidate = group[i];
    if (candidate == child) continue;
    const Block& b = blocks[candidate];
    int score = 0;
    if (b.process == block.process && !from_client) score += 4;
    if (b.kind == (from_client ? BlockKind::kClient : BlockKind::kServer)) score += 2;
    if (score > best_score) {
      best = candidate;
      best_score = score;
    }
  }
  return best;
}

}  // namespace

void LinkParents(BuildState& state) {
  Trace& trace = state.trace;
  const size_t recorded = trace.blocks.size();
  for (uint32_t b = 0; b < recorded; ++b) {
    const uint64_t parent_id = state.parent_ids[b];
    if (parent_id == 0 || trace.blocks[b].parent != kNone) continue;
    uint32_t parent = state.block_by_id.Find(parent_id);
    if (!state.same_id.empty()) {
      const auto group = state.same_id.find(parent_id);
      if (group != state.same_id.end()) parent = ChooseParent(state, b, group->second);
    }
    if (parent == kNone) {
      parent = state.AddStandIn(parent_id);
      state.Record(ElementKind::kBlock, parent_id, RepairPass::kMissingParent, {},
                   RepairValue::Id(parent_id));
      state.RecordMissing(MissingWhat::kParent, parent_id);
    }
    trace.blocks[b].parent = parent;
  }
  for (uint32_t u = 0; u < trace.units.size(); ++u) {
    if (state.unit_parent_ids[u] != 0)
      trace.units[u].parent_block = state.block_by_id.Find(state.unit_parent_ids[u]);
  }
}

void BreakCycles(BuildState& state) {
  auto& blocks = state.trace.blocks;
  const size_t n = blocks.size();
  // Every block has at most one parent, so a walk up either ends, meets a block that is known to end, or closes a
  // cycle.
  enum : uint8_t { kUnseen, kOnWalk, kEnds };
  std::vector<uint8_t> seen(n, kUnseen);
  std::vector<uint32_t> walk;
  for (uint32_t b = 0; b < n; ++b) {
    walk.clear();
    uint32_t at = b;
    while (at != kNone && seen[at] == kUnseen) {
      seen[at] = kOnWalk;
      walk.push_back(at);
      at = blocks[at].parent;
    }
    if (at != kNone && seen[at] == kOnWalk) {
      uint32_t earliest = at;
      for (uint32_t c = blocks[at].parent; c != at; c = blocks[c].parent) {
        const bool earlier = std::make_pair(blocks[c].start_ns, blocks[c].id) <
                             std::make_pair(blocks[earliest].start_ns, blocks[earliest].id);
        if (earlier) earliest = c;
      }
      Block& cut = blocks[earliest];
      state.Record(ElementKind::kBlock, cut.id, RepairPass::kCycle,
                   RepairValue::Id(blocks[cut.parent].id), {});
      cut.parent = kNone;
    }
    for (const uint32_t w : walk) seen[w] = kEnds;
  }

  // Parents before children: breadth first from the roots over a child list in two flat arrays.
  std::vector<uint32_t> begin(n + 1, 0), child(n);
  for (const Block& block : blocks) {
    if (block.parent != kNone) ++begin[block.parent + 1];
  }
  for (size_t i = 0; i < n; ++i) begin[i + 1] += begin[i];
  std::vector<uint32_t> fill(begin.begin(), begin.end() - 1);
  for (uint32_t b = 0; b < n; ++b) {
    if (blocks[b].parent != kNone) child[fill[blocks[b].parent]++] = b;
  }
  state.order.clear();
  state.order.reserve(n);
  for (uint32_t b = 0; b < n; ++b) {
    if (blocks[b].parent == kNone) state.order.push_back(b);
  }
  for (size_t i = 0; i < state.order.size(); ++i) {
    const uint32_t b = state.order[i];
    state.order.insert(state.order.end(), child.begin() + begin[b], child.begin() + begin[b + 1]);
  }
}

}  // namespace wf
