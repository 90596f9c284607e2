// Plan: a compiled feature program. A list of nodes, each one operator over whole vectors, each after its
// inputs. Equal expressions are one node, so that values needed by several columns are computed once per
// trace.
//
// A node lives in a frame: a set of lanes over which it is evaluated at once. Frame 0 has one lane, the
// trace. Map, Where, GroupBy and the rows of a dataset open frames whose lanes are the items of a source
// node, all of them together; `It` is a lane's item there. Values that a body uses from an outer frame are
// broadcast to its lanes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lang/common/pattern.h"
#include "lang/feature/feature_ast.h"
#include "lang/feature/feature_type.h"

namespace wf::feature {

enum class Op : uint8_t {
  kTrace,         // the trace, one element
  kConstant,      // constants[imm]
  kIt,            // the items of the frame's source, one per lane
  kBroadcast,     // in[0], from an outer frame
  kNavigate,      // in[0] → elements reached from it; sub: Navigation
  kFilterKeys,    // the items of in[0] for which conditions[imm, imm + extra) hold
  kSelect,        // the items of in[0] whose lane of in[1] (in the frame over in[0]) is true
  kCollect,       // in[1] (in the frame over in[0]), collected by the lanes of in[0]
  kGroupBy,       // in[0] by the keys in[1] (in the frame over in[0])
  kNth,           // imm: 1 first, -1 last, n
  kKeyText,       // keys[imm] of each element, as text
  kKeyNumber,     // keys[imm], as number
  kProperty,      // sub: ElementProperty
  kGroupName,     // the keys of groups
  kCounterDelta,  // in[0], keys[imm], between in[1] and in[2]
  kCriticalPath,  // from in[0] to in[1], or of the whole trace
  kAggregate,     // sub: Aggregation; imm: constants index of Percentile's argument
  kDistinct,
  kArithmetic,  // sub: Arithmetic
  kCompare,     // sub: Compare
  kLogic,       // sub: Logic
  kNot,
  kIf,
  kDefault,
  kExists,
  kToDouble,
};

enum class Navigation : uint8_t {
  kUnits,
  kBlocks,
  kPoints,
  kEdges,
  kSegments,
  kParent,
  kChildren,
  kAncestors,
  kDescendants,
  kUnit,
  kIn,
  kOut,
  kGaps,
};
enum class ElementProperty : uint8_t { kTimestamp, kEnd, kDuration, kName, kStack };
enum class Aggregation : uint8_t {
  kCount,
  kSum,
  kMean,
  kMin,
  kMax,
  kPercentile,
  kList,
  kDistinctCount
};
enum class Arithmetic : uint8_t { kAdd, kSubtract, kMultiply, kDivide };
enum class Logic : uint8_t { kAnd, kOr };

// A key, resolved once: the property of that name is looked up when the plan is built.
struct PlanKey {
  std::string name;
  int property = -1;  // index into the table of element_keys.cc; -1: no property has this name
};

struct PlanCondition {
  int key = 0;  // index into Plan::keys
  bool negated = false;
  Compare compare = Compare::kEq;
  std::vector<Literal> literals;
  int pattern = -1;  // index into Plan::patterns
};

constexpr int kNoNode = -1;

struct Node {
  Op op = Op::kTrace;
  uint8_t sub = 0;
  Type type;
  int frame = 0;
  std::array<int, 3> in = {kNoNode, kNoNode, kNoNode};
  int imm = 0, extra = 0;
};

struct Frame {
  int parent = kNoNode;
  int source = kNoNode;  // the node whose items are the lanes; kNoNode for frame 0
  int depth = 0;
};

struct PlanColumn {
  ColumnDefinition definition;
  int node = kNoNode;  // one value, in frame 0 or the frame of the rows
};

struct Plan {
  std::vector<Node> nodes;
  std::vector<Frame> frames = {Frame{}};
  std::vector<Literal> constants;
  std::vector<PlanKey> keys;
  std::vector<PlanCondition> conditions;
  std::vector<lang::Pattern> patterns;

  int filter = kNoNode;  // one bool in frame 0, or kNoNode
  int row = kNoNode;     // the node of frame 0 that gives the rows; kNoNode: one row, the trace
  int row_frame = 0;
  std::vector<PlanColumn> columns;
};

}  // namespace wf::feature
