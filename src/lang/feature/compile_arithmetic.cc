// Stages that calculate with values: numbers, comparisons, truth, choices.
#include "lang/feature/feature_compiler.h"

namespace wf::feature {

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

}  // namespace wf::feature
