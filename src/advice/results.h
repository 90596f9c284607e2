// Emitted tuples of one query, folded into groups: in the process that emits, on the server that merges, and in the
// command that prints. Partial results travel as bytes each interval. `program` must outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/interpreter.h"
#include "advice/program.h"
#include "advice/rows.h"

namespace wf::advice {

class Results {
 public:
  static constexpr size_t kUnlimited = static_cast<size_t>(-1);
  // In a host's process the groups are limited: tuples that would found one more are counted as lost.
  explicit Results(const Program& program, size_t max_groups = kUnlimited);

  void Add(const advice::Rows& rows);
  // One tuple, without a row of it being made: the states of its group, to be added to by the caller; null if it is lost.
  // `keys` are the values of Emit's columns.
  AggregateState* Fold(const Cell* keys, uint64_t weight);
  // Adds what another process encoded; false (and nothing added) if it is not of this query's shape.
  bool Merge(std::string_view bytes);
  std::string Encode() const;
  void Clear();
  bool empty() const { return groups_.empty(); }
  uint64_t tuples() const {
    return tuples_;
  }  // added since Clear, before grouping; partial ones included
  uint64_t lost() const { return lost_; }  // of them: beyond max_groups
  size_t groups() const { return groups_.size(); }

  // Rows in the order of the contract: column by column ascending. An ungrouped query has a row per tuple of the bag;
  // past `max_rows` the rest is left out.
  std::vector<Tuple> Rows(size_t max_rows = kUnlimited) const;

 private:
  bool SameGroup(size_t group, const advice::Rows& rows, size_t row) const;
  bool SameGroup(size_t group, const Cell* keys) const;
  uint64_t Hash(const advice::Rows& rows, size_t row) const;
  uint64_t Hash(const Cell* keys) const;
  // Null if there are too many already.
  AggregateState* NewGroup(const Cell* keys, uint64_t weight, uint64_t hash);

  const Program* program_;
  const Emit* emit_;
  size_t max_groups_;
  bool grouped_ = false;  // of emit_, which a known group need not touch
  uint64_t tuples_ = 0, lost_ = 0;
  advice::Rows groups_;
  RowIndex index_;
};

// Rows that are one group (1 and 1.0 are the same key) become one; used where a grouped sub-query is finished.
Rows GroupRows(const Rows& rows);

}  // namespace wf::advice
