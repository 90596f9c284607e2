// The decisions of a plan for each node of a join tree; advice_builder.h turns them into steps. compile.cc
// and rewrite.cc differ only in these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "advice/aggregate.h"
#include "lang/query/join_tree.h"

namespace wf::query {

// An aggregate computed where a node packs, and merged on the way to the block's From.
struct TravellingState {
  advice::Aggregate aggregate;
  TermId argument = 0;
  uint32_t made_at = 0;
};

struct NodePlan {
  // filters[i]: conditions tested when i of the node's children are unpacked.
  std::vector<std::vector<TermId>> filters;
  // What is packed; for an aggregated sub-query: which of its columns the outer query reads. Not for From's
  // node.
  std::vector<TermId> columns;
  std::vector<uint32_t> states;  // indices into BlockPlan::states
};

struct BlockPlan {
  std::vector<NodePlan> nodes;
  std::vector<TravellingState> states;
  std::vector<uint32_t> aggregates;  // which of Block::aggregates are computed: those that are read
  // For each of Block::aggregates: the state that holds it, if any.
  std::vector<std::optional<uint32_t>> aggregate_state;
  std::vector<std::unique_ptr<BlockPlan>> groups;  // for each node that has a block
};

// The plan that rewrite.h describes. Conditions on the keys of aggregated sub-queries are moved into their
// blocks.
BlockPlan PlanRewritten(Block& block);

}  // namespace wf::query
