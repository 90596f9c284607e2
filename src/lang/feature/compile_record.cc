// RecordAs: a value becomes a column.
#include <algorithm>

#include "lang/feature/feature_compiler.h"

namespace wf::feature {

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

}  // namespace wf::feature
