#include "lang/query/join_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lang/query/compile.h"

namespace wf::query {
namespace {

using advice::Keep;
using advice::Op;

// Between the aliases of a path: a dot may stand in a backquoted alias.
constexpr char kPathMark = '\x1f';

// Named queries may stand in one another's From without adding a node; this bounds the walk.
constexpr size_t kMaxJoinNesting = 100;

std::string Where(const Place& place) {
  return fmt::format("line {}, column {}: ", place.line, place.column);
}

// Counted over all blocks of a query.
struct Budget {
  size_t advice = 0;
  size_t nesting = 0;
};

// Where the next node goes, and under which filter.
struct Spot {
  uint32_t parent = Node::kNone;
  uint32_t outer_scope = 0, inner_scope = 0;
  Keep keep = Keep::kAll;
  uint32_t limit = 0;
  bool picks_subquery = false;
  std::string path;  // of the aliases around it
};

// An alias that stands in the tree: what it reads is these terms.
struct BoundSource {
  uint32_t node = 0;
  std::vector<TermId> columns;
};

class BlockBuilder {
 public:
  BlockBuilder(Block& block, Budget& budget) : block_(block), budget_(budget) {}

  Status Build(const Query& query, const std::string& path);

 private:
  Result<BoundSource> AddQuery(const Query& query, const Spot& spot,
                               std::vector<BoundSource>* aliases);
  Result<BoundSource> AddAlias(const Alias& alias, Spot spot);
  Result<uint32_t> AddNode(const Alias& alias, const Spot& spot);
  TermId Translate(const Expr& expr, const std::vector<BoundSource>& aliases);
  Result<TermId> TranslateChecked(const Expr& expr, const std::vector<BoundSource>& aliases,
                                  const Place& place);
  void Split(TermId condition, uint32_t scope, uint32_t home);

  Block& block_;
  Budget& budget_;
  uint32_t window_keys_ = 0;  // how far the window pushed the keys back
};

Result<uint32_t> BlockBuilder::AddNode(const Alias& alias, const Spot& spot) {
  if (++budget_.advice > kMaxAdvice)
    return BadInput(
        fmt::format("{}the query needs more than {} advice once its sub-queries are written out",
                    Where(alias.place), kMaxAdvice),
        "ask with fewer joins, or split it into several queries");
  const auto id = static_cast<uint32_t>(block_.nodes.size());
  Node node;
  node.label = spot.path;
  node.keep = spot.keep;
  node.limit = spot.limit;
  node.picks_subquery = spot.picks_subquery;
  node.parent = spot.parent;
  node.outer_scope = spot.outer_scope;
  node.inner_scope = spot.inner_scope;
  if (spot.inner_scope != spot.outer_scope) block_.scope_node[spot.inner_scope] = id;
  if (spot.parent != Node::kNone) {
    Node& parent = block_.nodes[spot.parent];
    node.depth = parent.depth + 1;
    const bool inside = parent.filtered() && spot.outer_scope == parent.inner_scope;
    (inside ? parent.inner : parent.outer).push_back(id);
  }
  block_.nodes.push_back(std::move(node));
  return id;
}

Result<BoundSource> BlockBuilder::AddAlias(const Alias& alias, Spot spot) {
  spot.path = spot.path.empty() ? alias.name : spot.path + kPathMark + alias.name;
  const Query* subquery = alias.source.subquery.get();
  if (alias.filter != FilterKind::kNone) {
    spot.keep = alias.filter == FilterKind::kFirst ? Keep::kFirst : Keep::kMostRecent;
    spot.limit = alias.limit;
    spot.picks_subquery = subquery != nullptr;
    spot.inner_scope = static_cast<uint32_t>(block_.scope_node.size());
    block_.scope_node.push_back(0);
  }
  if (subquery != nullptr && !subquery->grouped) {
    if (budget_.nesting >= kMaxJoinNesting)
      return BadInput(fmt::format("{}sub-queries are nested more than {} deep", Where(alias.place),
                                  kMaxJoinNesting),
                      "name fewer queries in terms of one another");
    ++budget_.nesting;
    auto bound = AddQuery(*subquery, spot, nullptr);
    --budget_.nesting;
    return bound;
  }
  WF_ASSIGN(const uint32_t id, AddNode(alias, spot));
  BoundSource bound{id, {}};
  if (subquery != nullptr) {
    --budget_.advice;  // its own From is counted instead
    auto groups = std::make_unique<Block>();
    WF_TRY(BlockBuilder(*groups, budget_).Build(*subquery, spot.path));
    block_.nodes[id].groups = std::move(groups);
  } else {
    block_.nodes[id].tracepoints = alias.source.tracepoints;
    block_.nodes[id].variables = alias.columns;
  }
  for (uint32_t i = 0; i < alias.columns.size(); ++i)
    bound.columns.push_back(block_.terms.Column(id, i));
  block_.nodes[id].terms = bound.columns;
  return bound;
}

TermId BlockBuilder::Translate(const Expr& expr, const std::vector<BoundSource>& aliases) {
  switch (expr.kind) {
    case Expr::Kind::kConstant:
      return block_.terms.Constant(expr.constant);
    case Expr::Kind::kRead:
      return aliases[expr.alias].columns[expr.column];
    case Expr::Kind::kKey:
      return block_.terms.Key(expr.key + window_keys_);
    case Expr::Kind::kAggregate:
      return block_.terms.Aggregate(expr.aggregate);
    case Expr::Kind::kOperation:
      break;
  }
  std::vector<TermId> args;
  for (const Expr& arg : expr.args) args.push_back(Translate(arg, aliases));
  return block_.terms.Operation(expr.op, std::move(args));
}

Result<TermId> BlockBuilder::TranslateChecked(const Expr& expr,
                                              const std::vector<BoundSource>& aliases,
                                              const Place& place) {
  const TermId id = Translate(expr, aliases);
  const Term& term = block_.terms[id];
  if (term.size > kMaxExpressionSize || term.stack > advice::kMaxExpressionDepth)
    return BadInput(
        fmt::format("{}the expression is too large once the columns of sub-queries are written out "
                    "(at most {} operations, {} values at a time)",
                    Where(place), kMaxExpressionSize, advice::kMaxExpressionDepth),
        "compute less in one expression");
  return id;
}

void BlockBuilder::Split(TermId condition, uint32_t scope, uint32_t home) {
  const Term term = block_.terms[condition];
  if (term.kind == Term::Kind::kOperation && term.op == Op::kAnd) {
    for (const TermId arg : term.args) Split(arg, scope, home);
    return;
  }
  block_.where.push_back({condition, scope, home});
}

Result<BoundSource> BlockBuilder::AddQuery(const Query& query, const Spot& spot,
                                           std::vector<BoundSource>* aliases) {
  std::vector<BoundSource> bound;
  for (const Alias& alias : query.aliases) {
    Spot at = spot;
    if (!bound.empty()) {
      at = Spot{bound[alias.on].node,
                spot.inner_scope,
                spot.inner_scope,
                Keep::kAll,
                0,
                false,
                spot.path};
    }
    WF_ASSIGN(BoundSource one, AddAlias(alias, at));
    bound.push_back(std::move(one));
  }
  const uint32_t from = bound[0].node;
  for (const Expr& expr : query.where) {
    WF_ASSIGN(const TermId term, TranslateChecked(expr, bound, expr.place));
    Split(term, spot.inner_scope, from);
  }
  BoundSource result{from, {}};
  if (!query.grouped) {
    for (const SelectItem& item : query.select) {
      WF_ASSIGN(const TermId term, TranslateChecked(item.expr, bound, item.place));
      result.columns.push_back(term);
    }
  }
  if (aliases != nullptr) *aliases = std::move(bound);
  return result;
}

void NumberNodes(Block& block, uint32_t id, uint32_t& next) {
  block.nodes[id].entered = next++;
  for (const uint32_t child : block.nodes[id].Children()) NumberNodes(block, child, next);
  block.nodes[id].left = next++;
}

Status BlockBuilder::Build(const Query& query, const std::string& path) {
  block_.scope_node = {0};
  Spot spot;
  spot.path = path;
  std::vector<BoundSource> aliases;
  WF_ASSIGN(BoundSource answer, AddQuery(query, spot, &aliases));
  uint32_t next = 0;
  NumberNodes(block_, 0, next);
  block_.grouped = query.grouped;
  block_.names = ColumnNames(query);

  std::optional<TermId> window;
  if (query.window_ns) {
    Node& from = block_.nodes[0];
    const auto time = static_cast<uint32_t>(
        std::find(from.variables.begin(), from.variables.end(), "time") - from.variables.begin());
    if (time == from.variables.size()) {
      from.variables.emplace_back("time");
      from.terms.push_back(block_.terms.Column(0, time));
    }
    window = block_.terms.Operation(Op::kBucket,
                                    {from.terms[time], block_.terms.Constant(*query.window_ns)});
  }
  if (!query.grouped) {
    block_.select = std::move(answer.columns);
    if (window) block_.select.insert(block_.select.begin(), *window);
    return {};
  }
  if (window) {
    window_keys_ = 1;
    block_.keys.push_back(*window);
    block_.select.push_back(block_.terms.Key(0));
  }
  for (const Expr& key : query.keys) {
    WF_ASSIGN(const TermId term, TranslateChecked(key, aliases, key.place));
    block_.keys.push_back(term);
  }
  for (const AggregateCall& call : query.aggregates) {
    BlockAggregate aggregate{call.aggregate, std::nullopt};
    if (call.argument) {
      WF_ASSIGN(const TermId term, TranslateChecked(*call.argument, aliases, call.place));
      aggregate.argument = term;
    }
    block_.aggregates.push_back(aggregate);
  }
  for (const SelectItem& item : query.select) {
    WF_ASSIGN(const TermId term, TranslateChecked(item.expr, aliases, item.place));
    block_.select.push_back(term);
  }
  return {};
}

template <typename Visit>
void VisitNodes(Block& block, const Visit& visit) {
  for (Node& node : block.nodes) {
    if (node.groups)
      VisitNodes(*node.groups, visit);
    else
      visit(node);
  }
}

// "x.y.e" becomes "e" where no other alias of the query is called so.
void ShortenLabels(Block& block) {
  const auto last = [](const std::string& path) { return path.substr(path.rfind(kPathMark) + 1); };
  std::map<std::string, int> uses;
  VisitNodes(block, [&](const Node& node) { ++uses[last(node.label)]; });
  VisitNodes(block, [&](Node& node) {
    if (uses[last(node.label)] == 1) node.label = last(node.label);
    std::replace(node.label.begin(), node.label.end(), kPathMark, '.');
  });
}

}  // namespace

std::vector<uint32_t> Node::Children() const {
  std::vector<uint32_t> all = inner;
  all.insert(all.end(), outer.begin(), outer.end());
  return all;
}

uint32_t Block::CommonAncestor(uint32_t a, uint32_t b) const {
  while (a != b) {
    if (nodes[a].depth < nodes[b].depth) std::swap(a, b);
    a = nodes[a].parent;
  }
  return a;
}

Result<std::unique_ptr<Block>> BuildJoinTree(const Query& query) {
  Budget budget;
  auto block = std::make_unique<Block>();
  WF_TRY(BlockBuilder(*block, budget).Build(query, {}));
  ShortenLabels(*block);
  return block;
}

}  // namespace wf::query
