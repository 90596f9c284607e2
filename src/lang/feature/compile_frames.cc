// Stages with a body or conditions for each item: Filter, Where, Map, GroupBy; and First, Last, Nth.
#include "lang/feature/feature_compiler.h"

namespace wf::feature {

int FeatureCompiler::CompileCondition(const Condition& condition) {
  PlanCondition compiled;
  compiled.key = builder.KeyIndex(condition.key.name);
  compiled.negated = condition.negated;
  compiled.compare = condition.compare;
  compiled.literals = condition.literals;
  if (condition.compare == Compare::kMatch) {
    if (condition.literals[0].kind != Literal::Kind::kText)
      Fail(condition.literal_place, "~ takes a pattern in quotes", "as in: name ~ \"^GET \"");
    Result<lang::Pattern> pattern = lang::Pattern::Compile(condition.literals[0].text);
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
  // Of an enclosing body, to be solved there.
  const PlanBuilder::Conflict before = builder.conflict;
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

}  // namespace wf::feature
