#include <algorithm>

#include "model/repair_passes.h"

namespace wf {

void GiveOwnIds(BuildState& state) {
  Trace& trace = state.trace;
  std::vector<uint64_t> ids;
  for (const auto& [id, group] : state.same_id) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const uint64_t id : ids) {
    std::vector<uint32_t>& group = state.same_id[id];
    const auto of_kind = [&](BlockKind kind) {
      return std::find_if(group.begin(), group.end(),
                          [&](uint32_t b) { return trace.blocks[b].kind == kind; });
    };
    const auto client = of_kind(BlockKind::kClient);
    const bool shared = client != group.end() && of_kind(BlockKind::kServer) != group.end();
    // The keeper of the id comes first. Rows are handled in canonical order, so "first" does not depend on arrival.
    if (shared) std::rotate(group.begin(), client, client + 1);
    const uint32_t keeper = group[0];
    state.block_by_id.Replace(id, keeper);
    for (size_t i = 1; i < group.size(); ++i) {
      Block& block = trace.blocks[group[i]];
      const bool server = shared && block.kind == BlockKind::kServer;
      uint64_t own = DeriveId(id ^ ContentHash(state.events, block.row).lo, kRoleDuplicate);
      while (state.block_by_id.Find(own) != kNone) own = DeriveId(own, kRoleDuplicate);
      block.id = own;
      state.block_by_id.Insert(own, group[i]);
      if (server) {
        state.parent_ids[group[i]] = id;
        block.reference = ParentRef::kChildOf;
      }
      state.Record(ElementKind::kBlock, own,
                   server ? RepairPass::kSharedSpanId : RepairPass::kDuplicateId,
                   RepairValue::Id(id), RepairValue::Id(own));
    }
  }
}

}  // namespace wf
