#include "lang/feature/plan_runner.h"

namespace wf::feature {

PlanRunner::PlanRunner(const Plan& plan, const Trace& trace, int64_t budget)
    : plan_(plan),
      view_(trace),
      budget_(budget),
      vectors_(plan.nodes.size()),
      done_(plan.nodes.size(), 0),
      parent_lanes_(plan.frames.size()) {}

size_t PlanRunner::Lanes(int frame) const {
  const int source = plan_.frames[static_cast<size_t>(frame)].source;
  return source == kNoNode ? 1 : at(source).entries();
}

bool PlanRunner::Evaluate(const std::vector<int>& nodes) {
  // Inputs stand before what needs them, so one pass back marks and one pass forth runs.
  std::vector<uint8_t> needed(plan_.nodes.size(), 0);
  for (const int node : nodes) {
    if (node != kNoNode) needed[static_cast<size_t>(node)] = 1;
  }
  for (size_t id = plan_.nodes.size(); id-- > 0;) {
    if (!needed[id]) continue;
    const Node& node = plan_.nodes[id];
    for (const int in : node.in) {
      if (in != kNoNode) needed[static_cast<size_t>(in)] = 1;
    }
    const int source = plan_.frames[static_cast<size_t>(node.frame)].source;
    if (source != kNoNode) needed[static_cast<size_t>(source)] = 1;
  }
  for (size_t id = 0; id < plan_.nodes.size(); ++id) {
    if (!needed[id] || done_[id]) continue;
    Run(static_cast<int>(id));
    if (overflowed()) return false;
    done_[id] = 1;
  }
  return true;
}

void PlanRunner::Run(int id) {
  const Node& node = plan_.nodes[static_cast<size_t>(id)];
  LaneVector& out = vectors_[static_cast<size_t>(id)];
  switch (node.op) {
    case Op::kTrace:
      out.lanes = 1;
      out.items = {0};
      break;
    case Op::kConstant:
      out = Constant(node);
      break;
    case Op::kIt:
      out = It(node);
      break;
    case Op::kBroadcast:
      out = Broadcast(node);
      break;
    case Op::kNavigate:
      out = Navigate(node);
      break;
    case Op::kFilterKeys:
      out = FilterKeys(node);
      break;
    case Op::kSelect:
      out = Select(node);
      break;
    case Op::kCollect:
      out = Collect(node);
      break;
    case Op::kGroupBy:
      out = GroupBy(node);
      break;
    case Op::kNth:
      out = Nth(node);
      break;
    case Op::kKeyText:
    case Op::kKeyNumber:
      out = ReadKeys(node);
      break;
    case Op::kProperty:
      out = Property(node);
      break;
    case Op::kGroupName:
      out = GroupName(node);
      break;
    case Op::kCounterDelta:
      out = CounterDelta(node);
      break;
    case Op::kCriticalPath:
      out = FindPaths(node);
      break;
    case Op::kAggregate:
      out = Aggregate(node);
      break;
    case Op::kDistinct:
      out = Distinct(node);
      break;
    case Op::kArithmetic:
      out = Calculate(node);
      break;
    case Op::kCompare:
      out = CompareValues(node);
      break;
    case Op::kLogic:
    case Op::kNot:
      out = Logical(node);
      break;
    case Op::kIf:
      out = Choose(node);
      break;
    case Op::kDefault:
      out = WithDefault(node);
      break;
    case Op::kExists:
      out = Exists(node);
      break;
    case Op::kToDouble:
      out = ToDouble(node);
      break;
  }
  out.type = node.type;
}

LaneVector PlanRunner::Shaped(const Type& type, const LaneVector& like) {
  LaneVector out;
  out.type = type;
  out.lanes = like.lanes;
  out.offsets = like.offsets;
  out.null_lane = like.null_lane;
  return out;
}

}  // namespace wf::feature
