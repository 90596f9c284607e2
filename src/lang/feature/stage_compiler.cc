// Stages: which function goes where, and what arguments are. What each kind takes and gives (the types of
// docs/reference/feature-language.md) is in compile_navigate.cc, compile_frames.cc, compile_values.cc, compile_paths.cc,
// compile_aggregates.cc, compile_arithmetic.cc and compile_record.cc, as their running is in run_….cc.
#include "lang/feature/feature_compiler.h"

namespace wf::feature {

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
