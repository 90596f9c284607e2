// The expressions of exports:
//
//   export = source { "->" NAME | "." NAME | "[" INT "]" } [ "as" form ]
//   source = "arg" NAME | "arg0" … "arg5" | "local" NAME | "retval" | "elapsed" | INT | 'text'
//   form   = "int8" … "uint64" | "bool" | "string" [ "(" ( INT | export ) ")" ]
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "weaver/tracepoint_file.h"

namespace wf::weaver {
namespace {

constexpr size_t kMaxText = 1000;
// Each step may be a read of memory, and the number of eBPF instructions is limited.
constexpr size_t kMaxPath = 8;

constexpr std::array<std::pair<std::string_view, ExportAs>, 10> kForms{{
    {"int8", ExportAs::kInt8},
    {"int16", ExportAs::kInt16},
    {"int32", ExportAs::kInt32},
    {"int64", ExportAs::kInt64},
    {"uint8", ExportAs::kUint8},
    {"uint16", ExportAs::kUint16},
    {"uint32", ExportAs::kUint32},
    {"uint64", ExportAs::kUint64},
    {"bool", ExportAs::kBool},
    {"string", ExportAs::kString},
}};

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsNamePart(char c) {
  return IsNameStart(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "arg3" → 3.
std::optional<int64_t> ArgumentNumber(std::string_view word) {
  if (word.size() != 4 || !word.starts_with("arg")) return std::nullopt;
  if (word[3] < '0' || word[3] > '5') return std::nullopt;
  return word[3] - '0';
}

class ExportParser {
 public:
  explicit ExportParser(std::string_view text) : text_(text) {}

  Result<ExportExpression> Parse() {
    if (text_.size() > kMaxText) return BadInput(fmt::format("longer than {} bytes", kMaxText));
    WF_ASSIGN(ExportExpression expression, ParseOne());
    Skip();
    if (at_ != text_.size()) return Fault("unexpected text here");
    return expression;
  }

 private:
  Result<ExportExpression> ParseOne() {
    ExportExpression expression;
    WF_TRY(ParseSource(expression));
    WF_TRY(ParsePath(expression));
    WF_TRY(ParseAs(expression));
    return expression;
  }

  Status ParseSource(ExportExpression& out) {
    Skip();
    if (at_ == text_.size()) return Fault("an expression is missing, such as: arg NAME, retval");
    const char c = text_[at_];
    if (c == '\'' || c == '"') return ParseText(out);
    if (c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0) {
      out.source = ExportSource::kInteger;
      return ParseInteger(out.number);
    }
    const size_t start = at_;
    const std::string_view word = Word();
    if (word == "retval") {
      out.source = ExportSource::kReturnValue;
    } else if (word == "elapsed") {
      out.source = ExportSource::kElapsed;
    } else if (word == "arg" || word == "local") {
      out.source = word == "arg" ? ExportSource::kArgument : ExportSource::kLocal;
      Skip();
      out.name = std::string(Word());
      if (out.name.empty()) return Fault(fmt::format("the name after '{}' is missing", word));
    } else if (const auto number = ArgumentNumber(word)) {
      out.source = ExportSource::kArgumentNumber;
      out.number = *number;
    } else {
      at_ = start;
      return Fault(
          "expected arg NAME, arg0 to arg5, local NAME, retval, elapsed, a number or a 'text'");
    }
    return {};
  }

  Status ParseText(ExportExpression& out) {
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return Fault("the closing quote is missing");
    out.source = ExportSource::kText;
    out.name = std::string(text_.substr(at_, end - at_));
    at_ = end + 1;
    return {};
  }

  Status ParseInteger(int64_t& out) {
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (error != std::errc()) return Fault("expected an integer of 64 bits");
    at_ += static_cast<size_t>(end - begin);
    return {};
  }

  Status ParsePath(ExportExpression& out) {
    for (;;) {
      Skip();
      PathStep step;
      if (Take("->") || Take(".")) {
        Skip();
        step.member = std::string(Word());
        if (step.member.empty()) return Fault("expected the name of a member");
      } else if (Take("[")) {
        step.kind = PathStep::Kind::kIndex;
        Skip();
        WF_TRY(ParseInteger(step.index));
        Skip();
        if (!Take("]")) return Fault("expected ']'");
        if (step.index < -kMaxIndex || step.index > kMaxIndex) return Fault("index too large");
      } else {
        return {};
      }
      if (out.source != ExportSource::kArgument && out.source != ExportSource::kLocal &&
          out.source != ExportSource::kReturnValue) {
        return Fault("only arguments by name, locals and retval have members");
      }
      out.path.push_back(std::move(step));
      if (out.path.size() > kMaxPath) return Fault(fmt::format("more than {} steps", kMaxPath));
    }
  }

  Status ParseAs(ExportExpression& out) {
    const size_t start = at_;
    if (Word() != "as") {
      at_ = start;
      return {};
    }
    Skip();
    const size_t place = at_;
    const std::string_view word = Word();
    for (const auto& [name, form] : kForms) {
      if (name == word) out.as = form;
    }
    if (out.as == ExportAs::kByType) {
      at_ = place;
      return Fault("expected int8 to int64, uint8 to uint64, bool or string");
    }
    if (out.source == ExportSource::kElapsed || out.source == ExportSource::kText ||
        out.source == ExportSource::kInteger) {
      at_ = start;
      return Fault("only what is read from the program can be taken as something else");
    }
    Skip();
    if (out.as != ExportAs::kString || !Take("(")) return {};
    if (in_length_) return Fault("a length has no length");
    in_length_ = true;
    WF_ASSIGN(ExportExpression length, ParseOne());
    in_length_ = false;
    if (length.source == ExportSource::kText || length.source == ExportSource::kElapsed ||
        length.as == ExportAs::kString ||
        (length.source == ExportSource::kInteger && length.number < 0)) {
      return Fault("the length is a number or an argument");
    }
    out.length.push_back(std::move(length));
    Skip();
    if (!Take(")")) return Fault("expected ')'");
    return {};
  }

  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool Take(std::string_view what) {
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  std::string_view Word() {
    const size_t start = at_;
    if (at_ < text_.size() && IsNameStart(text_[at_])) {
      while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  Error Fault(std::string_view reason) const {
    return BadInput(fmt::format("'{}', column {}: {}", text_.substr(0, kMaxText), at_ + 1, reason),
                    "docs/reference/tracepoints.md has the expressions");
  }

  static constexpr int64_t kMaxIndex = int64_t{1} << 30;
  std::string_view text_;
  size_t at_ = 0;
  bool in_length_ = false;
};

}  // namespace

Result<ExportExpression> ParseExport(std::string_view text) { return ExportParser(text).Parse(); }

}  // namespace wf::weaver
