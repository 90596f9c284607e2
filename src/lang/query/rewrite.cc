// The rules of Pivot Tracing table 3, for a join tree instead of one join P ⋈ Q:
//
//   Π   A node packs only what is read above it, and of that the largest expressions it can compute itself, so that
//       equal results become one tuple with a weight. Weights are the counts that keep the other side's SUM and COUNT
//       right: joins are bags.
//   σ   A condition is tested at the lowest node below which all it reads is known. First and MostRecent bound it: what
//       reads a filtered node's tuples is tested where they are unpacked, never before they are picked.
//   A   An aggregate whose argument is known at one node is computed where that node packs and merged above, unless
//       all that its argument is made of travels anyway: then the state would only add bytes.
//   GA  follows: keys are read above, so a node packs one tuple per combination of them.
//
// An aggregated sub-query is a block of its own. Of its columns only those read outside are finished; a condition on
// its keys alone is moved into it, because groups that fail it are never seen.
#include "lang/query/rewrite.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "lang/query/advice_builder.h"
#include "lang/query/advice_plan.h"
#include "lang/query/join_tree.h"

namespace wf::query {
namespace {

using TermSet = std::set<TermId>;

class Rewriter {
 public:
  // `read`: which columns of the block's Select are read by the query around it.
  Rewriter(Block& block, const std::vector<bool>& read) : block_(block), read_(read) {}

  BlockPlan Run();

 private:
  struct Placed {
    uint32_t node = 0;
    TermId term = 0;
  };

  bool MoveIntoGroups(const Condition& condition);
  std::optional<TermId> OverKeys(const Terms& from, TermId term, Block& groups);
  uint32_t Lift(uint32_t node, uint32_t scope) const;
  void PlaceConditions();
  void FindAggregates();
  void FindStates();
  void ChooseColumns();

  uint32_t CommonNode(const std::vector<uint32_t>& nodes) const;
  bool KnownBelow(TermId term, uint32_t node) const;
  void CollectLargest(TermId term, uint32_t node, TermSet& out) const;
  bool MadeOf(TermId term, const TermSet& columns) const;
  // What a term that is computed at `used_at` needs of every node below it.
  void Need(TermId term, uint32_t used_at);

  Block& block_;
  const std::vector<bool>& read_;
  BlockPlan plan_;
  std::vector<Placed> conditions_;
  std::vector<TermSet> needed_;  // of each node: what is read above it
};

// The lowest node at or above all of these.
uint32_t Rewriter::CommonNode(const std::vector<uint32_t>& nodes) const {
  uint32_t common = nodes.front();
  for (const uint32_t node : nodes) common = block_.CommonAncestor(common, node);
  return common;
}

bool Rewriter::KnownBelow(TermId term, uint32_t node) const {
  const std::vector<uint32_t>& nodes = block_.terms[term].nodes;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](uint32_t one) { return block_.Below(one, node); });
}

void Rewriter::CollectLargest(TermId term, uint32_t node, TermSet& out) const {
  if (block_.terms[term].nodes.empty()) return;  // constants are made where they are used
  if (KnownBelow(term, node) &&
      (!block_.nodes[node].groups || block_.terms[term].kind == Term::Kind::kColumn)) {
    out.insert(term);
    return;
  }
  for (const TermId arg : block_.terms[term].args) CollectLargest(arg, node, out);
}

bool Rewriter::MadeOf(TermId term, const TermSet& columns) const {
  if (columns.count(term) != 0) return true;
  const Term& known = block_.terms[term];
  if (known.kind == Term::Kind::kConstant) return true;
  if (known.kind != Term::Kind::kOperation) return false;
  return std::all_of(known.args.begin(), known.args.end(),
                     [&](TermId arg) { return MadeOf(arg, columns); });
}

void Rewriter::Need(TermId term, uint32_t used_at) {
  std::set<uint32_t> passed;
  for (const uint32_t read : block_.terms[term].nodes)
    for (uint32_t node = read; node != used_at && node != 0; node = block_.nodes[node].parent)
      if (!passed.insert(node).second) break;
  for (const uint32_t node : passed) CollectLargest(term, node, needed_[node]);
}

// A term over the columns of an aggregated sub-query as one over what it groups by; none if it reads an aggregate.
std::optional<TermId> Rewriter::OverKeys(const Terms& from, TermId id, Block& groups) {
  const Term term = from[id];
  switch (term.kind) {
    case Term::Kind::kConstant:
      return groups.terms.Constant(term.constant);
    case Term::Kind::kColumn:
      return OverKeys(groups.terms, groups.select[term.index], groups);
    case Term::Kind::kKey:
      return groups.keys[term.index];
    case Term::Kind::kAggregate:
      return std::nullopt;
    case Term::Kind::kOperation:
      break;
  }
  std::vector<TermId> args;
  for (const TermId arg : term.args) {
    const auto inside = OverKeys(from, arg, groups);
    if (!inside) return std::nullopt;
    args.push_back(*inside);
  }
  return groups.terms.Operation(term.op, std::move(args));
}

bool Rewriter::MoveIntoGroups(const Condition& condition) {
  const std::vector<uint32_t>& nodes = block_.terms[condition.term].nodes;
  if (nodes.size() != 1 || !block_.nodes[nodes[0]].groups) return false;
  Block& groups = *block_.nodes[nodes[0]].groups;
  const auto inside = OverKeys(block_.terms, condition.term, groups);
  if (!inside || groups.terms[*inside].size > kMaxExpressionSize ||
      groups.terms[*inside].stack > advice::kMaxExpressionDepth)
    return false;
  groups.where.push_back({*inside, 0, 0});
  return true;
}

// The node that stands for `node` when seen from `scope`.
uint32_t Rewriter::Lift(uint32_t node, uint32_t scope) const {
  while (block_.nodes[node].outer_scope != scope && block_.nodes[node].inner_scope != scope)
    node = block_.scope_node[block_.nodes[node].outer_scope];
  return node;
}

void Rewriter::PlaceConditions() {
  for (const Condition& condition : block_.where) {
    if (MoveIntoGroups(condition)) continue;
    std::vector<uint32_t> nodes = block_.terms[condition.term].nodes;
    for (uint32_t& node : nodes) node = Lift(node, condition.scope);
    uint32_t at = nodes.empty() ? condition.home : CommonNode(nodes);
    const bool reads_it = std::find(nodes.begin(), nodes.end(), at) != nodes.end();
    const bool picked_before = block_.nodes[at].inner_scope != condition.scope;
    if (reads_it && (picked_before || block_.nodes[at].groups)) at = block_.nodes[at].parent;

    // As soon as the last child it reads is unpacked.
    const std::vector<uint32_t> children = block_.nodes[at].Children();
    size_t unpacked = 0;
    for (const uint32_t node : nodes)
      for (size_t i = 0; i < children.size(); ++i)
        if (block_.Below(node, children[i])) unpacked = std::max(unpacked, i + 1);
    plan_.nodes[at].filters[unpacked].push_back(condition.term);
    conditions_.push_back({at, condition.term});
  }
}

// Only aggregates that are read are computed.
void Rewriter::FindAggregates() {
  std::unordered_set<uint32_t> used;
  std::vector<TermId> walk;
  for (size_t i = 0; i < block_.select.size(); ++i)
    if (read_[i]) walk.push_back(block_.select[i]);
  while (!walk.empty()) {
    const Term& term = block_.terms[walk.back()];
    walk.pop_back();
    if (term.kind == Term::Kind::kAggregate) used.insert(term.index);
    walk.insert(walk.end(), term.args.begin(), term.args.end());
  }
  for (uint32_t i = 0; i < block_.aggregates.size(); ++i)
    if (used.count(i) != 0) plan_.aggregates.push_back(i);
}

void Rewriter::FindStates() {
  // What travels whatever is decided about states: keys, conditions tested above, arguments that mix several sides.
  needed_.resize(block_.nodes.size());
  for (const TermId term : block_.grouped ? block_.keys : block_.select) Need(term, 0);
  for (const Placed& condition : conditions_) Need(condition.term, condition.node);
  std::vector<uint32_t> known_at(block_.aggregates.size(), 0);
  for (const uint32_t index : plan_.aggregates) {
    const auto& argument = block_.aggregates[index].argument;
    if (!argument || block_.terms[*argument].nodes.empty()) continue;
    uint32_t at = CommonNode(block_.terms[*argument].nodes);
    if (block_.nodes[at].groups) at = block_.nodes[at].parent;
    known_at[index] = at;
    Need(*argument, at);
  }

  for (const uint32_t index : plan_.aggregates) {
    const BlockAggregate& aggregate = block_.aggregates[index];
    uint32_t at = known_at[index];
    while (at != 0 && MadeOf(*aggregate.argument, needed_[at])) at = block_.nodes[at].parent;
    if (at == 0) continue;
    // PERCENTILE(x, 50) and PERCENTILE(x, 99) read the same state.
    uint32_t state = 0;
    while (state < plan_.states.size() &&
           (plan_.states[state].aggregate.kind != aggregate.aggregate.kind ||
            plan_.states[state].argument != *aggregate.argument))
      ++state;
    plan_.aggregate_state[index] = state;
    if (state < plan_.states.size()) continue;
    plan_.states.push_back({aggregate.aggregate, *aggregate.argument, at});
    for (uint32_t node = at; node != 0; node = block_.nodes[node].parent)
      plan_.nodes[node].states.push_back(state);
  }
}

void Rewriter::ChooseColumns() {
  for (uint32_t id = 1; id < block_.nodes.size(); ++id) {
    // What can be computed of the other columns need not travel: the largest terms go first.
    std::vector<TermId> by_size(needed_[id].begin(), needed_[id].end());
    std::stable_sort(by_size.begin(), by_size.end(), [this](TermId a, TermId b) {
      return block_.terms[a].size > block_.terms[b].size;
    });
    TermSet rest = needed_[id];
    for (const TermId term : by_size) {
      rest.erase(term);
      if (!MadeOf(term, rest)) rest.insert(term);
    }
    plan_.nodes[id].columns.assign(rest.begin(), rest.end());
  }
}

BlockPlan Rewriter::Run() {
  plan_.nodes.resize(block_.nodes.size());
  plan_.groups.resize(block_.nodes.size());
  plan_.aggregate_state.resize(block_.aggregates.size());
  for (uint32_t id = 0; id < block_.nodes.size(); ++id)
    plan_.nodes[id].filters.resize(block_.nodes[id].Children().size() + 1);

  PlaceConditions();
  FindAggregates();
  FindStates();
  ChooseColumns();

  // Blocks inside last: only now is it known what is read of them, and which conditions were moved into them.
  for (uint32_t id = 0; id < block_.nodes.size(); ++id) {
    if (!block_.nodes[id].groups) continue;
    Block& groups = *block_.nodes[id].groups;
    std::vector<bool> read(groups.select.size(), false);
    for (const TermId column : plan_.nodes[id].columns) read[block_.terms[column].index] = true;
    plan_.groups[id] = std::make_unique<BlockPlan>(Rewriter(groups, read).Run());
  }
  return std::move(plan_);
}

}  // namespace

BlockPlan PlanRewritten(Block& block) {
  const std::vector<bool> all(block.select.size(), true);
  return Rewriter(block, all).Run();
}

Result<Compiled> Rewrite(const Query& query) {
  WF_ASSIGN(const auto block, BuildJoinTree(query));
  return BuildAdvice(query, *block, PlanRewritten(*block));
}

}  // namespace wf::query
