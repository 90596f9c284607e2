// A query as the tree of its happened-before joins: every node is an alias, its parent the alias right of
// `->`.
//
// Sub-queries without aggregates are expanded into the outer query: their From's node replaces their alias,
// their own joins become its children, their columns are replaced by what they select. An aggregated
// sub-query is a leaf with its own block. So a block is what one emit or one grouped pack answers.
//
// Filters. First and MostRecent pick events of a node before Where and before the joins written on its alias,
// but after everything inside the filtered sub-query. Each filtered node therefore opens a scope: the nodes
// and conditions inside its sub-query. Seen from outside, everything inside is that one node, and nothing
// from outside may be moved in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advice/program.h"
#include "base/result.h"
#include "lang/query/ast.h"
#include "lang/query/terms.h"

namespace wf::query {

struct Block;

struct Node {
  static constexpr uint32_t kNone = UINT32_MAX;

  // The alias, qualified by those of the enclosing sub-queries where it would not be unique.
  std::string label;
  std::vector<std::string> tracepoints;
  // All that the query reads here; a list among them multiplies the tuples.
  std::vector<std::string> variables;
  std::unique_ptr<Block> groups;  // for an aggregated sub-query: then nothing is observed here
  std::vector<TermId> terms;      // per variable, or per column of the aggregated sub-query

  advice::Keep keep = advice::Keep::kAll;
  uint32_t limit = 0;
  // Keep is over a sub-query's tuples: an event without any does not count.
  bool picks_subquery = false;

  uint32_t parent = kNone;
  uint32_t depth = 0;
  // Numbers of a walk through the tree: descendants have numbers in between.
  uint32_t entered = 0, left = 0;
  std::vector<uint32_t> inner;  // children inside the filtered sub-query that this node opens
  std::vector<uint32_t> outer;  // the other children; a node that is not filtered has only these
  uint32_t outer_scope = 0;     // the scope that contains it
  // The scope of its own source's conditions: differs only if it is filtered.
  uint32_t inner_scope = 0;

  bool filtered() const { return keep != advice::Keep::kAll; }
  // In the order of their unpacks.
  std::vector<uint32_t> Children() const;
};

struct Condition {
  TermId term = 0;
  uint32_t scope = 0;
  uint32_t home = 0;  // the From node of the query that contains it
};

struct BlockAggregate {
  advice::Aggregate aggregate;
  std::optional<TermId> argument;  // empty: COUNT of tuples
};

struct Block {
  Terms terms;
  std::vector<Node> nodes;  // the first is From's
  // Per scope: the node that opened it; scope 0 is the block: node 0.
  std::vector<uint32_t> scope_node;
  std::vector<Condition> where;  // conjunctions are split
  bool grouped = false;
  std::vector<TermId> keys;  // the window first
  std::vector<BlockAggregate> aggregates;
  // From kKey, kAggregate, constants and operations if grouped, else from columns.
  std::vector<TermId> select;
  std::vector<std::string> names;

  bool Below(uint32_t node, uint32_t ancestor) const {  // or the same
    return nodes[ancestor].entered <= nodes[node].entered &&
           nodes[node].left <= nodes[ancestor].left;
  }
  uint32_t CommonAncestor(uint32_t a, uint32_t b) const;
};

Result<std::unique_ptr<Block>> BuildJoinTree(const Query& query);

}  // namespace wf::query
