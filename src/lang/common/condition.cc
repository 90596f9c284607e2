#include "lang/common/condition.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "lang/common/diagnostic.h"
#include "lang/common/lexer.h"
#include "lang/common/number_units.h"
#include "lang/common/suggestion.h"

namespace wf::lang {
namespace {

struct NamedAggregate {
  std::string_view name;
  AggregateKind kind;
};
constexpr NamedAggregate kAggregates[] = {
    {"count", AggregateKind::kCount}, {"sum", AggregateKind::kSum},
    {"mean", AggregateKind::kMean},   {"min", AggregateKind::kMin},
    {"max", AggregateKind::kMax},     {"distinct", AggregateKind::kDistinct}};

class Reader {
 public:
  Reader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
    Tokens tokens = Tokenize(text);
    for (Token& token : tokens.tokens) {
      if (token.kind != TokenKind::kEnd) tokens_.push_back(std::move(token));
    }
    if (!tokens.diagnostics.empty()) fault_ = tokens.diagnostics.front();
  }

  const std::optional<Diagnostic>& fault() const { return fault_; }
  Error error() const {
    return BadInput(name_ + ": " + fault_->message + "\n" +
                        RenderDiagnostic(text_, Diagnostic{fault_->line, fault_->column,
                                                           fault_->length, fault_->message, ""}),
                    fault_->hint);
  }

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool AtEnd() const { return Peek().kind == TokenKind::kEof; }
  bool Take(std::string_view sign) {
    if (!Peek().Is(sign)) return false;
    ++at_;
    return true;
  }
  bool TakeName(std::string_view name) {
    if (!Peek().IsName(name)) return false;
    ++at_;
    return true;
  }
  bool Fail(std::string message, std::string hint) {
    return FailAt(Peek(), std::move(message), std::move(hint));
  }
  bool FailAt(const Token& token, std::string message, std::string hint) {
    if (!fault_)
      fault_ = Diagnostic{token.line, token.column, std::max(1, token.length), std::move(message),
                          std::move(hint)};
    return false;
  }
  std::string Found() const {
    if (AtEnd()) return "the text ends";
    return "found \"" + Peek().text + "\"";
  }

  bool Key(std::string& key) {
    if (Peek().kind == TokenKind::kString) {
      key = tokens_[at_++].text;
      return true;
    }
    if (Peek().kind != TokenKind::kName)
      return Fail("expected a column, " + Found(), "as in latency_ns; other names in \"…\"");
    key = tokens_[at_++].text;
    while (Peek().Is(".") && Peek(1).kind == TokenKind::kName) {
      key += "." + Peek(1).text;
      at_ += 2;
    }
    return true;
  }

  bool Condition(ColumnCondition& out) {
    // A column may be called "not": it is the word only before another key.
    const bool another =
        Peek(1).kind == TokenKind::kString ||
        (Peek(1).kind == TokenKind::kName && !Peek(1).IsName("in") && !Peek(1).IsName("exists"));
    if (Peek().IsName("not") && another) {
      out.negated = true;
      ++at_;
    }
    if (!Key(out.column)) return false;
    if (TakeName("exists")) {
      out.op = CompareOp::kExists;
      return true;
    }
    if (TakeName("in")) {
      out.op = CompareOp::kIn;
      if (!Take("(")) return Fail("expected ( after in, " + Found(), "as in country in (\"de\")");
      do {
        if (!Value(out.values.emplace_back())) return false;
      } while (Take(","));
      return Take(")") || Fail("expected , or ), " + Found(), "close the list");
    }
    constexpr CompareOp kOps[] = {CompareOp::kEq,     CompareOp::kNe, CompareOp::kLe,
                                  CompareOp::kLt,     CompareOp::kGe, CompareOp::kGt,
                                  CompareOp::kMatches};
    for (const CompareOp op : kOps) {
      if (!Take(CompareOpText(op))) continue;
      out.op = op;
      return Value(out.values.emplace_back());
    }
    return Fail("expected a comparison, " + Found(), "=, !=, <, <=, >, >=, ~, in (…) or exists");
  }

  bool Value(ColumnLiteral& out) {
    const Token token = Peek();
    if (token.kind == TokenKind::kString) {
      out = token.text;
    } else if (token.IsName("true") || token.IsName("false")) {
      out = token.text == "true";
    } else if (token.kind == TokenKind::kNumber) {
      return Number(out);
    } else {
      return Fail("expected a value, " + Found(), "a text in \"…\", a number, true or false");
    }
    ++at_;
    return true;
  }

  bool Aggregates(std::vector<Aggregate>& out) {
    do {
      if (!OneAggregate(out.emplace_back())) return false;
    } while (Take(","));
    return true;
  }

  bool OneAggregate(Aggregate& out) {
    if (Peek().kind != TokenKind::kName)
      return Fail("expected an aggregate, " + Found(), "as in count or p95(latency_ns)");
    const Token token = tokens_[at_++];
    out.name = token.text;
    bool known = false;
    for (const NamedAggregate& named : kAggregates) {
      if (named.name != token.text) continue;
      out.kind = named.kind;
      known = true;
    }
    if (!known && !Percentile(token, out)) {
      std::vector<std::string> names = {"p50", "p95", "p99"};
      for (const NamedAggregate& named : kAggregates) names.emplace_back(named.name);
      const std::string meant = DidYouMean(token.text, names);
      return FailAt(token, "\"" + token.text + "\" is not an aggregate",
                    meant.empty() ? "count, sum, mean, min, max, distinct or pNN" : meant);
    }
    if (out.kind == AggregateKind::kCount && !Peek().Is("(")) return true;
    if (!Take("(")) return Fail("expected (COLUMN), " + Found(), "as in p95(latency_ns)");
    if (out.kind == AggregateKind::kCount && Take(")")) return true;
    if (!Key(out.column)) return false;
    out.name += "(" + out.column + ")";
    return Take(")") || Fail("expected ), " + Found(), "one column an aggregate");
  }

 private:
  // p50, p99.9: the lexer gives a name, and for a fraction a sign and a number.
  bool Percentile(const Token& token, Aggregate& out) {
    if (token.text.size() < 2 || token.text[0] != 'p') return false;
    std::string digits = token.text.substr(1);
    if (Peek().Is(".") && Peek(1).kind == TokenKind::kNumber) {
      digits += "." + Peek(1).text;
      at_ += 2;
    } else if (Peek().kind == TokenKind::kNumber && Peek().text.rfind('.', 0) == 0) {
      digits += tokens_[at_++].text;
    }
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, out.percentile);
    if (error != std::errc() || stop != end) return false;
    out.kind = AggregateKind::kPercentile;
    out.name = "p" + digits;
    return true;
  }

  bool Number(ColumnLiteral& out) {
    const Token token = tokens_[at_++];
    const char* end = token.text.data() + token.text.size();
    int64_t factor = 1;
    // A unit stands right behind its number.
    const bool touches = Peek().offset == token.offset + token.text.size();
    if (Peek().kind == TokenKind::kName && touches) {
      const Token& unit = Peek();
      bool known = false;
      for (const NumberUnit& one : kNumberUnits) {
        if (one.name == unit.text) factor = one.factor, known = true;
      }
      if (!known)
        return Fail("\"" + unit.text + "\" is not a unit", "ns, us, ms, s, m, h, B, kB, MB or GB");
      ++at_;
    }
    int64_t whole = 0;
    const auto as_whole = std::from_chars(token.text.data(), end, whole);
    if (as_whole.ec == std::errc() && as_whole.ptr == end) {
      int64_t scaled;
      if (__builtin_mul_overflow(whole, factor, &scaled))
        return FailAt(token, "this number is too large", "it must fit 64 bits");
      out = scaled;
      return true;
    }
    double real = 0;
    const auto as_real = std::from_chars(token.text.data(), end, real);
    if (as_real.ec != std::errc() || as_real.ptr != end)
      return FailAt(token, "this is not a number", "as in 250, 1.5 or 1e6");
    const double scaled = real * static_cast<double>(factor);
    // 1.5ms is a whole number of nanoseconds.
    if (factor != 1 && std::abs(scaled) < 9e18) {
      out = static_cast<int64_t>(std::llround(scaled));
    } else {
      out = scaled;
    }
    return true;
  }

  std::string_view text_;
  std::string name_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::optional<Diagnostic> fault_;
};

}  // namespace

Result<std::vector<ColumnCondition>> ParseConditions(std::string_view text,
                                                     const std::string& name) {
  Reader reader(text, name);
  std::vector<ColumnCondition> out;
  if (!reader.fault() && !reader.AtEnd()) {
    while (reader.Condition(out.emplace_back()) && !reader.AtEnd()) {
      if (!reader.TakeName("and")) {
        reader.Fail("expected and, " + reader.Found(), "conditions are joined by and");
        break;
      }
    }
  }
  if (reader.fault()) return reader.error();
  return out;
}

Result<std::vector<std::string>> ParseKeys(std::string_view text, const std::string& name) {
  Reader reader(text, name);
  std::vector<std::string> out;
  if (!reader.fault()) {
    while (reader.Key(out.emplace_back()) && reader.Take(",")) {
    }
    if (!reader.AtEnd())
      reader.Fail("expected a comma, " + reader.Found(), "as in country, browser");
  }
  if (reader.fault()) return reader.error();
  return out;
}

Result<std::vector<Aggregate>> ParseAggregates(std::string_view text, const std::string& name) {
  Reader reader(text, name);
  std::vector<Aggregate> out;
  if (!reader.fault() && reader.Aggregates(out) && !reader.AtEnd())
    reader.Fail("expected a comma, " + reader.Found(), "as in count, p95(latency_ns)");
  if (reader.fault()) return reader.error();
  return out;
}

Result<RowOrder> ParseOrder(std::string_view text, const std::string& name) {
  Reader reader(text, name);
  RowOrder out;
  if (!reader.fault()) {
    if (reader.Peek().kind == TokenKind::kName &&
        (reader.Peek(1).Is("(") || reader.Peek(1).Is(".") ||
         reader.Peek(1).kind == TokenKind::kNumber)) {
      // A column with dots is a key, an aggregate has brackets somewhere.
      Reader as_key(text, name);
      std::string key;
      if (as_key.Key(key) && (as_key.AtEnd() || as_key.Peek().kind == TokenKind::kName)) {
        reader.Key(out.column);
      } else {
        Aggregate aggregate;
        if (reader.OneAggregate(aggregate)) out.column = aggregate.name;
      }
    } else {
      reader.Key(out.column);
    }
    if (reader.TakeName("desc")) {
      out.direction = SortDirection::kDescending;
    } else {
      reader.TakeName("asc");
    }
    if (!reader.AtEnd()) reader.Fail("expected asc or desc, " + reader.Found(), "as in count desc");
  }
  if (reader.fault()) return reader.error();
  return out;
}

}  // namespace wf::lang
