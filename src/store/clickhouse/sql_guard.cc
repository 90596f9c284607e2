#include "store/clickhouse/sql_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "store/clickhouse/sql_text.h"

namespace wf::store::clickhouse {
namespace {

constexpr size_t kMaxSqlBytes = 256 << 10;
constexpr size_t kMaxDepth = 200;  // of brackets

enum class TokenKind : uint8_t { kWord, kQuotedName, kText, kNumber, kSign, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // as it stands
  std::string name;  // words: lower case; quoted names: unquoted
  size_t place = 0;  // from 1
};

Error Refuse(size_t place, const std::string& why, const std::string& hint) {
  return BadInput(fmt::format("sql: at {}: {}", place, why), hint);
}

bool IsWordStart(unsigned char c) { return std::isalpha(c) != 0 || c == '_'; }
bool IsWordPart(unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }

// Reads tokens as ClickHouse does. Refuses whatever one of its versions might read differently.
class Lexer {
 public:
  explicit Lexer(std::string_view sql) : sql_(sql) {}

  Result<std::vector<Token>> Read() {
    std::vector<Token> out;
    for (;;) {
      WF_TRY(SkipSpace());
      Token token;
      token.place = at_ + 1;
      if (at_ == sql_.size()) {
        out.push_back(token);
        return out;
      }
      WF_TRY(ReadToken(token));
      out.push_back(std::move(token));
    }
  }

 private:
  unsigned char Peek(size_t ahead = 0) const {
    return at_ + ahead < sql_.size() ? static_cast<unsigned char>(sql_[at_ + ahead]) : 0;
  }

  Status SkipSpace() {
    for (;;) {
      const unsigned char c = Peek();
      if (at_ == sql_.size()) return {};
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (c == '-' && Peek(1) == '-') {
        at_ = std::min(sql_.find('\n', at_), sql_.size());
      } else if (c == '/' && Peek(1) == '*') {
        // Some versions let comments lie in each other, some do not.
        const size_t end = sql_.find("*/", at_ + 2);
        if (end == std::string_view::npos ||
            sql_.substr(at_ + 2, end - at_ - 2).find("/*") != std::string_view::npos)
          return Refuse(at_ + 1, "an unclosed or nested comment", "leave it out");
        at_ = end + 2;
      } else {
        return {};
      }
    }
  }

  Status ReadToken(Token& token) {
    const unsigned char c = Peek();
    const size_t begin = at_;
    if (IsWordStart(c)) {
      while (IsWordPart(Peek())) ++at_;
      token.kind = TokenKind::kWord;
      token.text = sql_.substr(begin, at_ - begin);
      token.name = token.text;
      for (char& l : token.name) l = static_cast<char>(std::tolower(static_cast<unsigned char>(l)));
      // x'4142', b'01', N'…': literals of some versions only
      if (Peek() == '\'')
        return Refuse(begin + 1, "a letter before a text", "write a blank between them");
      return {};
    }
    if (c == '\'' || c == '"' || c == '`') return ReadQuoted(token);
    if (std::isdigit(c) != 0 || (c == '.' && std::isdigit(Peek(1)) != 0)) return ReadNumber(token);
    constexpr std::string_view kPairs[] = {"->", "<=", ">=", "<>", "!=", "==", "||", "::"};
    token.kind = TokenKind::kSign;
    for (const std::string_view pair : kPairs) {
      if (sql_.substr(at_, 2) != pair) continue;
      at_ += 2;
      token.text = pair;
      return {};
    }
    constexpr std::string_view kSigns = "()[],.;+-*/%<>=?:";
    if (kSigns.find(static_cast<char>(c)) == std::string_view::npos) {
      return Refuse(begin + 1,
                    c >= 0x80 ? std::string("a character that is not ASCII, outside of quotes")
                              : fmt::format("'{}' is not used here", static_cast<char>(c)),
                    "put names with other characters into double quotes");
    }
    ++at_;
    token.text = sql_.substr(begin, 1);
    return {};
  }

  Status ReadQuoted(Token& token) {
    const char quote = sql_[at_];
    const size_t begin = at_++;
    for (; at_ < sql_.size(); ++at_) {
      const char c = sql_[at_];
      if (c == '\\') {
        ++at_;
        // Escapes in names are read differently by some versions; nobody needs them.
        if (quote != '\'' || at_ == sql_.size())
          return Refuse(at_, "a backslash in a name", "name it without one");
        continue;
      }
      if (c == quote) {
        if (Peek(1) == static_cast<unsigned char>(quote))
          return Refuse(at_ + 1, "a doubled quote", "write \\' in a text");
        ++at_;
        token.kind = quote == '\'' ? TokenKind::kText : TokenKind::kQuotedName;
        token.text = sql_.substr(begin, at_ - begin);
        token.name = sql_.substr(begin + 1, at_ - begin - 2);
        return {};
      }
    }
    return Refuse(begin + 1, "unclosed quote", "close it");
  }

  Status ReadNumber(Token& token) {
    const size_t begin = at_;
    while (std::isalnum(Peek()) != 0 || Peek() == '.' || Peek() == '_' ||
           ((Peek() == '-' || Peek() == '+') && (sql_[at_ - 1] == 'e' || sql_[at_ - 1] == 'E') &&
            sql_.substr(begin, 2) != "0x"))
      ++at_;
    token.kind = TokenKind::kNumber;
    token.text = sql_.substr(begin, at_ - begin);
    // Digits that go on as a name are two tokens to some.
    bool good = true;
    for (const char c : token.text)
      good = good && (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == 'e' ||
                      c == 'E' || c == '+' || c == '-');
    good = good && std::count(token.text.begin(), token.text.end(), '.') <= 1;
    if (!good)
      return Refuse(begin + 1, "\"" + token.text + "\" is not a number", "write 12 or 1.5e3");
    return {};
  }

  std::string_view sql_;
  size_t at_ = 0;
};

using Words = std::set<std::string, std::less<>>;

// Each would do something else than answer, or say where the answer goes.
const Words& Forbidden() {
  static const Words words = {"into",   "outfile",  "format",     "settings", "explain", "parallel",
                              "insert", "create",   "alter",      "drop",     "attach",  "detach",
                              "rename", "truncate", "optimize",   "system",   "grant",   "revoke",
                              "set",    "use",      "show",       "describe", "kill",    "totals",
                              "global", "infile",   "dictionary", "watch",    "columns", "view"};
  return words;
}

// That may stand right before a bracket without being a function.
const Words& BeforeBracket() {
  static const Words words = {
      "select", "distinct", "from",  "join",   "on",        "using",  "where",  "prewhere",
      "having", "by",       "in",    "not",    "and",       "or",     "as",     "with",
      "all",    "any",      "union", "except", "intersect", "when",   "then",   "else",
      "case",   "between",  "like",  "ilike",  "limit",     "offset", "over",   "exists",
      "is",     "interval", "asc",   "desc",   "div",       "mod",    "qualify"};
  return words;
}

// That end the tables of a SELECT.
const Words& AfterTables() {
  static const Words words = {"where",  "prewhere", "group",  "having", "order",
                              "limit",  "offset",   "union",  "except", "intersect",
                              "window", "qualify",  "select", "fetch"};
  return words;
}

// That may follow a table's name without being another name for it.
const Words& AfterTable() {
  static const Words words = {"where",  "prewhere", "group",  "having",    "order",  "limit",
                              "offset", "union",    "except", "intersect", "window", "qualify",
                              "fetch",  "join",     "any",    "all",       "asof",   "semi",
                              "anti",   "inner",    "left",   "right",     "full",   "outer",
                              "cross",  "natural",  "paste",  "on",        "using",  "final",
                              "sample", "select",   "array",  "as"};
  return words;
}

class Guard {
 public:
  Guard(std::vector<Token> tokens, const FindDataset& find)
      : tokens_(std::move(tokens)), find_(find) {}

  Result<GuardedSql> Check() {
    FindCommonNames();
    if (!Is(0, "select") && !Is(0, "with"))
      return Refuse(tokens_[0].place, "only a SELECT is run here", "begin with SELECT");
    for (; tokens_[at_].kind != TokenKind::kEnd; ++at_) WF_TRY(CheckToken());
    if (!brackets_.empty()) return Refuse(tokens_[at_].place, "unclosed bracket", "close it");
    return std::move(out_);
  }

 private:
  // One a bracket, and one around everything.
  struct Bracket {
    bool in_tables = false;  // between FROM and what ends it
  };

  const Token& Next(size_t ahead = 1) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool Is(size_t place, std::string_view word) const {
    return place < tokens_.size() && tokens_[place].kind == TokenKind::kWord &&
           tokens_[place].name == word;
  }
  static bool IsWord(const Token& token, std::string_view word) {
    return token.kind == TokenKind::kWord && token.name == word;
  }
  static bool IsSign(const Token& token, std::string_view sign) {
    return token.kind == TokenKind::kSign && token.text == sign;
  }
  static bool IsName(const Token& token) {
    return token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedName;
  }
  Bracket& Here() { return brackets_.empty() ? outermost_ : brackets_.back(); }

  // WITH name AS (SELECT …): then it is a table in this statement. Where it is none, the server looks into an empty
  // database. Only plain names: some version may see a database in "a.b".
  void FindCommonNames() {
    for (size_t i = 0; i + 3 < tokens_.size(); ++i) {
      if (IsName(tokens_[i]) && Is(i + 1, "as") && IsSign(tokens_[i + 2], "(") &&
          (Is(i + 3, "select") || Is(i + 3, "with")) && IsPlain(NameOf(tokens_[i])))
        common_.insert(NameOf(tokens_[i]));
    }
  }
  static bool IsPlain(const std::string& name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return IsWordPart(static_cast<unsigned char>(c));
    });
  }
  static std::string NameOf(const Token& token) {
    return token.kind == TokenKind::kQuotedName ? token.name : token.text;
  }

  void Emit(std::string_view text) {
    if (!out_.text.empty()) out_.text += ' ';
    out_.text += text;
  }

  Status CheckToken() {
    const Token& token = tokens_[at_];
    if (IsName(token)) out_.names.push_back(NameOf(token));
    if (token.kind == TokenKind::kWord) return CheckWord(token);
    if (token.kind == TokenKind::kQuotedName) return CheckName(token);
    if (token.kind == TokenKind::kSign) return CheckSign(token);
    Emit(token.text);
    return {};
  }

  Status CheckSign(const Token& token) {
    if (token.text == ";") {
      if (Next().kind != TokenKind::kEnd)
        return Refuse(token.place, "something follows the statement", "give one SELECT");
      return {};
    }
    Emit(token.text);
    if (token.text == "(" || token.text == "[") {
      if (brackets_.size() == kMaxDepth)
        return Refuse(token.place, "brackets nested too deeply", "simplify it");
      brackets_.push_back({});
      kinds_.push_back(token.text[0]);
    }
    if (token.text == ")" || token.text == "]") {
      if (brackets_.empty() || (kinds_.back() == '(') != (token.text == ")"))
        return Refuse(token.place, "unmatched closing bracket", "leave it out");
      brackets_.pop_back();
      kinds_.pop_back();
    }
    if (token.text == "," && Here().in_tables) return CheckTable();
    return {};
  }

  Status CheckWord(const Token& token) {
    if (Forbidden().count(token.name) != 0)
      return Refuse(token.place, token.text + " is not allowed here",
                    "one SELECT over datasets; a column of this name goes into double quotes");
    if (AfterTables().count(token.name) != 0) Here().in_tables = false;
    if (token.name == "array" && IsWord(Next(), "join"))
      return Refuse(token.place, "ARRAY JOIN is not taken here", "use arrayJoin(…)");
    if (token.name == "from" || token.name == "join") {
      Here().in_tables = true;
      Emit(token.text);
      return CheckTable();
    }
    if (token.name == "in") return CheckIn(token);
    return CheckName(token);
  }

  // A name of a column, a function or an alias, or a keyword without dangers.
  Status CheckName(const Token& token) {
    if (IsSign(Next(), "(")) {
      const bool keyword = token.kind == TokenKind::kWord && BeforeBracket().count(token.name) != 0;
      if (!keyword && !IsHarmlessFunction(token.name))
        return Refuse(token.place, fmt::format("the function {} is not allowed", token.text),
                      "use functions that compute a value from columns");
    }
    if (IsSign(Next(), ".") && (token.name == "system" || token.name == "information_schema" ||
                                token.name == "INFORMATION_SCHEMA" || token.name == "default"))
      return Refuse(token.place, token.text + " is not a dataset", "name datasets only");
    Emit(token.text);
    return {};
  }

  // What is in front of an operator.
  static bool IsOperand(const Token& token) {
    if (token.kind == TokenKind::kWord)
      return BeforeBracket().count(token.name) == 0 && AfterTables().count(token.name) == 0;
    if (token.kind == TokenKind::kSign) return token.text == ")" || token.text == "]";
    return token.kind != TokenKind::kEnd;
  }

  // A name after IN is a table, in brackets or not; and in(…) is a function.
  Status CheckIn(const Token& token) {
    size_t before = at_;  // the place after what stands before it
    if (before > 0 && Is(before - 1, "not")) --before;
    if (before == 0 || !IsOperand(tokens_[before - 1]))
      return Refuse(token.place, "IN needs something before it", "write x IN (1, 2)");
    if (!IsSign(Next(), "("))
      return Refuse(token.place, "IN needs a list in brackets after it", "write x IN (1, 2)");
    if (!IsWord(Next(2), "select") && !IsWord(Next(2), "with")) WF_TRY(CheckValues());
    Emit(token.text);
    return {};
  }

  // The list after IN holds values and nothing else: no name can be a table then, in whatever way the server reads it.
  Status CheckValues() const {
    size_t depth = 0;
    for (size_t i = at_ + 1; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (IsSign(token, "(") || IsSign(token, "[")) {
        ++depth;
      } else if (IsSign(token, ")") || IsSign(token, "]")) {
        if (--depth == 0) return {};
      } else if (!IsSign(token, ",") && !IsSign(token, "-") && !IsWord(token, "null") &&
                 token.kind != TokenKind::kText && token.kind != TokenKind::kNumber) {
        return Refuse(token.place, "a list after IN may contain values only",
                      "write x IN (1, 2), x IN ('a', 'b') or x IN (SELECT …)");
      }
    }
    return Refuse(tokens_.back().place, "unclosed bracket", "close it");
  }

  // At a FROM, a JOIN or a comma: the next token begins a table.
  Status CheckTable() {
    const Token& table = Next();
    if (IsSign(table, "(")) {
      // Brackets around a SELECT only.
      size_t first = 1;
      while (IsSign(Next(first), "(")) ++first;
      if (IsWord(Next(first), "select") || IsWord(Next(first), "with")) return {};
      return Refuse(Next(first).place, "a bracket here must hold a SELECT", "write (SELECT …)");
    }
    if (!IsName(table) || (table.kind == TokenKind::kWord && AfterTables().count(table.name) != 0))
      return Refuse(table.place, "a dataset or a SELECT in brackets must follow", "name a dataset");
    const std::string name = NameOf(table);
    if (IsSign(Next(2), "(") || IsSign(Next(2), "."))
      return Refuse(table.place, fmt::format("{} is not a dataset", name),
                    "name datasets only; wherefore dataset list shows them");
    ++at_;
    if (common_.count(name) != 0) {
      Emit(table.text);
      return {};
    }
    const std::optional<std::string> rows = find_(name);
    if (!rows)
      return Refuse(table.place, fmt::format("there is no dataset {}", name),
                    "wherefore dataset list shows them");
    Emit("(" + *rows + ")");
    const Token& after = Next();
    const bool has_alias = IsWord(after, "as") || after.kind == TokenKind::kQuotedName ||
                           (after.kind == TokenKind::kWord && AfterTable().count(after.name) == 0);
    if (!has_alias) Emit("AS " + QuoteName(name));
    if (std::find(out_.datasets.begin(), out_.datasets.end(), name) == out_.datasets.end())
      out_.datasets.push_back(name);
    return {};
  }

  const std::vector<Token> tokens_;
  const FindDataset& find_;
  size_t at_ = 0;
  std::set<std::string> common_;
  Bracket outermost_;
  std::vector<Bracket> brackets_;
  std::string kinds_;
  GuardedSql out_;
};

}  // namespace

Result<GuardedSql> GuardSql(std::string_view sql, const FindDataset& find) {
  if (sql.size() > kMaxSqlBytes || sql.find('\0') != std::string_view::npos)
    return BadInput("sql: the statement is longer than 256 kB, or contains a zero byte",
                    "give one SELECT");
  WF_ASSIGN(std::vector<Token> tokens, Lexer(sql).Read());
  return Guard(std::move(tokens), find).Check();
}

}  // namespace wf::store::clickhouse
