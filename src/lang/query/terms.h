// Expressions of a query after the columns of its sub-queries are expanded: each distinct one exists once, so
// equal terms have equal ids and "is this column already carried" is a look-up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "advice/expression.h"
#include "advice/value.h"

namespace wf::query {

using TermId = uint32_t;

struct Term {
  enum class Kind : uint8_t {
    kConstant,
    kColumn,  // column `index` of node `node`: an observed variable, or a column of an aggregated sub-query
    kKey,        // the `index`-th key of its block: only in what a grouped block selects
    kAggregate,  // the `index`-th aggregate of its block, likewise
    kOperation,
  };
  Kind kind = Kind::kConstant;
  advice::Value constant;
  uint32_t node = 0, index = 0;
  advice::Op op = advice::Op::kConstant;
  std::vector<TermId> args;

  std::vector<uint32_t> nodes;  // nodes whose columns it reads: ascending, without duplicates
  size_t size = 1;              // instructions; saturates at kUnboundedSize
  size_t stack = 1;             // max number of values on the stack
};

inline constexpr size_t kUnboundedSize = 1 << 20;

class Terms {
 public:
  TermId Constant(advice::Value value);
  TermId Column(uint32_t node, uint32_t index);
  TermId Key(uint32_t index);
  TermId Aggregate(uint32_t index);
  TermId Operation(advice::Op op, std::vector<TermId> args);

  const Term& operator[](TermId id) const { return terms_[id]; }
  size_t size() const { return terms_.size(); }

 private:
  TermId Intern(std::string key, Term term);

  std::vector<Term> terms_;
  std::map<std::string, TermId> known_;
};

}  // namespace wf::query
