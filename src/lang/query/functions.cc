#include "lang/query/functions.h"

#include "lang/query/tokens.h"

namespace wf::query {
namespace {

using advice::AggregateKind;
using advice::Op;

constexpr Function Scalar(std::string_view name, Op op, uint32_t arguments,
                          std::string_view usage) {
  return {name, Function::Kind::kScalar, op, AggregateKind::kCount, arguments, arguments, usage};
}
constexpr Function Folding(std::string_view name, AggregateKind kind, uint32_t least, uint32_t most,
                           std::string_view usage) {
  return {name, Function::Kind::kAggregate, Op::kConstant, kind, least, most, usage};
}

constexpr Function kFunctions[] = {
    Scalar("Lower", Op::kLower, 1, "Lower(text)"),
    Scalar("Upper", Op::kUpper, 1, "Upper(text)"),
    Scalar("Length", Op::kLength, 1, "Length(text)"),
    Scalar("Contains", Op::kContains, 2, "Contains(text, part)"),
    Scalar("StartsWith", Op::kStartsWith, 2, "StartsWith(text, part)"),
    Scalar("EndsWith", Op::kEndsWith, 2, "EndsWith(text, part)"),
    Scalar("Bucket", Op::kBucket, 2, "Bucket(number, width)"),
    Scalar("Has", Op::kHas, 1, "Has(value)"),
    Folding("COUNT", AggregateKind::kCount, 0, 1, "COUNT, COUNT(*) or COUNT(value)"),
    Folding("SUM", AggregateKind::kSum, 1, 1, "SUM(number)"),
    Folding("MIN", AggregateKind::kMin, 1, 1, "MIN(number)"),
    Folding("MAX", AggregateKind::kMax, 1, 1, "MAX(number)"),
    Folding("AVERAGE", AggregateKind::kAverage, 1, 1, "AVERAGE(number)"),
    Folding("PERCENTILE", AggregateKind::kPercentile, 2, 2, "PERCENTILE(number, 99)"),
    Folding("DISTINCT", AggregateKind::kDistinct, 1, 1, "DISTINCT(value)"),
    Folding("HISTOGRAM", AggregateKind::kHistogram, 1, 1, "HISTOGRAM(number)"),
};

}  // namespace

const Function* FindFunction(std::string_view name) {
  for (const Function& function : kFunctions)
    if (SameWord(function.name, name)) return &function;
  return nullptr;
}

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const Function& function : kFunctions) names.emplace_back(function.name);
  return names;
}

}  // namespace wf::query
