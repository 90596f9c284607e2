// Emitted tuples of one query, folded into groups: in the process that emits, on the server that merges, and in the
// command that prints. Partial results travel as bytes each interval.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/interpreter.h"
#include "advice/program.h"

namespace wf::advice {

class Results {
 public:
  explicit Results(const Program& program);

  void Add(const std::vector<EmittedTuple>& tuples);
  // Adds what another process encoded; false (and nothing added) if it is not of this query's shape.
  bool Merge(std::string_view bytes);
  std::string Encode() const;
  void Clear();
  bool empty() const;
  uint64_t tuples() const;  // added since Clear, before grouping
  size_t groups() const;

  // Rows in the order of the contract: column by column ascending.
  std::vector<Tuple> Rows() const;

 private:
  struct Group;
  const Program* program_;
  const Emit* emit_;
  std::vector<Group> groups_;
};

}  // namespace wf::advice
