// The functions a query may call, and its aggregates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/aggregate.h"
#include "advice/expression.h"

namespace wf::query {

struct Function {
  std::string_view name;
  enum class Kind : uint8_t { kScalar, kAggregate } kind = Kind::kScalar;
  advice::Op op = advice::Op::kConstant;                            // kScalar
  advice::AggregateKind aggregate = advice::AggregateKind::kCount;  // kAggregate
  uint32_t least = 1, most = 1;  // min and max number of arguments
  std::string_view usage;
};

// Ignores case; null if there is none of that name.
const Function* FindFunction(std::string_view name);
std::vector<std::string> FunctionNames();

}  // namespace wf::query
