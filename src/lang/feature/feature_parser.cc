#include "lang/feature/feature_parser.h"

#include <charconv>
#include <cmath>

#include "lang/common/lexer.h"
#include "lang/common/number_units.h"
#include "lang/common/suggestion.h"

namespace wf::feature {
namespace {

// Where grammar and text part. Caught in Statement; leaves this file never.
struct SyntaxFault {
  lang::Diagnostic diagnostic;
};

class Parser {
 public:
  explicit Parser(std::string_view text) {
    lang::Tokens tokens = lang::Tokenize(text);
    tokens_ = std::move(tokens.tokens);
    out_.diagnostics = std::move(tokens.diagnostics);
  }

  Parsed Run() {
    // A text without end or a stray character already says where the fault is; parsing its line would say it twice.
    std::vector<int> bad_lines;
    for (const lang::Diagnostic& diagnostic : out_.diagnostics)
      bad_lines.push_back(diagnostic.line);
    while (Peek().kind != lang::TokenKind::kEof) {
      if (Peek().kind == lang::TokenKind::kEnd) {
        ++at_;
        continue;
      }
      const size_t begin = at_;
      depth_ = 0;
      try {
        wf::feature::Statement statement = ParseStatement();
        if (Peek().kind != lang::TokenKind::kEnd && Peek().kind != lang::TokenKind::kEof)
          Unexpected();
        out_.program.statements.push_back(std::move(statement));
      } catch (SyntaxFault& fault) {
        bool told = false;
        for (size_t i = begin; i <= at_; ++i) {
          for (const int line : bad_lines) told = told || tokens_[i].line == line;
        }
        if (!told) out_.diagnostics.push_back(std::move(fault.diagnostic));
        Spoil(begin);
        while (Peek().kind != lang::TokenKind::kEnd && Peek().kind != lang::TokenKind::kEof) ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  const lang::Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const lang::Token& Take() {
    const lang::Token& token = Peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  static Place PlaceOf(const lang::Token& token) {
    return {token.line, token.column, token.length};
  }

  [[noreturn]] static void Fail(const lang::Token& token, std::string message,
                                std::string hint = {}) {
    throw SyntaxFault{
        {token.line, token.column, token.length, std::move(message), std::move(hint)}};
  }
  static std::string Shown(const lang::Token& token) {
    switch (token.kind) {
      case lang::TokenKind::kEof:
        return "the end of the program";
      case lang::TokenKind::kEnd:
        return token.text == ";" ? "\";\"" : "the end of the line";
      case lang::TokenKind::kString:
        return "the text \"" + token.text + "\"";
      default:
        return "\"" + token.text + "\"";
    }
  }
  [[noreturn]] void Unexpected() const {
    const lang::Token& token = Peek();
    if (token.Is(")")) Fail(token, "this ) has no matching (", "remove it, or open a ( before it");
    if (token.Is("="))
      Fail(token, "\"=\" names a pipeline, or compares inside Filter( )",
           "write NAME = pipeline, or | Eq(x) to compare values");
    if (token.kind == lang::TokenKind::kName || token.kind == lang::TokenKind::kNumber ||
        token.kind == lang::TokenKind::kString)
      Fail(token, Shown(token) + " does not continue the pipeline",
           "stages are joined by |, statements end with the line or with ;");
    Fail(token, Shown(token) + " was not expected here", "stages are joined by |");
  }

  // What `NAME =` or `def NAME` would have defined.
  void Spoil(size_t begin) {
    const lang::Token& first = tokens_[begin];
    if (first.IsName("def") && begin + 1 < tokens_.size()) {
      out_.spoiled.push_back(tokens_[begin + 1].text);
    } else if (first.kind == lang::TokenKind::kName && begin + 1 < tokens_.size() &&
               tokens_[begin + 1].Is("=")) {
      out_.spoiled.push_back(first.text);
    }
  }

  wf::feature::Statement ParseStatement() {
    wf::feature::Statement statement;
    const lang::Token& first = Peek();
    if (first.IsName("use") && !Peek(1).Is("=")) {
      Take();
      if (Peek().kind != lang::TokenKind::kString)
        Fail(Peek(), "use needs the name of a text", "as in: use \"page_load\"");
      statement.kind = Statement::Kind::kUse;
      statement.place = PlaceOf(Peek());
      statement.name = Take().text;
      return statement;
    }
    if (first.IsName("def") && !Peek(1).Is("=")) return ParseDef();
    if (first.kind == lang::TokenKind::kName && Peek(1).Is("=")) {
      statement.kind = Statement::Kind::kName;
      statement.place = PlaceOf(first);
      statement.name = Take().text;
      Take();
    }
    statement.pipeline = ParsePipeline();
    if (statement.kind == Statement::Kind::kPipeline) statement.place = statement.pipeline.place;
    return statement;
  }

  wf::feature::Statement ParseDef() {
    wf::feature::Statement statement;
    statement.kind = Statement::Kind::kDef;
    Take();
    if (Peek().kind != lang::TokenKind::kName)
      Fail(Peek(), "def needs a name", "as in: def Slowest(blocks) = blocks | Duration | Max");
    statement.place = PlaceOf(Peek());
    statement.name = Take().text;
    Expect("(", "a def has parameters in ( )");
    for (;;) {
      if (Peek().kind != lang::TokenKind::kName)
        Fail(Peek(), "the name of a parameter is missing",
             "as in: def Slowest(blocks) = blocks | Duration | Max");
      for (const std::string& known : statement.parameters) {
        if (known == Peek().text)
          Fail(Peek(), "there are two parameters " + known, "give each its own name");
      }
      statement.parameters.push_back(Take().text);
      if (!Peek().Is(",")) break;
      Take();
    }
    Expect(")", "the list of parameters ends with )");
    Expect("=", "the pipeline of a def stands behind =");
    statement.pipeline = ParsePipeline();
    return statement;
  }

  void Expect(std::string_view sign, std::string hint) {
    if (!Peek().Is(sign))
      Fail(Peek(), Shown(Peek()) + " stands where \"" + std::string(sign) + "\" should",
           std::move(hint));
    Take();
  }

  Pipeline ParsePipeline() {
    if (++depth_ > kMaxNesting)
      Fail(Peek(), "parentheses are nested too deeply", "name the inner pipelines: NAME = …");
    Pipeline pipeline;
    const lang::Token begin = Peek();
    pipeline.operand = ParseOperand();
    while (Peek().Is("|")) {
      Take();
      if (Peek().kind != lang::TokenKind::kName)
        Fail(Peek(), "a function must follow |, not " + Shown(Peek()),
             "as in: Blocks | Duration | Sum");
      pipeline.stages.push_back(ParseCall());
    }
    const lang::Token& last = tokens_[at_ - 1];
    pipeline.place = PlaceOf(begin);
    if (last.line == begin.line && last.column >= begin.column)
      pipeline.place.length = last.column + last.length - begin.column;
    --depth_;
    return pipeline;
  }

  Operand ParseOperand() {
    Operand operand;
    const lang::Token& token = Peek();
    operand.place = PlaceOf(token);
    if (token.Is("(")) {
      const lang::Token open = Take();
      operand.kind = Operand::Kind::kPipeline;
      operand.pipeline = std::make_unique<Pipeline>(ParsePipeline());
      Close(open);
      return operand;
    }
    if (AtLiteral()) {
      operand.kind = Operand::Kind::kLiteral;
      operand.literal = ParseLiteral();
      return operand;
    }
    if (token.kind != lang::TokenKind::kName)
      Fail(token, "a pipeline cannot begin with " + Shown(token),
           "it begins with Trace, ExecUnits, Blocks, Points, Edges, CriticalPath, Row, It, a name "
           "or a value");
    operand.call = ParseCall();
    return operand;
  }

  void Close(const lang::Token& open) {
    if (Peek().Is(")")) {
      Take();
      return;
    }
    if (Peek().kind == lang::TokenKind::kEof || Peek().kind == lang::TokenKind::kEnd)
      Fail(open, "this ( is never closed", "add the ) that is missing");
    if (Peek().Is("="))
      Fail(Peek(), "a comparison needs a key on its left", "as in: Filter(name=\"Client\")");
    Fail(Peek(), Shown(Peek()) + " was not expected inside ( )",
         "arguments are separated by commas, stages by |");
  }

  Call ParseCall() {
    Call call;
    call.place = PlaceOf(Peek());
    call.name = Take().text;
    if (!Peek().Is("(")) return call;
    const lang::Token open = Take();
    call.parenthesized = true;
    if (!Peek().Is(")")) {
      for (;;) {
        call.arguments.push_back(ParseArgument());
        if (!Peek().Is(",")) break;
        Take();
      }
    }
    Close(open);
    return call;
  }

  // The token behind a key that begins at `ahead`, or 0.
  size_t BehindKey(size_t ahead) const {
    if (Peek(ahead).kind == lang::TokenKind::kString) return ahead + 1;
    if (Peek(ahead).kind != lang::TokenKind::kName) return 0;
    ++ahead;
    while (Peek(ahead).Is(".") && Peek(ahead + 1).kind == lang::TokenKind::kName) ahead += 2;
    return ahead;
  }
  bool ComparesAt(size_t ahead) const {
    const lang::Token& token = Peek(ahead);
    for (const std::string_view sign : {"=", "!=", "<", "<=", ">", ">=", "~"}) {
      if (token.Is(sign)) return true;
    }
    return token.IsName("exists") || (token.IsName("in") && Peek(ahead + 1).Is("("));
  }

  Argument ParseArgument() {
    Argument argument;
    argument.place = PlaceOf(Peek());
    if (Peek().IsName("not") && !ComparesAt(1)) {
      const size_t behind = BehindKey(1);
      if (behind != 0 && ComparesAt(behind)) {
        Take();
        argument.condition.negated = true;
        ParseCondition(argument);
        return argument;
      }
      Fail(Peek(), "not stands before a condition only", "to negate a value: | Not");
    }
    const size_t behind = BehindKey(0);
    if (behind != 0 && ComparesAt(behind)) {
      ParseCondition(argument);
      return argument;
    }
    if (behind > 1) {
      argument.kind = Argument::Kind::kKey;
      argument.key = ParseKey();
      return argument;
    }
    argument.from = std::make_unique<Pipeline>(ParsePipeline());
    argument.place = argument.from->place;
    if (Peek().Is("->")) {
      Take();
      argument.kind = Argument::Kind::kRange;
      argument.to = std::make_unique<Pipeline>(ParsePipeline());
    }
    return argument;
  }

  Key ParseKey() {
    Key key;
    const lang::Token first = Take();
    key.name = first.text;
    key.place = PlaceOf(first);
    if (first.kind == lang::TokenKind::kString) return key;
    while (Peek().Is(".") && Peek(1).kind == lang::TokenKind::kName) {
      Take();
      key.name += "." + Take().text;
    }
    const lang::Token& last = tokens_[at_ - 1];
    key.place.length = last.column + last.length - first.column;
    return key;
  }

  void ParseCondition(Argument& argument) {
    argument.kind = Argument::Kind::kCondition;
    Condition& condition = argument.condition;
    condition.key = ParseKey();
    const lang::Token sign = Take();
    if (sign.IsName("exists")) {
      condition.compare = Compare::kExists;
    } else if (sign.IsName("in")) {
      condition.compare = Compare::kIn;
      const lang::Token open = Take();
      condition.literal_place = PlaceOf(Peek());
      for (;;) {
        condition.literals.push_back(ConditionLiteral(sign));
        if (!Peek().Is(",")) break;
        Take();
      }
      Close(open);
    } else {
      static constexpr std::string_view kSigns[] = {"=", "!=", "<", "<=", ">", ">=", "~"};
      for (size_t i = 0; i < std::size(kSigns); ++i) {
        if (sign.Is(kSigns[i])) condition.compare = static_cast<Compare>(i);
      }
      if (Peek().Is("=") && sign.Is("="))
        Fail(Peek(), "a comparison has one =", "as in: Filter(name=\"Client\")");
      condition.literal_place = PlaceOf(Peek());
      condition.literals.push_back(ConditionLiteral(sign));
    }
    argument.place = condition.key.place;
  }

  Literal ConditionLiteral(const lang::Token& sign) {
    if (!AtLiteral()) {
      const lang::Token& token = Peek();
      if (token.kind == lang::TokenKind::kName)
        Fail(token, "a key is compared with a text, a number, true or false",
             "if " + token.text + " is the text: \"" + token.text +
                 "\"; to compare with a pipeline: Where(It | … | Eq(" + token.text + "))");
      Fail(token, "a text, a number, true or false must follow " + Shown(sign),
           "as in: Filter(name=\"Client\", duration >= 5ms)");
    }
    return ParseLiteral();
  }

  bool AtLiteral() const {
    return Peek().kind == lang::TokenKind::kString || Peek().kind == lang::TokenKind::kNumber ||
           ((Peek().IsName("true") || Peek().IsName("false")) && !Peek(1).Is("("));
  }

  Literal ParseLiteral() {
    Literal literal;
    const lang::Token token = Take();
    if (token.kind == lang::TokenKind::kString) {
      literal.kind = Literal::Kind::kText;
      literal.text = token.text;
    } else if (token.kind == lang::TokenKind::kName) {
      literal.kind = Literal::Kind::kBool;
      literal.integer = token.text == "true" ? 1 : 0;
    } else {
      ParseNumber(token, literal);
    }
    return literal;
  }

  void ParseNumber(const lang::Token& token, Literal& literal) {
    const char* begin = token.text.data();
    const char* end = begin + token.text.size();
    const bool whole = token.text.find_first_of(".eE") == std::string::npos;
    int64_t integer = 0;
    double number = 0;
    const auto integer_read = std::from_chars(begin, end, integer);
    const auto number_read = std::from_chars(begin, end, number);
    if ((whole && integer_read.ec != std::errc()) || number_read.ec != std::errc() ||
        !std::isfinite(number))
      Fail(token, "this number is too large", "numbers are 64 bits wide");
    literal.kind = whole ? Literal::Kind::kInt : Literal::Kind::kDouble;
    literal.integer = integer;
    literal.number = number;
    if (Peek().kind != lang::TokenKind::kName || Peek().IsName("in") || Peek().IsName("exists"))
      return;
    for (const lang::NumberUnit& unit : lang::kNumberUnits) {
      if (!Peek().IsName(unit.name)) continue;
      const double scaled = std::round(number * static_cast<double>(unit.factor));
      const bool overflows = whole ? __builtin_mul_overflow(integer, unit.factor, &literal.integer)
                                   : std::abs(scaled) >= 9.2e18;
      if (overflows) Fail(token, "this number is too large", "numbers are 64 bits wide");
      if (!whole) literal.integer = static_cast<int64_t>(scaled);
      literal.kind = Literal::Kind::kInt;
      literal.number = static_cast<double>(literal.integer);
      Take();
      return;
    }
    std::vector<std::string> known;
    for (const lang::NumberUnit& unit : lang::kNumberUnits) known.emplace_back(unit.name);
    std::string hint = lang::DidYouMean(Peek().text, known);
    Fail(Peek(), "\"" + Peek().text + "\" is not a unit",
         (hint.empty() ? "" : hint + " ") + "units are ns us ms s m h and B kB MB GB");
  }

  std::vector<lang::Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  Parsed out_;
};

}  // namespace

Parsed Parse(std::string_view text) {
  if (text.size() > kMaxProgramBytes) {
    Parsed out;
    out.diagnostics.push_back(
        {1, 1, 1, "the program is larger than 256 kB", "split it into texts and use \"NAME\""});
    return out;
  }
  return Parser(text).Run();
}

}  // namespace wf::feature
