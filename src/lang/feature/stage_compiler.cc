// What each function of the language takes and gives: the types of docs/FEATURES.md.
#include <algorithm>

#include "lang/common/suggestion.h"
#include "lang/feature/feature_compiler.h"

namespace wf::feature {
namespace {

// Elements that are one of the trace's own, on a path or not.
bool IsBlock(Element e) {
  return e == Element::kBlock || e == Element::kPathBlock || e == Element::kSegment;
}
bool IsEdge(Element e) { return e == Element::kEdge || e == Element::kPathEdge; }

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

// One value where there was one element, many where there were many.
Type ValuesOf(const Type& elements, ColumnType value) {
  return elements.shape == Shape::kElement ? ValueType(value) : ValuesType(value);
}

std::string ItHint(const std::string& stage) {
  return "for each of them: | Map(It | " + stage + ")";
}

}  // namespace

void FeatureCompiler::WrongInput(const Call& call, int input, const std::string& takes,
                                 const std::string& hint) const {
  Fail(call.place,
       call.name + " takes " + takes + "; here it gets " + TypeName(builder.type(input)), hint);
}

int FeatureCompiler::Unary(Op op, uint8_t sub, Type type, int input, int imm) {
  Node node;
  node.op = op;
  node.sub = sub;
  node.type = type;
  node.in[0] = input;
  node.imm = imm;
  return builder.Add(node);
}

int FeatureCompiler::AsValue(int node) {
  if (!builder.type(node).distinct) return node;
  return Unary(Op::kAggregate, static_cast<uint8_t>(Aggregation::kDistinctCount),
               ValueType(ColumnType::kInt), node);
}

int FeatureCompiler::Promote(int node) {
  Type type = builder.type(node);
  if (type.value == ColumnType::kDouble) return node;
  type.value = ColumnType::kDouble;
  return Unary(Op::kToDouble, 0, type, node);
}

int FeatureCompiler::Apply(const FunctionInfo& info, const Call& call, int input,
                           const Environment& env) {
  switch (info.function) {
    case Function::kFilter:
      return Filter(call, input, env);
    case Function::kWhere:
      return Over(Op::kSelect, call, call.arguments[0], input, env);
    case Function::kMap:
      return Over(Op::kCollect, call, call.arguments[0], input, env);
    case Function::kGroupBy:
      return Over(Op::kGroupBy, call, call.arguments[0], input, env);
    case Function::kFirst:
      return Pick(call, input, 1);
    case Function::kLast:
      return Pick(call, input, -1);
    case Function::kNth: {
      const Literal& nth = LiteralArgument(call.arguments[0], "a whole number from 1");
      if (nth.kind != Literal::Kind::kInt || nth.integer < 1 || nth.integer > 1'000'000'000)
        Fail(call.arguments[0].place, "Nth takes a whole number from 1", "| Nth(1) is | First");
      return Pick(call, input, static_cast<int>(nth.integer));
    }
    case Function::kLabel:
    case Function::kCounter:
      return ReadKey(info, call, input, env);
    case Function::kTimestamp:
    case Function::kEnd:
    case Function::kDuration:
    case Function::kName:
    case Function::kStack:
      return Property(info, call, input);
    case Function::kCounterDelta:
      return CounterDelta(call, input, env);
    case Function::kCount:
    case Function::kSum:
    case Function::kMean:
    case Function::kMin:
    case Function::kMax:
    case Function::kPercentile:
    case Function::kDistinct:
    case Function::kList:
      return Aggregate(info, call, input);
    case Function::kExists:
      return Unary(Op::kExists, 0, ValueType(ColumnType::kBool), input);
    case Function::kAdd:
    case Function::kSubtract:
    case Function::kMultiply:
    case Function::kDivide:
      return Calculate(info, call, input, env);
    case Function::kEq:
    case Function::kNe:
    case Function::kLt:
    case Function::kLe:
    case Function::kGt:
    case Function::kGe:
      return CompareWith(info, call, input, env);
    case Function::kAnd:
    case Function::kOr:
    case Function::kNot:
      return Logical(info, call, input, env);
    case Function::kIf:
      return Choose(call, input, env);
    case Function::kDefault:
      return WithDefault(call, input, env);
    case Function::kRecordAs:
      return Record(call, input, env);
    default:
      return Navigate(info, call, input);
  }
}

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

int FeatureCompiler::CompileCondition(const Condition& condition) {
  PlanCondition compiled;
  compiled.key = builder.KeyIndex(condition.key.name);
  compiled.negated = condition.negated;
  compiled.compare = condition.compare;
  compiled.literals = condition.literals;
  if (condition.compare == Compare::kMatch) {
    if (condition.literals[0].kind != Literal::Kind::kText)
      Fail(condition.literal_place, "~ takes a pattern in quotes", "as in: name ~ \"^GET \"");
    Result<Pattern> pattern = Pattern::Compile(condition.literals[0].text);
    if (!pattern.ok()) Fail(condition.literal_place, pattern.error().message, pattern.error().hint);
    compiled.pattern = static_cast<int>(builder.plan.patterns.size());
    builder.plan.patterns.push_back(std::move(pattern).value());
  }
  const bool ordered = condition.compare == Compare::kLt || condition.compare == Compare::kLe ||
                       condition.compare == Compare::kGt || condition.compare == Compare::kGe;
  if (ordered && condition.literals[0].kind == Literal::Kind::kBool)
    Fail(condition.literal_place, "true and false are not ordered", "compare them with = or !=");
  builder.plan.conditions.push_back(std::move(compiled));
  return static_cast<int>(builder.plan.conditions.size()) - 1;
}

int FeatureCompiler::Filter(const Call& call, int input, const Environment& env) {
  const Type type = builder.type(input);
  if (type.is_value()) WrongInput(call, input, "elements", "for values: | Where(It | Gt(5ms))");
  if (type.shape == Shape::kGroups)
    WrongInput(call, input, "elements", "filter before GroupBy, or | Where(It | Count | Gt(1))");
  int node = input;
  for (size_t i = 0; i < call.arguments.size();) {
    const Argument& argument = call.arguments[i];
    if (argument.kind != Argument::Kind::kCondition) {
      const auto key = AsKey(argument, env);
      if (key && FindFunction(*key) == nullptr && Find(*key, env) == nullptr &&
          env.parameters.count(*key) == 0)
        Fail(argument.place, "Filter needs a condition, not only the key " + *key,
             "as in: Filter(" + *key + " = \"…\"), or Filter(" + *key + " exists)");
      node = Over(Op::kSelect, call, argument, node, env);
      ++i;
      continue;
    }
    // Neighbouring conditions are one pass over the elements.
    Node filter;
    filter.op = Op::kFilterKeys;
    filter.type = builder.type(node);
    filter.in[0] = node;
    filter.imm = static_cast<int>(builder.plan.conditions.size());
    for (; i < call.arguments.size() && call.arguments[i].kind == Argument::Kind::kCondition; ++i) {
      CompileCondition(call.arguments[i].condition);
      ++filter.extra;
    }
    node = builder.Add(filter);
  }
  return node;
}

// Where, Map and GroupBy: a body for each item of the input. A body that mentions a frame in which the input does not
// stand (Row, mostly) makes the input stand there, and is compiled again.
int FeatureCompiler::Over(Op op, const Call& call, const Argument& argument, int input,
                          const Environment& env) {
  const Type type = builder.type(input);
  if (op == Op::kGroupBy && (!type.is_element() && type.shape != Shape::kGroup))
    WrongInput(call, input, "elements", "as in: Blocks | GroupBy(service)");
  if (op == Op::kGroupBy && type.shape == Shape::kElement)
    WrongInput(call, input, "many elements", "leave GroupBy out: there is only one");
  int source = input;
  const PlanBuilder::Conflict before =
      builder.conflict;  // of an enclosing body, to be solved there
  for (int attempt = 0; attempt < 8; ++attempt) {
    builder.conflict = {};
    const int frame = builder.OpenFrame(source);
    struct Close {
      PlanBuilder& builder;
      int frame;
      ~Close() { builder.CloseFrame(frame); }
    } close{builder, frame};
    const int node = Body(op, call, argument, source, frame, env);
    if (!builder.conflict.happened) {
      builder.conflict = before;
      return node;
    }
    const auto [happened, a, b] = builder.conflict;
    const int outside = builder.Encloses(frame, a) ? b : a;
    const int home = builder.node(source).frame;
    const bool ours = builder.Encloses(frame, a) != builder.Encloses(frame, b);
    // Not ours to solve: an enclosing Map is compiled again.
    if (!ours || !builder.Encloses(home, outside) || outside == home) return node;
    source = builder.Broadcast(source, outside);
  }
  Fail(call.place, "this mixes the items of too many Map( ) and Where( )", "name the inner parts");
}

int FeatureCompiler::Body(Op op, const Call& call, const Argument& argument, int source, int frame,
                          const Environment& env) {
  const Type type = builder.type(source);
  Node it;
  it.op = Op::kIt;
  switch (type.shape) {
    case Shape::kGroups:
      it.type = {Shape::kGroup, type.element};
      break;
    case Shape::kValue:
    case Shape::kValues:
      it.type = ValueType(type.value);
      break;
    default:
      it.type = OneType(type.element);
      break;
  }
  Environment inner = env;
  inner.it = builder.Add(it, frame);

  Node node;
  node.op = op;
  node.in[0] = source;
  node.type = type;
  if (op == Op::kGroupBy) {
    node.type = {Shape::kGroups, type.element};
    if (const auto key = AsKey(argument, env)) {
      node.in[1] =
          Unary(Op::kKeyText, 0, ValueType(ColumnType::kText), inner.it, builder.KeyIndex(*key));
      return builder.AddOver(node, frame);
    }
  }
  if (argument.kind == Argument::Kind::kCondition) {
    if (op != Op::kSelect)
      Fail(argument.place, call.name + " takes a pipeline, not a condition",
           "as in: " + std::string(FindFunction(call.name)->usage));
    if (!type.is_element() && type.shape != Shape::kGroup)
      Fail(argument.place, TypeName(type) + " have no keys", "as in: | Where(It | Gt(5ms))");
    Node filter;
    filter.op = Op::kFilterKeys;
    filter.type = type;
    filter.in[0] = source;
    filter.imm = CompileCondition(argument.condition);
    filter.extra = 1;
    return builder.Add(filter);
  }
  node.in[1] = AsValue(PipelineArgument(call, argument, inner));
  const Type body = builder.type(node.in[1]);
  if (op == Op::kSelect) {
    if (body.shape != Shape::kValue || !body.is_bool())
      Fail(argument.place,
           call.name + " needs true or false for each item; this is " + TypeName(body),
           "as in: " + call.name + "(It | Duration | Gt(5ms))");
  } else if (op == Op::kGroupBy) {
    if (body.shape != Shape::kValue)
      Fail(argument.place, "GroupBy needs one value for each item; this is " + TypeName(body),
           "as in: GroupBy(service), or GroupBy(It | Unit | Name)");
  } else {
    if (body.is_group())
      Fail(argument.place, "Map cannot collect " + TypeName(body), "aggregate them inside Map( )");
    const bool one = type.shape == Shape::kElement || type.shape == Shape::kValue;
    node.type = body;
    if (!one) node.type = body.is_value() ? ValuesType(body.value) : ManyType(body.element);
  }
  return builder.AddOver(node, frame);
}

int FeatureCompiler::Pick(const Call& call, int input, int nth) {
  const Type type = builder.type(input);
  switch (type.shape) {
    case Shape::kElement:
    case Shape::kValue:
      if (nth == 1 || nth == -1) return input;  // of one: itself
      WrongInput(call, input, "many", "leave it out: there is only one");
    case Shape::kValues:
      return Unary(Op::kNth, 0, ValueType(type.value), input, nth);
    case Shape::kGroups:
      return Unary(Op::kNth, 0, {Shape::kGroup, type.element}, input, nth);
    default:
      return Unary(Op::kNth, 0, OneType(type.element), input, nth);
  }
}

int FeatureCompiler::ReadKey(const FunctionInfo& info, const Call& call, int input,
                             const Environment& env) {
  const Type type = builder.type(input);
  const std::string key = KeyArgument(call, call.arguments[0], env);
  if (type.shape == Shape::kGroups)
    WrongInput(call, input, "elements", ItHint(call.name + "(" + key + ") | First"));
  if (type.is_value())
    WrongInput(call, input, "elements", "read it before: … | " + call.name + "(" + key + ")");
  const bool text = info.function == Function::kLabel;
  return Unary(text ? Op::kKeyText : Op::kKeyNumber, 0,
               ValuesOf(type, text ? ColumnType::kText : ColumnType::kDouble), input,
               builder.KeyIndex(key));
}

int FeatureCompiler::Property(const FunctionInfo& info, const Call& call, int input) {
  const Type type = builder.type(input);
  if (info.function == Function::kName && type.is_group()) {
    return Unary(
        Op::kGroupName, 0,
        type.shape == Shape::kGroup ? ValueType(ColumnType::kText) : ValuesType(ColumnType::kText),
        input);
  }
  if (type.shape == Shape::kGroups)
    WrongInput(call, input, "elements", ItHint(call.name + " | Sum"));
  if (type.is_value()) {
    std::string hint = "values have no " + call.name + "; remove the stage";
    if (info.function == Function::kDuration && type.is_number())
      hint =
          "these are numbers already; for the time between two points: b | Timestamp | "
          "Subtract(a | Timestamp)";
    WrongInput(call, input, "elements", hint);
  }
  ElementProperty property = ElementProperty::kTimestamp;
  ColumnType value = ColumnType::kInt;
  switch (info.function) {
    case Function::kEnd:
      property = ElementProperty::kEnd;
      break;
    case Function::kDuration:
      property = ElementProperty::kDuration;
      break;
    case Function::kName:
      property = ElementProperty::kName;
      value = ColumnType::kText;
      break;
    case Function::kStack:
      property = ElementProperty::kStack;
      value = ColumnType::kStack;
      break;
    default:
      break;
  }
  const bool nameless = type.element == Element::kGap || type.element == Element::kPath;
  if (nameless && value != ColumnType::kInt)
    Fail(call.place, "there is no " + call.name + " of " + TypeName(type),
         "there are Timestamp, End and Duration");
  return Unary(Op::kProperty, static_cast<uint8_t>(property), ValuesOf(type, value), input);
}

int FeatureCompiler::CounterDelta(const Call& call, int input, const Environment& env) {
  const Type type = builder.type(input);
  const bool possible =
      (type.is_element() || type.shape == Shape::kGroup) &&
      (type.element == Element::kTrace || type.element == Element::kUnit || IsBlock(type.element));
  if (!possible)
    WrongInput(call, input, "the trace, execution units or blocks",
               "as in: ExecUnits | CounterDelta(cpu, Begin->End)");
  Node node;
  node.op = Op::kCounterDelta;
  node.imm = builder.KeyIndex(KeyArgument(call, call.arguments[0], env));
  const Argument& range = call.arguments[1];
  if (range.kind != Argument::Kind::kRange)
    Fail(range.place, "CounterDelta's second argument is from->to",
         "as in: CounterDelta(cpu, Begin->DisplayDone)");
  const Pipeline* ends[] = {range.from.get(), range.to.get()};
  for (size_t i = 0; i < 2; ++i) {
    const int end = CompilePipeline(*ends[i], env);
    if (builder.type(end).shape != Shape::kElement)
      Fail(ends[i]->place, "an end of -> is one element; this is " + TypeName(builder.type(end)),
           "add | First or | Last");
    const auto property = i == 0 ? ElementProperty::kTimestamp : ElementProperty::kEnd;
    node.in[i + 1] =
        Unary(Op::kProperty, static_cast<uint8_t>(property), ValueType(ColumnType::kInt), end);
  }
  node.in[0] = input;
  node.type = ValuesOf(type, ColumnType::kDouble);
  return builder.Add(node);
}

int FeatureCompiler::CriticalPathOf(const Call& call, const Environment& env) {
  Node node;
  node.op = Op::kCriticalPath;
  node.type = OneType(Element::kPath);
  if (call.arguments.empty()) return builder.Add(node);
  const Argument& range = call.arguments[0];
  if (range.kind != Argument::Kind::kRange)
    Fail(range.place, "CriticalPath goes from one element to another",
         "as in: CriticalPath(Begin->DisplayDone); without arguments it is the whole trace's");
  const Pipeline* ends[] = {range.from.get(), range.to.get()};
  for (size_t i = 0; i < 2; ++i) {
    node.in[i] = CompilePipeline(*ends[i], env);
    const Type type = builder.type(node.in[i]);
    if (type.shape != Shape::kElement)
      Fail(ends[i]->place, "an end of -> is one point or block; this is " + TypeName(type),
           "add | First or | Last");
    if (type.element != Element::kPoint && !IsBlock(type.element))
      Fail(ends[i]->place, "an end of -> is a point or a block; this is " + TypeName(type),
           "as in: … | Points | First");
  }
  return builder.Add(node);
}

int FeatureCompiler::Aggregate(const FunctionInfo& info, const Call& call, int input) {
  const Type type = builder.type(input);
  const bool countable = info.function == Function::kCount || info.function == Function::kDistinct;
  if (type.shape == Shape::kValue || type.shape == Shape::kElement)
    WrongInput(call, input, "many", "leave " + call.name + " out: there is only one");
  if (type.shape == Shape::kGroups && info.function != Function::kCount)
    WrongInput(call, input, "values", ItHint("Duration | " + call.name));
  if (info.function == Function::kDistinct) {
    Type distinct = type.is_value() ? type : ManyType(type.element);
    distinct.distinct = true;
    return Unary(Op::kDistinct, 0, distinct, input);
  }
  if (!type.is_value() && !countable)
    WrongInput(call, input, "values",
               info.function == Function::kList
                   ? "read values off them first: | Name | List"
                   : "read values off them first: | Duration | " + call.name);
  Aggregation aggregation = Aggregation::kCount;
  Type out = ValueType(type.value);
  int imm = 0;
  switch (info.function) {
    case Function::kCount:
      out.value = ColumnType::kInt;
      break;
    case Function::kSum:
      aggregation = Aggregation::kSum;
      break;
    case Function::kMean:
      aggregation = Aggregation::kMean;
      out.value = ColumnType::kDouble;
      break;
    case Function::kMin:
      aggregation = Aggregation::kMin;
      break;
    case Function::kMax:
      aggregation = Aggregation::kMax;
      break;
    case Function::kPercentile: {
      aggregation = Aggregation::kPercentile;
      Literal percent = LiteralArgument(call.arguments[0], "a number from 0 to 100");
      if (percent.kind == Literal::Kind::kInt)
        percent.number = static_cast<double>(percent.integer);
      const bool number =
          percent.kind == Literal::Kind::kInt || percent.kind == Literal::Kind::kDouble;
      if (!number || !(percent.number >= 0 && percent.number <= 100))
        Fail(call.arguments[0].place, "Percentile takes a number from 0 to 100",
             "the median is | Percentile(50)");
      percent.kind = Literal::Kind::kDouble;
      percent.integer = 0;
      imm = builder.node(builder.Constant(percent)).imm;
      break;
    }
    default:
      aggregation = Aggregation::kList;
      out.value = ColumnType::kText;
      break;
  }
  const bool any = aggregation == Aggregation::kCount || aggregation == Aggregation::kList;
  const bool ordered = aggregation == Aggregation::kMin || aggregation == Aggregation::kMax;
  if (!any && !type.is_number() && !(ordered && type.is_text()))
    WrongInput(call, input, ordered ? "numbers or texts" : "numbers",
               type.is_text() ? "a label that is a number is read by Counter(key)"
                              : "how many are true: | Where(It) | Count");
  return Unary(Op::kAggregate, static_cast<uint8_t>(aggregation), out, input, imm);
}

int FeatureCompiler::Calculate(const FunctionInfo& info, const Call& call, int input,
                               const Environment& env) {
  int left = AsValue(input);
  int right = OneValueArgument(call, call.arguments[0], env);
  if (!builder.type(left).is_number())
    WrongInput(call, input, "numbers",
               builder.type(left).is_text() ? "a label that is a number is read by Counter(key)"
               : builder.type(left).is_element() ? "read values off them first: | Duration"
                                                 : "as in: " + std::string(info.usage));
  if (!builder.type(right).is_number())
    Fail(call.arguments[0].place,
         call.name + "'s argument is a number; this is " + TypeName(builder.type(right)),
         "as in: | " + call.name + "(Begin | Timestamp)");
  Arithmetic operation = Arithmetic::kAdd;
  if (info.function == Function::kSubtract) operation = Arithmetic::kSubtract;
  if (info.function == Function::kMultiply) operation = Arithmetic::kMultiply;
  if (info.function == Function::kDivide) operation = Arithmetic::kDivide;
  Node node;
  node.op = Op::kArithmetic;
  node.sub = static_cast<uint8_t>(operation);
  node.type = builder.type(left);
  const bool whole = builder.type(left).value == ColumnType::kInt &&
                     builder.type(right).value == ColumnType::kInt &&
                     operation != Arithmetic::kDivide;
  node.type.value = whole ? ColumnType::kInt : ColumnType::kDouble;
  node.in = {left, right, kNoNode};
  return builder.Add(node);
}

int FeatureCompiler::CompareWith(const FunctionInfo& info, const Call& call, int input,
                                 const Environment& env) {
  const int left = AsValue(input);
  const int right = OneValueArgument(call, call.arguments[0], env);
  const Type a = builder.type(left), b = builder.type(right);
  if (!a.is_value())
    WrongInput(call, input, "values", "read values off them first, as in | Duration");
  const bool alike = (a.is_number() && b.is_number()) || (a.is_text() && b.is_text()) ||
                     (a.is_bool() && b.is_bool());
  if (!alike) {
    Type one = a;
    one.shape = Shape::kValue;
    Fail(call.arguments[0].place, call.name + " compares " + TypeName(one) + " with " + TypeName(b),
         a.is_text() && b.is_number() ? "a label that is a number is read by Counter(key)"
                                      : "both sides must be of one type");
  }
  static constexpr Compare kCompares[] = {Compare::kEq, Compare::kNe, Compare::kLt,
                                          Compare::kLe, Compare::kGt, Compare::kGe};
  const Compare compare =
      kCompares[static_cast<size_t>(info.function) - static_cast<size_t>(Function::kEq)];
  if (a.is_bool() && compare != Compare::kEq && compare != Compare::kNe)
    Fail(call.place, "true and false are not ordered", "compare them by Eq or Ne");
  Node node;
  node.op = Op::kCompare;
  node.sub = static_cast<uint8_t>(compare);
  node.type = a;
  node.type.value = ColumnType::kBool;
  node.in = {left, right, kNoNode};
  return builder.Add(node);
}

int FeatureCompiler::Logical(const FunctionInfo& info, const Call& call, int input,
                             const Environment& env) {
  if (!builder.type(input).is_bool())
    WrongInput(call, input, "true or false",
               builder.type(input).is_number() ? "compare first: | Gt(0) | " + call.name + "(…)"
                                               : "ask first: | Exists");
  Node node;
  node.op = info.function == Function::kNot ? Op::kNot : Op::kLogic;
  node.type = builder.type(input);
  node.in[0] = input;
  if (node.op == Op::kLogic) {
    node.sub = static_cast<uint8_t>(info.function == Function::kAnd ? Logic::kAnd : Logic::kOr);
    node.in[1] = OneValueArgument(call, call.arguments[0], env);
    if (!builder.type(node.in[1]).is_bool())
      Fail(
          call.arguments[0].place,
          call.name + "'s argument is true or false; this is " + TypeName(builder.type(node.in[1])),
          "as in: | " + call.name + "(Blocks | Count | Gt(3))");
  }
  return builder.Add(node);
}

int FeatureCompiler::Choose(const Call& call, int input, const Environment& env) {
  if (!builder.type(input).is_bool())
    WrongInput(call, input, "true or false", "as in: " + std::string(InfoOf(Function::kIf).usage));
  int yes = OneValueArgument(call, call.arguments[0], env);
  int no = OneValueArgument(call, call.arguments[1], env);
  if (builder.type(yes).is_number() && builder.type(no).is_number() &&
      builder.type(yes).value != builder.type(no).value) {
    yes = Promote(yes);
    no = Promote(no);
  }
  if (builder.type(yes).value != builder.type(no).value)
    Fail(call.arguments[1].place,
         "If gives " + TypeName(builder.type(yes)) + " or " + TypeName(builder.type(no)),
         "both must be of one type");
  Node node;
  node.op = Op::kIf;
  node.type = builder.type(input);
  node.type.value = builder.type(yes).value;
  node.in = {input, yes, no};
  return builder.Add(node);
}

int FeatureCompiler::WithDefault(const Call& call, int input, const Environment& env) {
  int left = AsValue(input);
  int right = OneValueArgument(call, call.arguments[0], env);
  if (!builder.type(left).is_value())
    WrongInput(call, input, "values", "read a value first: | Duration | Default(0)");
  if (builder.type(left).is_number() && builder.type(right).is_number() &&
      builder.type(left).value != builder.type(right).value) {
    left = Promote(left);
    right = Promote(right);
  }
  if (builder.type(left).value != builder.type(right).value)
    Fail(call.arguments[0].place,
         "Default stands for " + TypeName(ValueType(builder.type(left).value)) + "; this is " +
             TypeName(builder.type(right)),
         "both must be of one type");
  Node node;
  node.op = Op::kDefault;
  node.type = builder.type(left);
  node.in = {left, right, kNoNode};
  return builder.Add(node);
}

int FeatureCompiler::Record(const Call& call, int input, const Environment& env) {
  const Literal& name = LiteralArgument(call.arguments[0], "a name in quotes");
  const Place& place = call.arguments[0].place;
  if (name.kind != Literal::Kind::kText)
    Fail(place, "RecordAs takes a name in quotes", "as in: | RecordAs(\"load_time\")");
  if (env.it != kNoNode)
    Fail(call.place, "RecordAs inside Where( ) or Map( ) has no row to go to",
         "record the result of the whole pipeline");
  const std::string& column = name.text;
  std::string plain;
  for (const char c : column) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = (c >= '0' && c <= '9') || c == '.';
    plain += letter || (digit && !plain.empty()) ? c : '_';
  }
  if (column.empty() || column != plain || column.size() > 128)
    Fail(place, "a column is named by letters, digits, \"_\" and \".\"",
         column.empty() || column.size() > 128 ? "as in: | RecordAs(\"load_time\")"
                                               : "did you mean \"" + plain + "\"?");
  const int node = AsValue(input);
  const Type type = builder.type(node);
  if (type.shape != Shape::kValue) {
    std::string hint = "make one of many: | Sum, | Mean, | Max, | First …";
    if (type.shape == Shape::kElement)
      hint = "read a value off it: | Duration, | Name, | Label(key)";
    if (type.shape == Shape::kElements || type.is_group())
      hint = "| Count them, or read values off them and make one of many: | Duration | Sum";
    WrongInput(call, input, "one value", hint);
  }
  // Engines that keep datasets do not tell Bytes from bytes.
  const auto same = [](const std::string& a, const std::string& b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                              [&](char x, char y) { return lower(x) == lower(y); });
  };
  for (const ColumnDefinition& fixed : FixedDatasetColumns()) {
    if (same(fixed.name, column))
      Fail(place, "every dataset has a column " + fixed.name + " already", "choose another name");
  }
  std::vector<PlanColumn>& columns = builder.plan.columns;
  for (const PlanColumn& known : columns) {
    if (known.definition.name == column && known.node == node)
      return node;  // said twice, once kept
    if (same(known.definition.name, column))
      Fail(place, "there is a column " + known.definition.name + " already", "choose another name");
  }
  if (columns.size() >= kMaxColumns)
    Fail(call.place, "a dataset has at most 1,000 columns", "make a second dataset");
  columns.push_back({{column, type.value}, node});
  return node;
}

std::optional<std::string> FeatureCompiler::AsKey(const Argument& argument,
                                                  const Environment& env) const {
  if (argument.kind == Argument::Kind::kKey) return argument.key.name;
  if (argument.kind != Argument::Kind::kPipeline) return std::nullopt;
  const std::string* key = argument.from->AsKey();
  if (key == nullptr) return std::nullopt;
  // In a def, a parameter's name stands for what was passed.
  const bool quoted = argument.from->operand.kind == Operand::Kind::kLiteral;
  const auto parameter = quoted ? env.parameters.end() : env.parameters.find(*key);
  if (parameter == env.parameters.end()) return *key;
  if (parameter->second.argument == nullptr) return std::nullopt;
  return AsKey(*parameter->second.argument, *parameter->second.caller);
}

std::string FeatureCompiler::KeyArgument(const Call& call, const Argument& argument,
                                         const Environment& env) const {
  const auto key = AsKey(argument, env);
  if (!key)
    Fail(argument.place, call.name + " takes a key: a name, or a text in quotes",
         "as in: " + call.name + "(bytes), " + call.name + "(http.route), " + call.name +
             "(\"user-id\")");
  return *key;
}

int FeatureCompiler::PipelineArgument(const Call& call, const Argument& argument,
                                      const Environment& env) {
  switch (argument.kind) {
    case Argument::Kind::kPipeline:
      return CompilePipeline(*argument.from, env);
    case Argument::Kind::kRange:
      Fail(argument.place, call.name + " takes no a->b", "CriticalPath and CounterDelta do");
    case Argument::Kind::kCondition:
      Fail(argument.place, call.name + " takes a value, not a condition",
           "conditions stand in Filter( ); for values: | Eq(x)");
    case Argument::Kind::kKey:
      Fail(argument.place, call.name + " takes a value, not the key " + argument.key.name,
           "read it: It | Label(" + argument.key.name + ")");
  }
  return kNoNode;
}

int FeatureCompiler::OneValueArgument(const Call& call, const Argument& argument,
                                      const Environment& env) {
  const int node = AsValue(PipelineArgument(call, argument, env));
  const Type type = builder.type(node);
  if (type.shape != Shape::kValue)
    Fail(argument.place, call.name + "'s argument is one value; this is " + TypeName(type),
         type.is_value() ? "make one of many: | Sum, | First …; for each item: | Map(It | … )"
                         : "read a value off it: | First | Timestamp");
  return node;
}

const Literal& FeatureCompiler::LiteralArgument(const Argument& argument,
                                                const std::string& what) const {
  const bool literal = argument.kind == Argument::Kind::kPipeline &&
                       argument.from->stages.empty() &&
                       argument.from->operand.kind == Operand::Kind::kLiteral;
  if (!literal) Fail(argument.place, "this must be " + what, "write it out, without a pipeline");
  return argument.from->operand.literal;
}

}  // namespace wf::feature
