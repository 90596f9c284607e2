#include "lang/ndlog/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/hash.h"

namespace wf::ndlog {
namespace {

Value Fault(Evaluation& evaluation, std::string what) {
  if (evaluation.fault.empty()) evaluation.fault = std::move(what);
  return {};
}

const List* ListOf(const Value& value, const char* function, Evaluation& evaluation) {
  if (const List* list = value.AsList()) return list;
  Fault(evaluation, fmt::format("{} needs a list, not {}", function, value.Clipped()));
  return nullptr;
}

// A loop that doubles a value must not use up the memory.
Value MakeList(List list, Evaluation& evaluation) {
  Value made(std::move(list));
  if (made.Weight() > kHeaviest) {
    return Fault(
        evaluation,
        fmt::format("a list grows without limit: more than {} elements and characters", kHeaviest));
  }
  if (made.Depth() > kDeepestList)
    return Fault(evaluation, fmt::format("lists are nested more than {} deep", kDeepestList));
  return made;
}

Value MakeText(std::string text, Evaluation& evaluation) {
  if (text.size() > kHeaviest)
    return Fault(evaluation,
                 fmt::format("a text grows without limit: more than {} characters", kHeaviest));
  return Value(std::move(text));
}

Value Size(const List& args, Evaluation& evaluation) {
  if (const auto* text = args[0].Text()) return Value(static_cast<int64_t>(text->size()));
  const List* list = ListOf(args[0], "f_size", evaluation);
  return list == nullptr ? Value() : Value(static_cast<int64_t>(list->size()));
}

// 1 or 0, as RapidNet has it; == takes these for true and false.
Value Member(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_member", evaluation);
  if (list == nullptr) return {};
  return Value(static_cast<int64_t>(std::find(list->begin(), list->end(), args[1]) != list->end()));
}

// Elements and lists, one behind the other.
Value Concat(const List& args, Evaluation& evaluation) {
  List out;
  for (const Value& arg : args) {
    if (const List* list = arg.AsList()) {
      out.insert(out.end(), list->begin(), list->end());
    } else {
      out.push_back(arg);
    }
  }
  return MakeList(std::move(out), evaluation);
}

Value Append(const List& args, Evaluation& evaluation) {
  if (args.size() == 1) return MakeList({args[0]}, evaluation);
  const List* list = ListOf(args[0], "f_append", evaluation);
  if (list == nullptr) return {};
  List out = *list;
  out.push_back(args[1]);
  return MakeList(std::move(out), evaluation);
}

Value Init(const List& args, Evaluation& evaluation) { return MakeList(args, evaluation); }
Value Empty(const List&, Evaluation& evaluation) { return MakeList({}, evaluation); }

Value IsEmpty(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_isEmpty", evaluation);
  return list == nullptr ? Value() : Value(static_cast<int64_t>(list->empty()));
}

Value At(const List& list, int64_t index, const char* function, Evaluation& evaluation) {
  if (index < 0 || index >= static_cast<int64_t>(list.size()))
    return Fault(evaluation, fmt::format("{}: the list {} has no element {}", function,
                                         Value(list).Clipped(), index));
  return list[static_cast<size_t>(index)];
}
Value First(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_first", evaluation);
  return list == nullptr ? Value() : At(*list, 0, "f_first", evaluation);
}
Value Last(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_last", evaluation);
  return list == nullptr ? Value()
                         : At(*list, static_cast<int64_t>(list->size()) - 1, "f_last", evaluation);
}
Value Item(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_item", evaluation);
  if (list == nullptr) return {};
  if (args[1].Int() == nullptr)
    return Fault(evaluation, "f_item needs a number from 0, not " + args[1].Clipped());
  return At(*list, *args[1].Int(), "f_item", evaluation);
}

Value RemoveFirst(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_removeFirst", evaluation);
  if (list == nullptr) return {};
  return Value(list->empty() ? List() : List(list->begin() + 1, list->end()));
}
Value RemoveLast(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_removeLast", evaluation);
  if (list == nullptr) return {};
  return Value(list->empty() ? List() : List(list->begin(), list->end() - 1));
}
Value Reverse(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_reverse", evaluation);
  return list == nullptr ? Value() : Value(List(list->rbegin(), list->rend()));
}
Value Sorted(const List& args, Evaluation& evaluation) {
  const List* list = ListOf(args[0], "f_sort", evaluation);
  if (list == nullptr) return {};
  List out = *list;
  std::sort(out.begin(), out.end());
  return Value(std::move(out));
}

Value Greater(const List& args, Evaluation&) { return args[0] < args[1] ? args[1] : args[0]; }
Value Less(const List& args, Evaluation&) { return args[1] < args[0] ? args[1] : args[0]; }

Value Absolute(const List& args, Evaluation& evaluation) {
  if (const auto* whole = args[0].Int()) {
    if (*whole == INT64_MIN) return Fault(evaluation, "f_abs: the number is too large");
    return Value(*whole < 0 ? -*whole : *whole);
  }
  if (const auto* number = args[0].Double()) return Value(std::fabs(*number));
  return Fault(evaluation, "f_abs needs a number, not " + args[0].Clipped());
}

Value HashFunction(const List& args, Evaluation&) {
  return Value(static_cast<int64_t>(args[0].Hash() >> 1));
}
Value ToText(const List& args, Evaluation& evaluation) {
  return args[0].Text() != nullptr ? args[0] : MakeText(args[0].Shown(), evaluation);
}
Value NowFunction(const List&, Evaluation& evaluation) { return Value(int64_t{evaluation.now}); }

constexpr Function kFunctions[] = {
    {"f_abs", 1, 1, Absolute},
    {"f_append", 1, 2, Append},
    {"f_concat", 1, 8, Concat},
    {"f_empty", 0, 0, Empty},
    {"f_first", 1, 1, First},
    {"f_hash", 1, 1, HashFunction},
    {"f_init", 1, 8, Init},
    {"f_isEmpty", 1, 1, IsEmpty},
    {"f_item", 2, 2, Item},
    {"f_last", 1, 1, Last},
    {"f_max", 2, 2, Greater},
    {"f_member", 2, 2, Member},
    {"f_min", 2, 2, Less},
    {"f_now", 0, 0, NowFunction},
    {"f_removeFirst", 1, 1, RemoveFirst},
    {"f_removeLast", 1, 1, RemoveLast},
    {"f_reverse", 1, 1, Reverse},
    {"f_size", 1, 1, Size},
    {"f_sort", 1, 1, Sorted},
    {"f_text", 1, 1, ToText},
};

// 1 == true, because f_member gives 1: programs write both.
bool Same(const Value& a, const Value& b) {
  const auto as_int = [](const Value& v) {
    return v.Bool() != nullptr ? Value(static_cast<int64_t>(*v.Bool())) : v;
  };
  return as_int(a) == as_int(b);
}

Value IntegerArithmetic(char op, int64_t a, int64_t b, Evaluation& evaluation) {
  int64_t out = 0;
  bool overflow = false;
  switch (op) {
    case '+':
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    default:
      if (b == 0) return Fault(evaluation, "division by zero");
      if (a == INT64_MIN && b == -1) return Fault(evaluation, "the number is too large");
      out = op == '/' ? a / b : a % b;
  }
  if (overflow) return Fault(evaluation, "the number is too large");
  return Value(out);
}

Value Arithmetic(char op, const Value& a, const Value& b, Evaluation& evaluation) {
  if (a.Int() != nullptr && b.Int() != nullptr)
    return IntegerArithmetic(op, *a.Int(), *b.Int(), evaluation);
  if (a.IsNumber() && b.IsNumber()) {
    const double x = a.Number(), y = b.Number();
    if ((op == '/' || op == '%') && y == 0) return Fault(evaluation, "division by zero");
    const double out = op == '+'   ? x + y
                       : op == '-' ? x - y
                       : op == '*' ? x * y
                       : op == '/' ? x / y
                                   : std::fmod(x, y);
    // NaN would equal everything and nothing in a table.
    if (std::isnan(out)) return Fault(evaluation, "the result is not a number");
    return Value(out);
  }
  if (op == '+' && a.Text() != nullptr && b.Text() != nullptr) {
    return MakeText(*a.Text() + *b.Text(), evaluation);
  }
  if (op == '+' && a.AsList() != nullptr && b.AsList() != nullptr)
    return Concat({a, b}, evaluation);
  return Fault(evaluation,
               fmt::format("{} {} {}: cannot be computed", a.Clipped(), op, b.Clipped()));
}

// As on a ring (Chord): (8, 3] goes on behind the greatest value to 3. Between equal bounds lies everything, unless
// both belong to it: [3, 3] is 3.
bool InInterval(const Value& x, const Value& low, const Value& high, const std::string& brackets) {
  const bool with_low = brackets[0] == '[', with_high = brackets[1] == ']';
  const bool above = low < x || (with_low && x == low);
  const bool below = x < high || (with_high && x == high);
  if (low == high) return with_low && with_high ? x == low : with_low || with_high || !(x == low);
  return low < high ? above && below : above || below;
}

// Sorting or comparing a long list takes as long as looking at some more tuples does, and counts as that.
void Charge(uint64_t weight, Evaluation& evaluation) {
  constexpr uint64_t kPartsOfAJoin = 4;
  evaluation.joins_left -= static_cast<int64_t>(weight / kPartsOfAJoin);
}

Value Operate(const Expression& e, const List& slots, Evaluation& evaluation) {
  const Value a = Evaluate(e.args[0], slots, evaluation);
  if (!evaluation.fault.empty()) return {};
  if (e.args.size() == 1) {
    if (e.name == "-") return Arithmetic('-', Value(int64_t{0}), a, evaluation);
    return Value(!Holds(a, e.args[0].place, evaluation));
  }
  // The right side of && and || is looked at only when it matters.
  if (e.name == "&&" || e.name == "||") {
    const bool left = Holds(a, e.args[0].place, evaluation);
    if (left == (e.name == "||")) return Value(left);
    const Value b = Evaluate(e.args[1], slots, evaluation);
    return Value(Holds(b, e.args[1].place, evaluation));
  }
  const Value b = Evaluate(e.args[1], slots, evaluation);
  if (!evaluation.fault.empty()) return {};
  Charge(a.Weight() + b.Weight(), evaluation);
  if (e.name == "==") return Value(Same(a, b));
  if (e.name == "!=") return Value(!Same(a, b));
  if (e.name == "<") return Value(a < b);
  if (e.name == "<=") return Value(!(b < a));
  if (e.name == ">") return Value(b < a);
  if (e.name == ">=") return Value(!(a < b));
  return Arithmetic(e.name[0], a, b, evaluation);
}

}  // namespace

int FindFunction(std::string_view name) {
  for (size_t i = 0; i < std::size(kFunctions); ++i)
    if (kFunctions[i].name == name) return static_cast<int>(i);
  return -1;
}

const Function& FunctionAt(int index) { return kFunctions[index]; }

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const Function& known : kFunctions) names.emplace_back(known.name);
  return names;
}

bool Holds(const Value& value, const Place& place, Evaluation& evaluation) {
  if (!evaluation.fault.empty()) return false;
  if (value.Bool() != nullptr) return *value.Bool();
  if (value.Int() != nullptr) return *value.Int() != 0;
  Fault(evaluation, "a condition is true or false, not " + value.Clipped());
  evaluation.fault_place = place;
  return false;
}

Value Evaluate(const Expression& e, const List& slots, Evaluation& evaluation) {
  switch (e.kind) {
    case Expression::Kind::kConstant:
      return e.value;
    case Expression::Kind::kVariable:
      return slots[static_cast<size_t>(e.slot)];
    default:
      break;
  }
  Value out;
  if (e.kind == Expression::Kind::kOperator) {
    out = Operate(e, slots, evaluation);
  } else {
    List args;
    args.reserve(e.args.size());
    for (const Expression& arg : e.args) {
      args.push_back(Evaluate(arg, slots, evaluation));
      if (!evaluation.fault.empty()) return {};
    }
    Charge(WeightOf(args), evaluation);
    if (e.kind == Expression::Kind::kInterval) {
      out = Value(InInterval(args[0], args[1], args[2], e.name));
    } else if (e.kind == Expression::Kind::kList) {
      out = MakeList(std::move(args), evaluation);
    } else {
      out = kFunctions[e.slot].call(args, evaluation);
    }
  }
  if (!evaluation.fault.empty() && evaluation.fault_place.line == 1 &&
      evaluation.fault_place.column == 1)
    evaluation.fault_place = e.place;
  return out;
}

}  // namespace wf::ndlog
