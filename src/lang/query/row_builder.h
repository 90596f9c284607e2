// Combined tuples of a query → its rows: Where, Select, and groups with their aggregates. Shared by the
// reference evaluator and the scan of stored events.
//
// A combined tuple is the columns of all aliases, concatenated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "advice/aggregate.h"
#include "advice/expression.h"
#include "lang/query/ast.h"

namespace wf::query {

// The tuples of one event, from the variables that are read: one for every element of a list among them, none
// for an empty list; two lists multiply.
std::vector<advice::Tuple> ExpandLists(const advice::Tuple& variables);

class RowBuilder {
 public:
  explicit RowBuilder(const Query& query);  // borrowed

  // Whether every Where is true.
  bool Passes(const advice::Tuple& combined) const;
  // For a query without groups: the row of one tuple. `time`: From's, for the window.
  advice::Tuple Select(int64_t time, const advice::Tuple& combined) const;
  // Adds a tuple that passes.
  void Add(int64_t time, const advice::Tuple& combined);

  uint64_t tuples() const { return tuples_; }  // added
  size_t size() const { return query_.grouped ? groups_.size() : rows_.size(); }
  // Unsorted.
  std::vector<advice::Tuple> Rows() const;

 private:
  struct Less {
    bool operator()(const advice::Tuple& a, const advice::Tuple& b) const;
  };

  struct Group {
    // 1 and 1.0 are one key: which one is shown must not depend on the order of arrival.
    advice::Tuple shown;
    std::vector<advice::AggregateState> states;
  };

  const Query& query_;
  std::vector<advice::Expression> where_, select_, keys_, arguments_;
  uint64_t tuples_ = 0;
  std::vector<advice::Tuple> rows_;
  // The window is the first key.
  std::map<advice::Tuple, Group, Less> groups_;
};

}  // namespace wf::query
