#include "lang/query/advice_text.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace wf::query {
namespace {

using advice::AggregateKind;
using advice::Op;

// How tightly the outermost operator of a text binds.
enum Binding { kOr = 1, kAnd, kNot, kComparison, kSum, kTerm, kUnary, kAtom };

struct Text {
  std::string text;
  int binding = kAtom;
};

struct OpText {
  const char* text;
  int binding;  // kAtom: a function
  int args;
};

OpText Describe(Op op) {
  switch (op) {
    case Op::kAdd:
      return {"+", kSum, 2};
    case Op::kSubtract:
      return {"-", kSum, 2};
    case Op::kMultiply:
      return {"*", kTerm, 2};
    case Op::kDivide:
      return {"/", kTerm, 2};
    case Op::kNegate:
      return {"-", kUnary, 1};
    case Op::kEqual:
      return {"=", kComparison, 2};
    case Op::kNotEqual:
      return {"!=", kComparison, 2};
    case Op::kLess:
      return {"<", kComparison, 2};
    case Op::kLessEqual:
      return {"<=", kComparison, 2};
    case Op::kGreater:
      return {">", kComparison, 2};
    case Op::kGreaterEqual:
      return {">=", kComparison, 2};
    case Op::kAnd:
      return {"&&", kAnd, 2};
    case Op::kOr:
      return {"||", kOr, 2};
    case Op::kNot:
      return {"!", kNot, 1};
    case Op::kLower:
      return {"Lower", kAtom, 1};
    case Op::kUpper:
      return {"Upper", kAtom, 1};
    case Op::kLength:
      return {"Length", kAtom, 1};
    case Op::kContains:
      return {"Contains", kAtom, 2};
    case Op::kStartsWith:
      return {"StartsWith", kAtom, 2};
    case Op::kEndsWith:
      return {"EndsWith", kAtom, 2};
    case Op::kBucket:
      return {"Bucket", kAtom, 2};
    case Op::kHas:
      return {"Has", kAtom, 1};
    case Op::kSize:
      return {"Size", kAtom, 1};
    case Op::kConstant:
    case Op::kColumn:
      break;
  }
  return {"", kAtom, 0};
}

std::string QuotedText(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    switch (c) {
      case '\n':
        quoted += "\\n";
        break;
      case '\t':
        quoted += "\\t";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      case '\'':
        quoted += "\\'";
        break;
      default:
        quoted += c;
    }
  }
  return quoted + "'";
}

Text ConstantText(const advice::Value& value) {
  if (const auto* b = std::get_if<bool>(&value)) return {*b ? "true" : "false"};
  if (const auto* i = std::get_if<int64_t>(&value))
    return {fmt::format("{}", *i), *i < 0 ? kUnary : kAtom};
  if (const auto* d = std::get_if<double>(&value))
    return {fmt::format("{}", *d), *d < 0 ? kUnary : kAtom};
  if (const auto* s = std::get_if<std::string>(&value)) return {QuotedText(*s)};
  return {"null"};
}

std::string Bound(const Text& text, int at_least) {
  return text.binding < at_least ? "(" + text.text + ")" : text.text;
}

Text ExpressionText(const advice::Expression& expression, const std::vector<Text>& columns) {
  std::vector<Text> stack;
  for (const advice::Instruction& instruction : expression.code) {
    if (instruction.op == Op::kConstant) {
      stack.push_back(ConstantText(expression.constants[instruction.operand]));
      continue;
    }
    if (instruction.op == Op::kColumn) {
      stack.push_back(columns[instruction.operand]);
      continue;
    }
    const OpText op = Describe(instruction.op);
    std::vector<Text> args(stack.end() - op.args, stack.end());
    stack.resize(stack.size() - args.size());
    Text made{{}, op.binding};
    if (op.binding == kAtom) {
      made.text = fmt::format("{}({}{}{})", op.text, args[0].text, op.args > 1 ? ", " : "",
                              op.args > 1 ? args[1].text : "");
    } else if (op.args == 1) {
      made.text = op.text + Bound(args[0], op.binding == kNot ? kComparison : kAtom);
    } else {
      // Operators of one rank associate to the left; comparisons do not at all.
      const int left = op.binding == kComparison ? kSum : op.binding;
      made.text =
          fmt::format("{} {} {}", Bound(args[0], left), op.text, Bound(args[1], op.binding + 1));
    }
    stack.push_back(std::move(made));
  }
  return stack.back();
}

const char* AggregateName(AggregateKind kind) {
  switch (kind) {
    case AggregateKind::kCount:
      return "COUNT";
    case AggregateKind::kSum:
      return "SUM";
    case AggregateKind::kMin:
      return "MIN";
    case AggregateKind::kMax:
      return "MAX";
    case AggregateKind::kAverage:
      return "AVERAGE";
    case AggregateKind::kPercentile:
      return "PERCENTILE";
    case AggregateKind::kDistinct:
      return "DISTINCT";
    case AggregateKind::kHistogram:
      return "HISTOGRAM";
  }
  return "";
}

Text AggregateText(const advice::AggregateInput& input, const std::vector<Text>& columns) {
  const char* name = AggregateName(input.aggregate.kind);
  const Text argument = ExpressionText(input.argument, columns);
  if (input.aggregate.kind == AggregateKind::kCount && argument.text == "true") return {name};
  if (input.aggregate.kind == AggregateKind::kPercentile)
    return {fmt::format("{}({}, {})", name, argument.text, input.aggregate.parameter)};
  return {fmt::format("{}({})", name, argument.text)};
}

std::string Listed(const std::vector<Text>& texts) {
  std::string all;
  for (const Text& text : texts) all += (all.empty() ? "" : ", ") + text.text;
  return all;
}

class AdviceWriter {
 public:
  explicit AdviceWriter(const Compiled& compiled)
      : compiled_(compiled), slots_(compiled.program.slots.size()) {
    for (const advice::Advice& advice : compiled.program.advice)
      for (const advice::Step& step : advice.steps)
        if (const auto* observe = std::get_if<advice::Observe>(&step))
          for (const std::string& variable : observe->variables) ++observers_[variable];
  }

  std::vector<std::string> Write(size_t advice) {
    alias_ = compiled_.aliases[advice];
    columns_.clear();
    unpacked_.clear();
    lines_.clear();
    for (const advice::Step& step : compiled_.program.advice[advice].steps)
      std::visit([this](const auto& one) { Line(one); }, step);
    return std::move(lines_);
  }

 private:
  struct SlotTexts {
    std::vector<Text> columns, states;
  };

  void Line(const advice::Observe& observe) {
    for (const std::string& variable : observe.variables)
      columns_.push_back({observers_[variable] > 1 ? alias_ + "." + variable : variable});
    if (!columns_.empty()) lines_.push_back("OBSERVE " + Listed(columns_));
  }
  void Line(const advice::Filter& filter) {
    lines_.push_back("FILTER " + ExpressionText(filter.condition, columns_).text);
  }
  void Line(const advice::RequireTuples&) { lines_.emplace_back("REQUIRE TUPLES"); }
  void Line(const advice::Unpack& unpack) {
    const SlotTexts& slot = slots_[unpack.slot];
    unpacked_.push_back(slot.states);
    std::vector<Text> added = slot.columns;
    if (unpack.finish) {
      std::vector<Text> finished = slot.columns;
      finished.insert(finished.end(), slot.states.begin(), slot.states.end());
      added.clear();
      for (const advice::Expression& expression : unpack.select)
        added.push_back(ExpressionText(expression, finished));
    }
    columns_.insert(columns_.end(), added.begin(), added.end());
    if (!unpack.finish) added.insert(added.end(), slot.states.begin(), slot.states.end());
    lines_.push_back("UNPACK " + (added.empty() ? "COUNT" : Listed(added)));
  }
  void Line(const advice::Pack& pack) {
    SlotTexts& slot = slots_[pack.slot];
    slot = Grouped(pack.grouping);
    std::vector<Text> all = slot.columns;
    all.insert(all.end(), slot.states.begin(), slot.states.end());
    std::string keep;
    if (pack.keep == advice::Keep::kFirst) keep = "-FIRST";
    if (pack.keep == advice::Keep::kMostRecent) keep = "-RECENT";
    if (pack.keep != advice::Keep::kAll && pack.limit != 1)
      keep += fmt::format("N({})", pack.limit);
    // With no column at all the number of tuples is all that travels.
    lines_.push_back(fmt::format("PACK{} {}", keep, all.empty() ? "COUNT" : Listed(all)));
  }
  void Line(const advice::Emit& emit) {
    const SlotTexts groups = Grouped(emit.grouping);
    std::vector<Text> all = groups.columns;
    all.insert(all.end(), groups.states.begin(), groups.states.end());
    std::vector<Text> selected;
    for (const advice::Expression& expression : emit.select)
      selected.push_back(ExpressionText(expression, all));
    std::string line = "EMIT " + Listed(selected);
    // Keys that the answer does not show still make its rows.
    std::vector<Text> unseen;
    for (const Text& key : groups.columns) {
      bool seen = false;
      for (const Text& one : selected) seen = seen || one.text == key.text;
      if (!seen) unseen.push_back(key);
    }
    if (emit.grouped && !unseen.empty()) line += " BY " + Listed(groups.columns);
    lines_.push_back(std::move(line));
  }

  SlotTexts Grouped(const advice::Grouping& grouping) const {
    SlotTexts texts;
    for (const advice::Expression& column : grouping.columns)
      texts.columns.push_back(ExpressionText(column, columns_));
    for (const advice::AggregateInput& input : grouping.aggregates)
      texts.states.push_back(input.carried ? unpacked_[input.carried->unpack][input.carried->state]
                                           : AggregateText(input, columns_));
    return texts;
  }

  const Compiled& compiled_;
  std::map<std::string, int> observers_;
  std::vector<SlotTexts> slots_;
  std::string alias_;
  std::vector<Text> columns_;
  std::vector<std::vector<Text>> unpacked_;  // the states of each unpack
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::vector<std::string>> AdviceText(const Compiled& compiled) {
  AdviceWriter writer(compiled);
  std::vector<std::vector<std::string>> texts;
  for (size_t i = 0; i < compiled.program.advice.size(); ++i) texts.push_back(writer.Write(i));
  return texts;
}

}  // namespace wf::query
