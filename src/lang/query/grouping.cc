#include "lang/query/grouping.h"

#include <algorithm>
#include <cmath>

#include "lang/query/lowering.h"

namespace wf::query {
namespace {

bool IsConstant(const Expr& expr) {
  if (expr.kind == Expr::Kind::kConstant) return true;
  return expr.kind == Expr::Kind::kOperation &&
         std::all_of(expr.args.begin(), expr.args.end(), IsConstant);
}

class Grouper {
 public:
  Grouper(Query& query, std::vector<lang::Diagnostic>& diagnostics)
      : query_(query), diagnostics_(diagnostics) {}

  void Run() {
    const bool written = !query_.keys.empty();
    if (!written)
      for (const SelectItem& item : query_.select)
        if (!HasAggregate(item.expr)) query_.keys.push_back(item.expr);
    for (SelectItem& item : query_.select) Lift(item.expr);
  }

 private:
  void Complain(const Place& place, std::string message, std::string hint) {
    diagnostics_.push_back(At(place, std::move(message), std::move(hint)));
  }

  void Lift(Expr& expr) {
    if (expr.kind == Expr::Kind::kAggregate) return LiftAggregate(expr);
    for (size_t i = 0; i < query_.keys.size(); ++i) {
      if (!SameExpr(expr, query_.keys[i])) continue;
      Expr key;
      key.kind = Expr::Kind::kKey;
      key.place = expr.place;
      key.key = static_cast<uint32_t>(i);
      expr = std::move(key);
      return;
    }
    if (expr.kind == Expr::Kind::kRead) {
      const std::string text = expr.bare ? expr.name : expr.name + "." + expr.variable;
      return Complain(expr.place, "\"" + text + "\" is neither a key nor inside an aggregate",
                      "add it to GroupBy, or say which of the group's values: MAX(" + text + ")");
    }
    for (Expr& arg : expr.args) Lift(arg);
  }

  void LiftAggregate(Expr& expr) {
    AggregateCall call;
    call.place = expr.place;
    call.aggregate.kind = expr.call;
    if (!expr.args.empty()) call.argument = std::move(expr.args[0]);
    if (expr.call == advice::AggregateKind::kPercentile && !Percentile(expr.args[1], call)) return;
    auto& all = query_.aggregates;
    const auto at = std::find_if(all.begin(), all.end(), [&](const AggregateCall& one) {
      return one.aggregate.kind == call.aggregate.kind &&
             one.aggregate.parameter == call.aggregate.parameter &&
             one.argument.has_value() == call.argument.has_value() &&
             (!one.argument || SameExpr(*one.argument, *call.argument));
    });
    expr.args.clear();
    expr.aggregate = static_cast<uint32_t>(at - all.begin());
    if (at == all.end()) all.push_back(std::move(call));
  }

  bool Percentile(const Expr& written, AggregateCall& call) {
    const char* const kHint = "a constant from 0 to 100, as in PERCENTILE(x.time, 99)";
    advice::Value value;
    if (IsConstant(written))
      value = advice::Evaluate(Lower(written, [](const Expr&) { return 0u; }), {});
    if (const auto* whole = std::get_if<int64_t>(&value)) {
      call.aggregate.parameter = static_cast<double>(*whole);
    } else if (const auto* number = std::get_if<double>(&value)) {
      call.aggregate.parameter = *number;
    } else {
      call.aggregate.parameter = NAN;
    }
    if (call.aggregate.parameter >= 0 && call.aggregate.parameter <= 100) return true;
    Complain(written.place, "PERCENTILE's second argument says which one", kHint);
    return false;
  }

  Query& query_;
  std::vector<lang::Diagnostic>& diagnostics_;
};

}  // namespace

bool SameExpr(const Expr& a, const Expr& b) {
  if (a.kind != b.kind || a.args.size() != b.args.size()) return false;
  switch (a.kind) {
    case Expr::Kind::kConstant:
      if (a.constant.index() != b.constant.index() || advice::Compare(a.constant, b.constant) != 0)
        return false;
      break;
    case Expr::Kind::kRead:
      if (a.alias != b.alias || a.column != b.column) return false;
      break;
    case Expr::Kind::kOperation:
      if (a.op != b.op) return false;
      break;
    case Expr::Kind::kAggregate:
      if (a.call != b.call || a.aggregate != b.aggregate) return false;
      break;
    case Expr::Kind::kKey:
      if (a.key != b.key) return false;
      break;
  }
  return std::equal(a.args.begin(), a.args.end(), b.args.begin(), SameExpr);
}

void GroupSelect(Query& query, std::vector<lang::Diagnostic>& diagnostics) {
  Grouper(query, diagnostics).Run();
}

}  // namespace wf::query
