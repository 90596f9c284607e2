#include "lang/query/compile.h"

#include <algorithm>

#include "lang/query/advice_builder.h"
#include "lang/query/advice_plan.h"
#include "lang/query/join_tree.h"

namespace wf::query {
namespace {

BlockPlan PlainPlan(const Block& block) {
  BlockPlan plan;
  plan.nodes.resize(block.nodes.size());
  plan.groups.resize(block.nodes.size());
  plan.aggregate_state.resize(block.aggregates.size());
  for (uint32_t i = 0; i < block.aggregates.size(); ++i) plan.aggregates.push_back(i);

  // Children stand behind their parents, so their columns are known first this way round.
  for (auto id = static_cast<uint32_t>(block.nodes.size()); id-- > 0;) {
    const Node& node = block.nodes[id];
    NodePlan& here = plan.nodes[id];
    here.filters.resize(node.Children().size() + 1);
    if (node.groups) plan.groups[id] = std::make_unique<BlockPlan>(PlainPlan(*node.groups));
    here.columns = node.terms;
    for (const uint32_t child : node.Children()) {
      const std::vector<TermId>& columns = plan.nodes[child].columns;
      here.columns.insert(here.columns.end(), columns.begin(), columns.end());
    }
  }
  for (const Condition& condition : block.where) {
    const Node& home = block.nodes[condition.home];
    const size_t unpacked = home.filtered() ? home.inner.size() : home.outer.size();
    plan.nodes[condition.home].filters[unpacked].push_back(condition.term);
  }
  return plan;
}

}  // namespace

Result<Compiled> Compile(const Query& query) {
  WF_ASSIGN(const auto block, BuildJoinTree(query));
  return BuildAdvice(query, *block, PlainPlan(*block));
}

std::vector<TracepointReads> ReadsOf(const advice::Program& program) {
  std::vector<TracepointReads> reads;
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  };
  for (const advice::Advice& advice : program.advice) {
    for (const std::string& tracepoint : advice.tracepoints) {
      auto at = std::find_if(reads.begin(), reads.end(),
                             [&](const auto& one) { return one.tracepoint == tracepoint; });
      if (at == reads.end()) at = reads.insert(reads.end(), {tracepoint, {}});
      for (const advice::Step& step : advice.steps)
        if (const auto* observe = std::get_if<advice::Observe>(&step))
          add(at->variables, observe->variables);
    }
  }
  return reads;
}

}  // namespace wf::query
