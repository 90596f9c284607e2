// The functions of the feature language: their names, how they are written, how many arguments they take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wf::feature {

enum class Function : uint8_t {
  kTrace,
  kExecUnits,
  kBlocks,
  kPoints,
  kEdges,
  kRow,
  kIt,
  kCriticalPath,
  kSegments,
  kParent,
  kChildren,
  kAncestors,
  kDescendants,
  kUnit,
  kIn,
  kOut,
  kGaps,
  kFilter,
  kWhere,
  kMap,
  kFirst,
  kLast,
  kNth,
  kGroupBy,
  kTimestamp,
  kEnd,
  kDuration,
  kName,
  kLabel,
  kCounter,
  kCounterDelta,
  kStack,
  kCount,
  kSum,
  kMean,
  kMin,
  kMax,
  kPercentile,
  kDistinct,
  kList,
  kExists,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kNot,
  kIf,
  kDefault,
  kRecordAs,
};

// Where a function may be used: at the beginning of a pipeline, after a "|", or both.
enum class Standing : uint8_t { kSource, kStage, kBoth };

struct FunctionInfo {
  Function function;
  std::string_view name;
  std::string_view usage;
  Standing standing;
  int least, most;  // min and max number of arguments; most -1: any number
  bool takes_key;   // its first argument is a key, so a bare name there is that key
};

const FunctionInfo* FindFunction(std::string_view name);
const FunctionInfo& InfoOf(Function function);
std::vector<std::string> FunctionNames();

}  // namespace wf::feature
