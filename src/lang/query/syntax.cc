// Recursive descent, one function per line of the grammar in docs/reference/query-language.md. The first fault ends it: behind it, every
// further message would be a guess.
#include "lang/query/syntax.h"

#include <algorithm>

#include "lang/common/suggestion.h"
#include "lang/query/functions.h"
#include "lang/query/tokens.h"

namespace wf::query {
namespace {

using advice::Op;

constexpr int kMaxNesting = 100;  // of brackets, signs before signs, and sub-queries

// Stays inside this file.
struct SyntaxFault {
  lang::Diagnostic diagnostic;
};

struct Operator {
  std::string_view sign, word;
  Op op;
};
constexpr Operator kOr[] = {{"||", "Or", Op::kOr}};
constexpr Operator kAnd[] = {{"&&", "And", Op::kAnd}};
constexpr Operator kComparisons[] = {{"=", "", Op::kEqual},        {"==", "", Op::kEqual},
                                     {"!=", "", Op::kNotEqual},    {"<", "", Op::kLess},
                                     {"<=", "", Op::kLessEqual},   {">", "", Op::kGreater},
                                     {">=", "", Op::kGreaterEqual}};
constexpr Operator kSums[] = {{"+", "", Op::kAdd}, {"-", "", Op::kSubtract}};
constexpr Operator kTerms[] = {{"*", "", Op::kMultiply}, {"/", "", Op::kDivide}};

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  std::vector<WrittenQuery> Program() {
    std::vector<WrittenQuery> queries;
    while (true) {
      WrittenName label;
      if (AtLabel()) {
        label = Name();
        Take();  // ":"
      }
      queries.push_back(Query());
      queries.back().name = std::move(label);
      const bool more = Peek().Is(";");
      if (more) Take();
      if (Peek().kind == TokenKind::kEnd) return queries;
      if (!more) FailAfterQuery();
      if (queries.back().name.text.empty())
        Fail(Peek(), "only the last query may go without a name",
             "name the others, as Q1: From … Select …;");
    }
  }

 private:
  // ---- tokens
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& Take() {
    const Token& token = Peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  [[noreturn]] static void Fail(const Token& token, std::string message, std::string hint = {}) {
    throw SyntaxFault{At(token.place, std::move(message), std::move(hint))};
  }
  static std::string Described(const Token& token) {
    switch (token.kind) {
      case TokenKind::kEnd:
        return "the end";
      case TokenKind::kText:
        return "a text";
      case TokenKind::kNumber:
        return "a number";
      case TokenKind::kDuration:
        return "a duration";
      default:
        return "\"" + token.text + "\"";
    }
  }
  void ExpectSign(std::string_view sign, std::string_view why) {
    if (!Peek().Is(sign))
      Fail(Peek(), "expected \"" + std::string(sign) + "\" instead of " + Described(Peek()),
           std::string(why));
    Take();
  }
  void ExpectWord(std::string_view word, const std::string& why) {
    if (!Peek().IsWord(word)) {
      std::string hint = why;
      if (Peek().kind == TokenKind::kWord &&
          !lang::DidYouMean(Peek().text, {std::string(word)}).empty())
        hint = "did you mean " + std::string(word) + "?";
      Fail(Peek(), "expected " + std::string(word) + " instead of " + Described(Peek()), hint);
    }
    Take();
  }

  // ---- names
  bool AtLabel() const {
    size_t ahead = 0;
    while (Peek(ahead).kind == TokenKind::kWord) {
      if (Peek(ahead + 1).Is(":")) return true;
      if (!Peek(ahead + 1).Is(".")) return false;
      ahead += 2;
    }
    return false;
  }

  WrittenName Name() {
    WrittenName name;
    name.place = Peek().place;
    while (true) {
      if (Peek().kind != TokenKind::kWord)
        Fail(Peek(), "expected a name instead of " + Described(Peek()),
             "a name is letters, digits and _ in parts joined by dots, or any text in backquotes");
      Stretch(name.place, Peek().place);
      name.text += Take().text;
      if (!Peek().Is(".")) return name;
      Take();
      name.text += '.';
    }
  }

  static void Stretch(Place& place, const Place& last) {
    if (place.line == last.line) place.length = last.column + last.length - place.column;
  }

  WrittenName AliasName(std::string_view example) {
    const Token& token = Peek();
    if (token.kind != TokenKind::kWord)
      Fail(token, "expected an alias instead of " + Described(token), std::string(example));
    if (!token.quoted && IsKeyword(token.text))
      Fail(token, "the keyword " + token.text + " cannot be an alias",
           "choose another name, or write it in backquotes");
    Take();
    if (Peek().Is(".")) Fail(Peek(), "an alias has no dots", std::string(example));
    return {token.text, token.place};
  }

  // ---- queries
  struct Nested {
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting)
        Fail(parser_.Peek(), "this is nested more than 100 deep",
             "name inner queries and use their names; leave out needless brackets");
    }
    ~Nested() { --parser_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Parser& parser_;
  };

  WrittenQuery Query() {
    const Nested nested(*this);
    WrittenQuery query;
    query.place = Peek().place;
    ExpectWord("From", "a query is From ALIAS In TRACEPOINT … Select …");
    WrittenAlias from;
    from.alias = AliasName("as in From incr In DataNodeMetrics.incrBytesRead");
    ExpectWord("In", "as in From " + from.alias.text + " In TRACEPOINT");
    if (AtFilter())
      Fail(Peek(), "From takes no filter",
           "filters stand in Joins: they pick events before another");
    from.source = SourceOf();
    query.aliases.push_back(std::move(from));
    while (Peek().IsWord("Join")) query.aliases.push_back(Join());
    while (Peek().IsWord("Where")) {
      Take();
      query.where.push_back(Expression());
    }
    if (Peek().IsWord("Sample")) Sample(query);
    if (Peek().IsWord("Window")) Window(query);
    if (Peek().IsWord("GroupBy")) {
      do {
        Take();
        query.group_by.push_back(Expression());
      } while (Peek().Is(","));
    }
    if (!Peek().IsWord("Select")) FailBeforeSelect(query);
    do {
      Take();
      query.select.push_back(Item());
    } while (Peek().Is(","));
    return query;
  }

  // Errors of a user who mixed up the order of the clauses.
  [[noreturn]] void FailBeforeSelect(const WrittenQuery& query) {
    const Token& token = Peek();
    const std::string order = "the order is From, Join, Where, Sample, Window, GroupBy, Select";
    for (const char* clause : {"From", "Join", "Where", "Sample", "Window", "GroupBy"})
      if (token.IsWord(clause)) Fail(token, std::string(clause) + " cannot stand here", order);
    if (token.IsWord("Group") || token.IsWord("Order") || token.IsWord("Having"))
      Fail(token, Described(token) + " is not in the language",
           token.IsWord("Group") ? "GroupBy is one word" : order);
    std::string hint = order;
    if (token.kind == TokenKind::kWord) {
      const std::string near = lang::DidYouMean(token.text, Keywords());
      if (!near.empty()) hint = near;
    }
    const bool has_where = !query.where.empty() || !query.group_by.empty();
    Fail(token,
         "expected Select" + std::string(has_where ? "" : " or another clause") + " instead of " +
             Described(token),
         hint);
  }

  [[noreturn]] void FailAfterQuery() {
    const Token& token = Peek();
    for (const char* clause : {"Join", "Where", "Sample", "Window", "GroupBy"})
      if (token.IsWord(clause))
        Fail(token, std::string(clause) + " cannot stand behind Select",
             "the order is From, Join, Where, Sample, Window, GroupBy, Select");
    if (AtLabel() || token.IsWord("From"))
      Fail(token, "separate two queries by \";\"", "put ; behind the first");
    Fail(token, "expected the end instead of " + Described(token),
         token.kind == TokenKind::kWord ? "separate columns by commas, and name them with As" : "");
  }

  bool AtFilter() const {
    if (!Peek(1).Is("(") || Peek().kind != TokenKind::kWord) return false;
    return Peek().IsWord("First") || Peek().IsWord("FirstN") || Peek().IsWord("MostRecent") ||
           Peek().IsWord("MostRecentN");
  }

  WrittenAlias Join() {
    Take();
    WrittenAlias join;
    join.alias = AliasName("as in Join cl In First(ClientProtocols) On cl -> incr");
    ExpectWord("In", "as in Join " + join.alias.text + " In TRACEPOINT On …");
    if (AtFilter()) {
      Filter(join);
    } else {
      join.source = SourceOf();
    }
    const std::string form = "as in Join " + join.alias.text + " In … On " + join.alias.text +
                             " -> the alias it happened before";
    ExpectWord("On", form);
    join.left = AliasName(form);
    ExpectSign("->", form);
    join.right = AliasName(form);
    return join;
  }

  void Filter(WrittenAlias& join) {
    join.filter_place = Peek().place;
    const bool first = Peek().IsWord("First") || Peek().IsWord("FirstN");
    const bool counted = Peek().IsWord("FirstN") || Peek().IsWord("MostRecentN");
    join.filter = first ? FilterKind::kFirst : FilterKind::kMostRecent;
    const std::string usage = first ? "FirstN(3, TRACEPOINT)" : "MostRecentN(3, TRACEPOINT)";
    join.limit = 1;
    Take();
    Take();  // "("
    if (counted) {
      const auto* count = std::get_if<int64_t>(&Peek().value);
      if (Peek().kind != TokenKind::kNumber || count == nullptr || *count > kMaxLimit)
        Fail(Peek(), "expected how many events to keep instead of " + Described(Peek()),
             "an integer up to 1000000, as in " + usage);
      join.limit = static_cast<uint32_t>(*count);
      Take();
      ExpectSign(",", "as in " + usage);
    } else if (Peek().kind == TokenKind::kNumber) {
      Fail(Peek(), "First and MostRecent keep one event", "as many as you like: " + usage);
    }
    join.source = SourceOf();
    ExpectSign(")", "a filter ends with )");
  }

  WrittenSource SourceOf() {
    WrittenSource source;
    source.place = Peek().place;
    if (Peek().Is("(")) {
      Take();
      source.bracket = std::make_shared<WrittenQuery>(Query());
      ExpectSign(")", "a sub-query in brackets ends with )");
      return source;
    }
    source.names.push_back(Name());
    while (Peek().Is(",")) {
      Take();
      source.names.push_back(Name());
    }
    if (Peek().Is("("))
      Fail(Peek(), "\"" + source.names.back().text + "\" is not a filter",
           "filters are First, MostRecent, FirstN and MostRecentN");
    Stretch(source.place, source.names.back().place);
    return source;
  }

  void Sample(WrittenQuery& query) {
    Take();
    const Token& token = Peek();
    if (token.kind != TokenKind::kNumber)
      Fail(token, "expected a share of the requests instead of " + Described(token),
           "a number from 0 to 1, as in Sample 0.01");
    const auto* whole = std::get_if<int64_t>(&token.value);
    query.sample = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(token.value);
    query.sample_place = token.place;
    if (*query.sample > 1)
      Fail(token, "Sample keeps a share from 0 to 1", "Sample 0.1 keeps a tenth of the requests");
    Take();
  }

  void Window(WrittenQuery& query) {
    Take();
    const Token& token = Peek();
    if (token.kind != TokenKind::kDuration)
      Fail(token, "expected a duration instead of " + Described(token), "as in Window 10s");
    query.window_ns = std::get<int64_t>(token.value);
    query.window_place = token.place;
    if (*query.window_ns == 0) Fail(token, "a window must be longer than 0", "as in Window 10s");
    Take();
  }

  SelectItem Item() {
    SelectItem item;
    const Token& first = Peek();
    item.expr = Expression();
    item.place = item.expr.place;
    if (Peek().IsWord("As")) {
      Take();
      item.name = AliasName("as in SUM(incr.delta) As bytes").text;
      return item;
    }
    // Columns without As are called by their own text.
    const size_t end = tokens_[at_ - 1].end;
    for (const char c : text_.substr(first.begin, end - first.begin))
      if (c != ' ' && (c < '\t' || c > '\r')) item.name += c;
    return item;
  }

  // ---- expressions
  Expr Operation(Op op, std::vector<Expr> args, const Place& place) {
    Expr expr;
    expr.kind = Expr::Kind::kOperation;
    expr.op = op;
    expr.place = place;
    for (const Expr& arg : args) expr.depth = std::max(expr.depth, arg.depth + 1);
    if (expr.depth > kMaxExprDepth)
      throw SyntaxFault{At(place, "this expression has more than 1000 levels", "split it in two")};
    expr.args = std::move(args);
    return expr;
  }

  template <size_t N>
  const Operator* AtOperator(const Operator (&known)[N]) const {
    for (const Operator& one : known)
      if (Peek().Is(one.sign) || (!one.word.empty() && Peek().IsWord(one.word))) return &one;
    return nullptr;
  }

  template <size_t N>
  Expr Chain(const Operator (&known)[N], Expr (Parser::*operand)()) {
    Expr left = (this->*operand)();
    while (const Operator* one = AtOperator(known)) {
      Take();
      const Place place = left.place;
      std::vector<Expr> args;
      args.push_back(std::move(left));
      args.push_back((this->*operand)());
      left = Operation(one->op, std::move(args), place);
    }
    return left;
  }

  Expr Expression() {
    const Nested nested(*this);
    return Chain(kOr, &Parser::Conjunction);
  }
  Expr Conjunction() { return Chain(kAnd, &Parser::Negation); }
  Expr Sum() { return Chain(kSums, &Parser::Term); }
  Expr Term() { return Chain(kTerms, &Parser::Unary); }

  Expr Negation() {
    if (Peek().Is("!") || Peek().IsWord("Not")) {
      const Nested nested(*this);
      const Place place = Take().place;
      std::vector<Expr> args;
      args.push_back(Negation());
      return Operation(Op::kNot, std::move(args), place);
    }
    Expr left = Sum();
    const Operator* one = AtOperator(kComparisons);
    if (one == nullptr) return left;
    Take();
    const Place place = left.place;
    std::vector<Expr> args;
    args.push_back(std::move(left));
    args.push_back(Sum());
    if (AtOperator(kComparisons) != nullptr)
      Fail(Peek(), "comparisons do not chain", "join two with And, or use brackets");
    return Operation(one->op, std::move(args), place);
  }

  Expr Unary() {
    const Token& token = Peek();
    if (token.Is("-")) {
      const Nested nested(*this);
      Take();
      std::vector<Expr> args;
      args.push_back(Unary());
      return Operation(Op::kNegate, std::move(args), token.place);
    }
    if (token.Is("(")) {
      Take();
      if (Peek().IsWord("From"))
        Fail(Peek(), "a sub-query cannot stand in an expression",
             "Join it under an alias, and read x.COLUMN");
      Expr inner = Expression();
      ExpectSign(")", "close the bracket");
      return inner;
    }
    Expr expr;
    expr.place = token.place;
    if (token.kind == TokenKind::kNumber || token.kind == TokenKind::kDuration) {
      expr.constant = Take().value;
      return expr;
    }
    if (token.kind == TokenKind::kText) {
      expr.constant = Take().text;
      return expr;
    }
    if (token.kind == TokenKind::kWord) return Word();
    if (token.Is("!"))
      Fail(token, "! stands before a whole comparison", "put it in brackets: x = (!y)");
    Fail(token, "expected an expression instead of " + Described(token),
         "as incr.delta, 5ms, 'text' or SUM(…)");
  }

  Expr Word() {
    const Token& token = Peek();
    Expr expr;
    expr.place = token.place;
    if (token.IsWord("true") || token.IsWord("false")) {
      expr.constant = token.IsWord("true");
      Take();
      return expr;
    }
    if (Peek(1).Is("(")) return Call();
    if (token.IsWord("COUNT") && !Peek(1).Is(".")) {
      Take();
      expr.kind = Expr::Kind::kAggregate;
      return expr;
    }
    if (!token.quoted && IsKeyword(token.text))
      Fail(token, "expected an expression instead of " + Described(token),
           "as incr.delta, 5ms, 'text' or SUM(…)");
    expr.kind = Expr::Kind::kRead;
    expr.name = Take().text;
    expr.bare = !Peek().Is(".");
    if (!expr.bare) {
      Take();
      const WrittenName variable = Name();
      expr.variable = variable.text;
      Stretch(expr.place, variable.place);
    }
    return expr;
  }

  Expr Call() {
    const Token& token = Take();
    const Function* function = token.quoted ? nullptr : FindFunction(token.text);
    if (function == nullptr) {
      std::string hint = lang::DidYouMean(token.text, FunctionNames());
      if (SameWord(token.text, "avg")) hint = "did you mean AVERAGE?";
      if (hint.empty()) {
        hint = "functions are";
        for (const std::string& name : FunctionNames()) hint += " " + name;
      }
      Fail(token, "\"" + token.text + "\" is not a function", hint);
    }
    Take();  // "("
    std::vector<Expr> args;
    const bool count = function->least == 0;
    if (count && Peek().Is("*")) {
      Take();
    } else if (!(count && Peek().Is(")"))) {
      if (Peek().Is(")")) FailArguments(token, *function);
      args.push_back(Expression());
      while (Peek().Is(",")) {
        Take();
        args.push_back(Expression());
      }
    }
    ExpectSign(")", "as in " + std::string(function->usage));
    if (args.size() < function->least || args.size() > function->most)
      FailArguments(token, *function);
    Expr expr = Operation(function->op, std::move(args), token.place);
    if (function->kind == Function::Kind::kAggregate) {
      expr.kind = Expr::Kind::kAggregate;
      expr.call = function->aggregate;
    }
    return expr;
  }

  [[noreturn]] static void FailArguments(const Token& token, const Function& function) {
    Fail(token,
         std::string(function.name) + " takes " +
             (function.least == 0  ? "at most one argument"
              : function.most == 1 ? "one argument"
                                   : "two arguments"),
         "as in " + std::string(function.usage));
  }

  static constexpr int64_t kMaxLimit = 1'000'000;

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

Written ParseSyntax(std::string_view text) {
  Written out;
  Tokens tokens = Tokenize(text);
  if (tokens.fault) {
    out.fault = std::move(tokens.fault);
    return out;
  }
  try {
    out.queries = Parser(text, std::move(tokens.tokens)).Program();
  } catch (SyntaxFault& fault) {
    out.fault = std::move(fault.diagnostic);
  }
  return out;
}

}  // namespace wf::query
