#include "lang/query/lowering.h"

namespace wf::query {
namespace {

void Append(const Expr& expr, const std::function<uint32_t(const Expr&)>& column,
            advice::Expression& out) {
  switch (expr.kind) {
    case Expr::Kind::kConstant:
      out.code.push_back({advice::Op::kConstant, static_cast<uint32_t>(out.constants.size())});
      out.constants.push_back(expr.constant);
      return;
    case Expr::Kind::kRead:
    case Expr::Kind::kAggregate:
    case Expr::Kind::kKey:
      out.code.push_back({advice::Op::kColumn, column(expr)});
      return;
    case Expr::Kind::kOperation:
      for (const Expr& arg : expr.args) Append(arg, column, out);
      out.code.push_back({expr.op, 0});
      return;
  }
}

}  // namespace

advice::Expression Lower(const Expr& expr, const std::function<uint32_t(const Expr&)>& column) {
  advice::Expression out;
  Append(expr, column, out);
  return out;
}

}  // namespace wf::query
