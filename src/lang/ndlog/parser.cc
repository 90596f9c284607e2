#include "lang/ndlog/parser.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "lang/common/lexer.h"
#include "lang/common/suggestion.h"

namespace wf::ndlog {
namespace {

const lang::LexerDialect& Dialect() {
  static const lang::LexerDialect dialect = [] {
    lang::LexerDialect d;
    d.long_signs = {":-", ":=", "==", "!=", "<=", ">=", "&&", "||"};
    d.signs = "(),.=<>@+-*/%![]#";
    d.newline = lang::LexerDialect::Newline::kIsSpace;
    d.minus = lang::LexerDialect::Minus::kIsSign;
    d.comment = lang::LexerDialect::Comment::kSlashes;
    d.hint = "the language uses :- := == != < <= > >= && || ! + - * / % @ # ( ) [ ] , . and //";
    return d;
  }();
  return dialect;
}

struct Aggregating {
  const char* name;
  AggregateFunction function;
};
constexpr Aggregating kAggregates[] = {{"min", AggregateFunction::kMin},
                                       {"max", AggregateFunction::kMax},
                                       {"count", AggregateFunction::kCount},
                                       {"sum", AggregateFunction::kSum},
                                       {"list", AggregateFunction::kList}};

std::string Lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::optional<AggregateFunction> AggregateOf(const std::string& name) {
  std::string lower = Lower(name);
  if (lower.rfind("a_", 0) == 0) lower = lower.substr(2);  // RapidNet writes a_MIN
  for (const Aggregating& known : kAggregates)
    if (lower == known.name) return known.function;
  return std::nullopt;
}

bool IsVariable(const std::string& name) {
  return (name[0] >= 'A' && name[0] <= 'Z') || name[0] == '_';
}

// Thrown nowhere outside this file's Parser: unwinds one statement.
struct Stop {};

class Parser {
 public:
  explicit Parser(std::string_view text) {
    lang::Tokens lexed = Tokenize(text, Dialect());
    tokens_ = std::move(lexed.tokens);
    out_.diagnostics = std::move(lexed.diagnostics);
  }

  Parsed Run() {
    while (Now().kind != lang::TokenKind::kEof) {
      const size_t before = at_;
      try {
        Statement();
      } catch (const Stop&) {
        SkipStatement();
      }
      if (at_ == before) ++at_;
      // A text of a million commas need not give a million complaints.
      if (out_.diagnostics.size() > kMostDiagnostics) break;
    }
    return std::move(out_);
  }

 private:
  static constexpr size_t kMostDiagnostics = 50;
  static constexpr int kDeepest = 100;

  const lang::Token& Now(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  static Place PlaceOf(const lang::Token& token) {
    return {token.line, token.column, token.length};
  }
  const lang::Token& Next() {
    const lang::Token& token = Now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool Take(std::string_view sign) {
    if (!Now().Is(sign)) return false;
    Next();
    return true;
  }
  [[noreturn]] void Fail(const Place& place, std::string message, std::string hint = {}) {
    out_.diagnostics.push_back(At(place, std::move(message), std::move(hint)));
    throw Stop{};
  }
  std::string Shown(const lang::Token& token) const {
    if (token.kind == lang::TokenKind::kEof) return "the end of the program";
    if (token.kind == lang::TokenKind::kString) return "a text";
    return "\"" + token.text + "\"";
  }
  void Expect(std::string_view sign, const std::string& behind) {
    if (Take(sign)) return;
    Fail(PlaceOf(Now()), std::string(sign) + " is missing " + behind + ", here is " + Shown(Now()));
  }
  void SkipStatement() {
    while (Now().kind != lang::TokenKind::kEof) {
      const lang::Token& token = Next();
      if (token.Is(".") || token.kind == lang::TokenKind::kEnd) return;
    }
  }

  void Statement() {
    if (Now().kind == lang::TokenKind::kEnd || Now().Is(".")) {
      Next();
      return;
    }
    if (Now().kind != lang::TokenKind::kName) {
      Fail(PlaceOf(Now()),
           "a rule, a fact or materialize(…) starts with a name, not with " + Shown(Now()),
           "as in: r1 reachable(@X,Y) :- link(@X,Y,C).");
    }
    if (Now().text == "materialize" && Now(1).Is("(")) return MaterializeStatement();
    RuleStatement();
  }

  // materialize(name, lifetime, size, keys(1,2)).
  void MaterializeStatement() {
    Materialize table;
    table.place = PlaceOf(Next());
    Expect("(", "behind materialize");
    const lang::Token& name = Next();
    if (name.kind != lang::TokenKind::kName || IsVariable(name.text))
      Fail(PlaceOf(name), "materialize names a table first",
           "as in: materialize(link, infinity, infinity, keys(1,2)).");
    table.name = name.text;
    table.place = PlaceOf(name);
    Expect(",", "behind the table's name");
    if (const auto seconds = Amount("lifetime")) {
      const double nanos = *seconds * 1e9;
      if (!(nanos > 0) || nanos > 9e18)
        Fail(PlaceOf(Now()), "a lifetime is a number of seconds above 0, or infinity");
      table.lifetime = static_cast<Nanos>(nanos);
    }
    Expect(",", "behind the lifetime");
    if (const auto rows = Amount("size")) {
      if (*rows < 1 || *rows > 1e15 || *rows != std::floor(*rows))
        Fail(PlaceOf(Now()), "a size is a number of rows from 1, or infinity");
      table.size = static_cast<int64_t>(*rows);
    }
    if (Take(",")) {
      if (!Now().IsName("keys"))
        Fail(PlaceOf(Now()), "keys(…) stands here, not " + Shown(Now()),
             lang::DidYouMean(Now().text, {"keys"}));
      Next();
      Expect("(", "behind keys");
      while (!Take(")")) {
        const lang::Token& key = Next();
        int64_t column = 0;
        const auto read =
            std::from_chars(key.text.data(), key.text.data() + key.text.size(), column);
        if (key.kind != lang::TokenKind::kNumber || read.ec != std::errc() ||
            read.ptr != key.text.data() + key.text.size() || column < 1)
          Fail(PlaceOf(key), "keys are attributes by number, from 1", "keys(1,2): the first two");
        table.keys.push_back(column);
        table.key_places.push_back(PlaceOf(key));
        if (!Now().Is(")")) Expect(",", "between keys");
      }
    }
    Expect(")", "behind materialize(…");
    Expect(".", "at its end");
    out_.source.tables.push_back(std::move(table));
  }

  // A number, with a unit of time for lifetimes, or infinity.
  std::optional<double> Amount(const std::string& what) {
    const lang::Token& token = Next();
    if (token.kind == lang::TokenKind::kName && Lower(token.text) == "infinity")
      return std::nullopt;
    if (token.kind != lang::TokenKind::kNumber)
      Fail(PlaceOf(token), "the " + what + " is a number or infinity, not " + Shown(token),
           token.kind == lang::TokenKind::kName ? lang::DidYouMean(token.text, {"infinity"}) : "");
    double number = std::strtod(token.text.c_str(), nullptr);
    if (what == "lifetime" && Now().kind == lang::TokenKind::kName) number *= Unit();
    return number;
  }
  double Unit() {
    static const std::pair<const char*, double> kUnits[] = {
        {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    const lang::Token& token = Next();
    for (const auto& [name, seconds] : kUnits)
      if (token.text == name) return seconds;
    Fail(PlaceOf(token), "no such unit of time", "ns, us, ms, s, m, h or d; seconds without one");
  }

  void RuleStatement() {
    Rule rule;
    rule.place = PlaceOf(Now());
    if (Now(1).kind == lang::TokenKind::kName) {
      rule.label = Next().text;
      rule.place = PlaceOf(Now());
    }
    rule.head = HeadAtom(rule);
    if (Take(":-")) {
      do {
        rule.body.push_back(BodyTerm());
      } while (Take(","));
    } else if (!Now().Is(".")) {
      Fail(PlaceOf(Now()), ":- or . is missing behind the head, here is " + Shown(Now()));
    }
    Expect(".", "at the rule's end");
    out_.source.rules.push_back(std::move(rule));
  }

  std::string PredicateName() {
    const lang::Token& name = Next();
    if (name.kind != lang::TokenKind::kName)
      Fail(PlaceOf(name), "a predicate's name stands here, not " + Shown(name));
    if (IsVariable(name.text))
      Fail(PlaceOf(name),
           "predicates start with a small letter; " + name.text + " would be a variable");
    return name.text;
  }

  Atom HeadAtom(Rule& rule) {
    Atom atom;
    atom.place = PlaceOf(Now());
    atom.name = PredicateName();
    Expect("(", "behind " + atom.name);
    while (!Take(")")) {
      Location(atom);
      if (Now().kind == lang::TokenKind::kName && Now(1).Is("<") &&
          Now().text.rfind("f_", 0) != 0) {
        const auto function = AggregateOf(Now().text);
        if (!function)
          Fail(PlaceOf(Now()), Now().text + " is not an aggregate",
               lang::DidYouMean(Now().text, {"MIN", "MAX", "COUNT", "SUM", "LIST"}));
        if (rule.aggregate) Fail(PlaceOf(Now()), "a head has one aggregate at most");
        rule.aggregate = Aggregate{*function, atom.args.size(), PlaceOf(Now())};
        Next();
        Next();
        Expression of;
        of.place = PlaceOf(Now());
        if (Take("*")) {
          if (*function != AggregateFunction::kCount) Fail(of.place, "only COUNT can be of *");
          of.value = Value(int64_t{1});
        } else {
          of = Additive(0);
        }
        atom.args.push_back(std::move(of));
        Expect(">", "behind what is aggregated");
      } else {
        atom.args.push_back(Disjunction(0));
      }
      if (!Now().Is(")")) Expect(",", "between the arguments of " + atom.name);
    }
    return atom;
  }

  void Location(Atom& atom) {
    if (!Take("@")) return;
    if (atom.location < 0)
      atom.location = static_cast<int>(atom.args.size());  // a later @ says: an address
  }

  Term BodyTerm() {
    Term term;
    const bool link = Take("#");
    const bool call = Now().kind == lang::TokenKind::kName && Now(1).Is("(") &&
                      !IsVariable(Now().text) && Now().text.rfind("f_", 0) != 0;
    if (link || call) {
      term.atom.link_literal = link;
      term.atom.place = PlaceOf(Now());
      term.atom.name = PredicateName();
      Expect("(", "behind " + term.atom.name);
      while (!Take(")")) {
        Location(term.atom);
        term.atom.args.push_back(Disjunction(0));
        if (!Now().Is(")")) Expect(",", "between the arguments of " + term.atom.name);
      }
      return term;
    }
    if (Now().Is("!") && Now(1).kind == lang::TokenKind::kName && Now(2).Is("(") &&
        Now(1).text.rfind("f_", 0) != 0)
      Fail(PlaceOf(Now()), "the language has no negation",
           "derive what is missing from what is there, or count it");
    if (Now().kind == lang::TokenKind::kName && IsVariable(Now().text) &&
        (Now(1).Is(":=") || Now(1).Is("="))) {
      term.kind = Now(1).Is(":=") ? Term::Kind::kAssign : Term::Kind::kCondition;
      if (term.kind == Term::Kind::kAssign) {
        term.target = Primary(0);
        Next();
        term.expression = Disjunction(0);
        return term;
      }
    }
    term.kind = Term::Kind::kCondition;
    term.expression = Disjunction(0);
    return term;
  }

  using Level = Expression (Parser::*)(int);
  Expression Binary(int depth, std::initializer_list<std::string_view> signs, Level level) {
    Expression left = (this->*level)(depth);
    for (int length = 0;; ++length) {
      bool found = false;
      for (const std::string_view sign : signs) found = found || Now().Is(sign);
      if (!found) return left;
      Expression both;
      both.kind = Expression::Kind::kOperator;
      both.place = PlaceOf(Now());
      // A chain becomes a tree as deep as it is long, and is walked by recursion.
      if (length > 500) Fail(both.place, "this is too long");
      both.name = Next().text;
      if (both.name == "=") both.name = "==";
      both.args.push_back(std::move(left));
      both.args.push_back((this->*level)(depth));
      left = std::move(both);
    }
  }
  Expression Disjunction(int depth) {
    if (depth > kDeepest) Fail(PlaceOf(Now()), "this is nested too deeply");
    return Binary(depth, {"||"}, &Parser::Conjunction);
  }
  Expression Conjunction(int depth) { return Binary(depth, {"&&"}, &Parser::Comparison); }
  Expression Comparison(int depth) {
    Expression left = Additive(depth);
    if (Now().IsName("in")) return Interval(std::move(left), depth);
    for (const std::string_view sign : {"==", "=", "!=", "<=", ">=", "<", ">"}) {
      if (!Now().Is(sign)) continue;
      Expression both;
      both.kind = Expression::Kind::kOperator;
      both.place = PlaceOf(Now());
      both.name = Next().text == "=" ? "==" : std::string(sign);
      both.args.push_back(std::move(left));
      both.args.push_back(Additive(depth));
      return both;
    }
    return left;
  }
  Expression Interval(Expression left, int depth) {
    Expression interval;
    interval.kind = Expression::Kind::kInterval;
    interval.place = PlaceOf(Next());
    if (!Now().Is("(") && !Now().Is("["))
      Fail(PlaceOf(Now()), "an interval stands behind in", "(A, B), (A, B], [A, B) or [A, B]");
    interval.name = Next().text;
    interval.args.push_back(std::move(left));
    interval.args.push_back(Additive(depth + 1));
    Expect(",", "in the interval");
    interval.args.push_back(Additive(depth + 1));
    if (!Now().Is(")") && !Now().Is("]")) Fail(PlaceOf(Now()), ") or ] closes an interval");
    interval.name += Next().text;
    return interval;
  }
  Expression Additive(int depth) { return Binary(depth, {"+", "-"}, &Parser::Multiplicative); }
  Expression Multiplicative(int depth) { return Binary(depth, {"*", "/", "%"}, &Parser::Unary); }
  Expression Unary(int depth) {
    if (depth > kDeepest) Fail(PlaceOf(Now()), "this is nested too deeply");
    if (!Now().Is("-") && !Now().Is("!")) return Primary(depth);
    Expression whole;
    whole.kind = Expression::Kind::kOperator;
    whole.place = PlaceOf(Now());
    whole.name = Next().text;
    if (whole.name == "-" && Now().kind == lang::TokenKind::kNumber) {
      // Read with its sign: the least integer has no positive twin.
      tokens_[at_].text = "-" + tokens_[at_].text;
      return Primary(depth);
    }
    whole.args.push_back(Unary(depth + 1));
    return whole;
  }

  Expression Primary(int depth) {
    const lang::Token& token = Next();
    Expression out;
    out.place = PlaceOf(token);
    if (token.kind == lang::TokenKind::kString) {
      out.value = Value(token.text);
      return out;
    }
    if (token.kind == lang::TokenKind::kNumber) return Number(token, std::move(out));
    if (token.Is("(")) {
      out = Disjunction(depth + 1);
      Expect(")", "behind what ( opened");
      return out;
    }
    if (token.Is("[")) {
      out.kind = Expression::Kind::kList;
      Arguments("]", depth, out);
      return out;
    }
    if (token.kind != lang::TokenKind::kName)
      Fail(out.place, "a value stands here, not " + Shown(token));
    if (token.text.rfind("f_", 0) == 0 || Now().Is("(")) {
      out.kind = Expression::Kind::kCall;
      out.name = token.text;
      Expect("(", "behind " + out.name);
      Arguments(")", depth, out);
      return out;
    }
    if (token.text == "true" || token.text == "false") {
      out.value = Value(token.text == "true");
    } else if (token.text == "infinity") {
      out.value = Value(HUGE_VAL);
    } else if (token.text == "null") {
      out.value = Value();
    } else if (IsVariable(token.text)) {
      out.kind = Expression::Kind::kVariable;
      out.name = token.text;
    } else {
      out.value = Value(token.text);
    }
    return out;
  }

  Expression Number(const lang::Token& token, Expression out) {
    const std::string text = token.text;
    int64_t whole = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, whole);
    if (read.ec == std::errc() && read.ptr == end) {
      out.value = Value(whole);
      return out;
    }
    const double number = std::strtod(text.c_str(), nullptr);
    if (!std::isfinite(number)) Fail(out.place, "this number is too large");
    out.value = Value(number);
    return out;
  }

  void Arguments(std::string_view close, int depth, Expression& out) {
    while (!Take(close)) {
      out.args.push_back(Disjunction(depth + 1));
      if (!Now().Is(close)) Expect(",", "or " + std::string(close) + " in the list");
    }
  }

  std::vector<lang::Token> tokens_;
  size_t at_ = 0;
  Parsed out_;
};

}  // namespace

Parsed Parse(std::string_view text) { return Parser(text).Run(); }

}  // namespace wf::ndlog
