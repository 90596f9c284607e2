// Stages that make one value of many.
#include "lang/feature/feature_compiler.h"
#include "lang/feature/stage_types.h"

namespace wf::feature {

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

}  // namespace wf::feature
