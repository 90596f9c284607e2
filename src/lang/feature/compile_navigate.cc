// Stages that go from elements to others: what there is of what.
#include "lang/feature/feature_compiler.h"
#include "lang/feature/stage_types.h"

namespace wf::feature {
namespace {

struct Reached {
  bool possible = false;
  Element element = Element::kBlock;
  bool one = false;  // from one element at most one
};

Reached ReachedFrom(Navigation navigation, Element e) {
  const bool in_trace = e != Element::kGap && e != Element::kPath;
  const bool trace = e == Element::kTrace, unit = e == Element::kUnit, point = e == Element::kPoint;
  const bool path = e == Element::kPath;
  switch (navigation) {
    case Navigation::kUnits:
      return {in_trace || path, Element::kUnit, false};
    case Navigation::kBlocks:
      return {in_trace || path, path ? Element::kPathBlock : Element::kBlock, false};
    case Navigation::kPoints:
      return {in_trace || path, Element::kPoint, false};
    case Navigation::kEdges:
      return {in_trace || path, path ? Element::kPathEdge : Element::kEdge, false};
    case Navigation::kSegments:
      return {path, Element::kSegment, false};
    case Navigation::kParent:
      return {IsBlock(e) || point || unit, Element::kBlock, true};
    case Navigation::kChildren:
      return {trace || unit || IsBlock(e), Element::kBlock, false};
    case Navigation::kAncestors:
      return {IsBlock(e) || point || unit, Element::kBlock, false};
    case Navigation::kDescendants:
      return {trace || unit || IsBlock(e), Element::kBlock, false};
    case Navigation::kUnit:
      return {unit || IsBlock(e) || point, Element::kUnit, true};
    case Navigation::kIn:
    case Navigation::kOut:
      if (IsEdge(e)) return {true, Element::kPoint, true};
      return {unit || IsBlock(e) || point, Element::kEdge, false};
    case Navigation::kGaps:
      return {trace || unit || IsBlock(e), Element::kGap, false};
  }
  return {};
}

Navigation NavigationOf(Function function) {
  switch (function) {
    case Function::kExecUnits:
      return Navigation::kUnits;
    case Function::kBlocks:
      return Navigation::kBlocks;
    case Function::kPoints:
      return Navigation::kPoints;
    case Function::kEdges:
      return Navigation::kEdges;
    case Function::kSegments:
      return Navigation::kSegments;
    case Function::kParent:
      return Navigation::kParent;
    case Function::kChildren:
      return Navigation::kChildren;
    case Function::kAncestors:
      return Navigation::kAncestors;
    case Function::kDescendants:
      return Navigation::kDescendants;
    case Function::kUnit:
      return Navigation::kUnit;
    case Function::kIn:
      return Navigation::kIn;
    case Function::kOut:
      return Navigation::kOut;
    default:
      return Navigation::kGaps;
  }
}

}  // namespace

int FeatureCompiler::Navigate(const FunctionInfo& info, const Call& call, int input) {
  const Type type = builder.type(input);
  const Navigation navigation = NavigationOf(info.function);
  if (type.shape == Shape::kGroups)
    WrongInput(call, input, "elements", ItHint(call.name) + ", or GroupBy later");
  if (type.is_value()) {
    const Element wanted = Element::kBlock;
    WrongInput(call, input, "elements, such as " + TypeName(ManyType(wanted)),
               "go to " + call.name + " first, and read values off it then");
  }
  // The segments of a trace are those of its own critical path.
  if (navigation == Navigation::kSegments && type.element == Element::kTrace &&
      type.shape == Shape::kElement) {
    Node path;
    path.op = Op::kCriticalPath;
    path.type = OneType(Element::kPath);
    return Unary(Op::kNavigate, static_cast<uint8_t>(navigation), ManyType(Element::kSegment),
                 builder.Add(path));
  }
  const Reached reached = ReachedFrom(navigation, type.element);
  if (!reached.possible) {
    std::string hint = "as in: " + std::string(info.usage);
    if (navigation == Navigation::kUnit && IsEdge(type.element))
      hint = "an edge has two: | ExecUnits, or | In | Unit for the sender's";
    else if (IsEdge(type.element))
      hint = "from an edge go on by | In, | Out, | Blocks or | Points";
    if (type.element == Element::kPath)
      hint = "of a critical path there are | Segments, | Blocks, | Edges, | Points and | ExecUnits";
    Fail(call.place, "there is no " + call.name + " of " + TypeName(type), std::move(hint));
  }
  const bool one = reached.one && type.shape == Shape::kElement;
  return Unary(Op::kNavigate, static_cast<uint8_t>(navigation),
               one ? OneType(reached.element) : ManyType(reached.element), input);
}

}  // namespace wf::feature
