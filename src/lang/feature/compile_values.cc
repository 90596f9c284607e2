// Stages that read values off elements, and what they are of: keys, times, names, stacks, counters.
#include "lang/feature/feature_compiler.h"
#include "lang/feature/stage_types.h"

namespace wf::feature {

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

}  // namespace wf::feature
