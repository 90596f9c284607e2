#include "weaver/function_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <utility>

namespace wf::weaver {
namespace {

// The demangler recurses; a name this long is not one that a compiler made for a function that people trace.
constexpr size_t kMaxSymbol = 8'000;

constexpr std::string_view kUnnamed = "(anonymous namespace)::";

bool IsIdentifierPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

void ReplaceAll(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

std::string Demangle(const std::string& symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > kMaxSymbol) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : symbol;
}

// The '(' that opens the parameters: the one that matches the last ')' outside of anything else. Behind it only
// qualifiers ("const", "&&", "[clone …]" cut before) may stand. npos: none.
size_t ParametersBegin(std::string_view text, size_t& end) {
  end = text.rfind(')');
  if (end == std::string_view::npos) return std::string_view::npos;
  int depth = 0;
  for (size_t i = end + 1; i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

bool IsOperatorBefore(std::string_view text, size_t at) {
  return at >= 8 && text.substr(at - 8, 8) == "operator" &&
         (at == 8 || !IsIdentifierPart(text[at - 9]));
}

// Where the name begins: behind the last blank outside brackets, which ends the return type of a template's instance.
// A conversion operator's name has a blank of its own.
size_t NameBegin(std::string_view text) {
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    const char c = text[i];
    const bool operator_sign = (c == '<' || c == '>' || c == '(' || c == ')') &&
                               (IsOperatorBefore(text, i) ||
                                (i > 0 && IsOperatorBefore(text, i - 1) && text[i - 1] == c) ||
                                (i > 0 && c == '>' && text[i - 1] == '-'));
    if (operator_sign) continue;
    if (c == '>' || c == ')' || c == '}' || c == ']') ++depth;
    if (c == '<' || c == '(' || c == '{' || c == '[') --depth;
    if (c == ' ' && depth <= 0 && !IsOperatorBefore(text, i)) {
      // "operator new", "operator unsigned long": the blank belongs to the name.
      const size_t op = text.rfind("operator ", i);
      if (op == std::string_view::npos || (op > 0 && IsIdentifierPart(text[op - 1]))) return i + 1;
      i = op + 8;
    }
  }
  return 0;
}

std::string WithoutBlanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t') out += c;
  }
  return out;
}

// Drops "<…>" but for those of operators, "[abi:…]" and unnamed namespaces.
std::string Plain(std::string_view name) {
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with("[abi:")) {
      const size_t end = name.find(']', i);
      if (end != std::string_view::npos) {
        i = end;
        continue;
      }
    }
    const bool after_operator = depth == 0 && out.size() >= 8 && out.ends_with("operator");
    if (name[i] == '<' && after_operator) {
      while (i < name.size() && (name[i] == '<' || name[i] == '=' || name[i] == '>')) {
        // "operator< <int>": a blank stands before the template's own bracket.
        out += name[i++];
      }
      --i;
      continue;
    }
    if (name[i] == '>' && (after_operator || (depth == 0 && out.ends_with("-")) ||
                           (depth == 0 && out.ends_with("operator>")))) {
      out += name[i];
      continue;
    }
    if (name[i] == '<') ++depth;
    if (depth == 0) out += name[i];
    if (name[i] == '>' && depth > 0) --depth;
  }
  ReplaceAll(out, kUnnamed, "");
  return WithoutBlanks(out);
}

std::string WithoutTags(std::string_view name) {
  std::string out(name);
  for (size_t at = 0; (at = out.find("[abi:", at)) != std::string::npos;) {
    const size_t end = out.find(']', at);
    if (end == std::string::npos) break;
    out.erase(at, end + 1 - at);
  }
  ReplaceAll(out, kUnnamed, "");
  return WithoutBlanks(out);
}

}  // namespace

FunctionName ParseFunctionName(std::string_view symbol) {
  FunctionName out;
  // "name@@VERSION" of dynamic symbols.
  std::string text(symbol.substr(0, symbol.find('@')));
  // "name.constprop.0", "name.cold", "name.part.0.isra.0": compilers put a dot, which no identifier has. The demangler
  // would tell it as " [clone .part.0]".
  const size_t dot = text.find('.', 1);
  if (dot != std::string::npos) {
    out.clone = text.substr(dot + 1);
    text.resize(dot);
  }
  out.demangled = Demangle(text);
  out.qualified = out.demangled;
  if (out.demangled == text) return out;
  size_t end = 0;
  const size_t begin = ParametersBegin(out.demangled, end);
  std::string_view head = out.demangled;
  // "f(int)::{lambda()#1}" has a bracket, but it is not the last thing; the call operator of it has.
  if (begin != std::string_view::npos && begin > 0 &&
      out.demangled.find("::", end) == std::string::npos && out.demangled[begin - 1] != ' ') {
    out.has_parameters = true;
    out.parameters = out.demangled.substr(begin + 1, end - begin - 1);
    head = head.substr(0, begin);
  }
  out.qualified = std::string(head.substr(NameBegin(head)));
  return out;
}

bool GlobMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

NamePattern::NamePattern(std::string_view pattern)
    : pattern_(WithoutBlanks(pattern)),
      // Behind "operator" a star is a multiplication.
      glob_(pattern.substr(0, pattern.rfind("operator")).find_first_of("*?") !=
            std::string_view::npos),
      templates_(pattern.find('<') != std::string_view::npos &&
                 pattern.find("operator<") == std::string_view::npos) {
  // The longest run of name characters that the mangled name must hold as well. Operators and destructors are mangled
  // differently, "std::string" and other abbreviations too.
  if (pattern_.find("operator") != std::string::npos || pattern_.starts_with("std::")) return;
  std::string text = pattern_;
  ReplaceAll(text, "(anonymousnamespace)::", "::");
  const size_t until = std::min(text.find_first_of("<(["), text.size());
  for (size_t i = 0, begin = 0; i <= until; ++i) {
    if (i < until && IsIdentifierPart(text[i])) continue;
    const std::string word = text.substr(begin, i - begin);
    if (word.size() > identifier_.size() && word != "lambda") identifier_ = word;
    begin = i + 1;
  }
}

bool NamePattern::MayMatch(std::string_view symbol) const {
  return identifier_.empty() || symbol.find(identifier_) != std::string_view::npos;
}

bool NamePattern::Matches(std::string_view symbol, const FunctionName& name) const {
  const std::string_view base = symbol.substr(0, symbol.find('@'));
  if (base == pattern_) return true;
  const auto fits = [&](std::string_view text) {
    return glob_ ? GlobMatches(pattern_, text) : pattern_ == text;
  };
  if (templates_) return fits(WithoutBlanks(name.qualified)) || fits(WithoutTags(name.qualified));
  return fits(Plain(name.qualified)) || fits(WithoutBlanks(name.qualified)) ||
         fits(WithoutTags(name.qualified));
}

std::vector<std::string> SplitParameters(std::string_view parameters) {
  std::vector<std::string> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= parameters.size(); ++i) {
    const char c = i < parameters.size() ? parameters[i] : ',';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < parameters.size())) continue;
    std::string_view one = parameters.substr(begin, i - begin);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    out.emplace_back(one);
    begin = i + 1;
  }
  if (out.size() == 1 && (out[0].empty() || out[0] == "void")) out.clear();
  return out;
}

namespace {

// Types that have more than one name, as this platform defines them. In the spelling CanonicalType gives words.
constexpr std::array<std::pair<std::string_view, std::string_view>, 21> kSynonyms{{
    {"size_t", "unsigned long"},
    {"ssize_t", "long"},
    {"off_t", "long"},
    {"time_t", "long"},
    {"ptrdiff_t", "long"},
    {"intptr_t", "long"},
    {"uintptr_t", "unsigned long"},
    {"int8_t", "signed char"},
    {"uint8_t", "unsigned char"},
    {"int16_t", "short"},
    {"uint16_t", "unsigned short"},
    {"int32_t", "int"},
    {"uint32_t", "unsigned int"},
    {"int64_t", "long"},
    {"uint64_t", "unsigned long"},
    {"pid_t", "int"},
    {"uint", "unsigned int"},
    {"_Bool", "bool"},
    {"string", "basic_string<char>"},
    {"string_view", "basic_string_view<char>"},
    {"wstring", "basic_string<wchar_t>"},
}};

std::vector<std::string> Tokens(std::string_view text) {
  std::vector<std::string> out;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ' || text[i] == '\t') {
      ++i;
      continue;
    }
    size_t end = i + 1;
    if (IsIdentifierPart(text[i])) {
      while (end < text.size() && (IsIdentifierPart(text[end]) ||
                                   (text[end] == ':' && end + 2 < text.size() &&
                                    text[end + 1] == ':' && IsIdentifierPart(text[end + 2])) ||
                                   (text[end] == ':' && text[end - 1] == ':')))
        ++end;
    }
    out.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

bool IsArithmeticWord(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kWords{"unsigned", "signed", "long",  "int",
                                                          "short",    "char",   "double"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// {"long", "unsigned", "int"} → "unsigned long".
std::string ArithmeticName(const std::vector<std::string>& words) {
  int longs = 0;
  bool is_unsigned = false, is_signed = false, is_short = false, is_char = false, is_double = false;
  for (const std::string& word : words) {
    longs += word == "long" ? 1 : 0;
    is_unsigned |= word == "unsigned";
    is_signed |= word == "signed";
    is_short |= word == "short";
    is_char |= word == "char";
    is_double |= word == "double";
  }
  if (is_double) return longs > 0 ? "long double" : "double";
  std::string out = is_unsigned ? "unsigned " : is_char && is_signed ? "signed " : "";
  if (is_char) return out + "char";
  if (is_short) return out + "short";
  // On this platform long and long long have the same size, yet they are different types with different symbols.
  if (longs > 0) return out + (longs == 1 ? "long" : "long long");
  return out + "int";
}

std::string WithoutStd(std::string word) {
  for (const std::string_view prefix : {"struct", "class", "enum", "union"}) {
    if (word == prefix) return {};
  }
  ReplaceAll(word, "std::__cxx11::", "");
  ReplaceAll(word, "std::", "");
  for (const auto& [name, means] : kSynonyms) {
    if (word == name) return std::string(means);
  }
  return word;
}

}  // namespace

namespace {

// Default arguments of templates of the standard library, which people do not write.
bool IsDefaultArgument(std::string_view argument) {
  for (const std::string_view name :
       {"allocator<", "char_traits<", "less<", "hash<", "equal_to<", "default_delete<"}) {
    if (argument.starts_with(name)) return true;
  }
  return false;
}

constexpr int kMaxTypeNameDepth = 32;

std::string CanonicalTypeAt(std::string_view type, int depth);

// "<…>" from tokens[at] on, which is "<"; `at` moves to the bracket that closes it.
std::string CanonicalArguments(const std::vector<std::string>& tokens, size_t& at, int depth) {
  std::string inside;
  int open = 0;
  for (; at < tokens.size(); ++at) {
    if (tokens[at] == "<" && open++ == 0) continue;
    if (tokens[at] == ">" && --open == 0) break;
    inside += (inside.empty() ? "" : " ") + tokens[at];
  }
  std::string out = "<";
  bool first = true;
  for (const std::string& argument : SplitParameters(inside)) {
    const std::string canonical = CanonicalTypeAt(argument, depth + 1);
    if (!first && IsDefaultArgument(canonical)) continue;
    out += (first ? "" : ",") + canonical;
    first = false;
  }
  return out + ">";
}

// "const" in front of a type means the same as behind its first word; there it is put.
std::string CanonicalTypeAt(std::string_view type, int depth) {
  if (depth > kMaxTypeNameDepth) return std::string(type);
  std::string out;
  bool leading_const = false;
  const std::vector<std::string> tokens = Tokens(type);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == "volatile") continue;
    if (tokens[i] == "const") {
      if (out.empty()) {
        leading_const = true;
      } else if (!out.ends_with(" const")) {
        out += " const";
      }
      continue;
    }
    const bool base = out.empty();
    if (IsArithmeticWord(tokens[i])) {
      std::vector<std::string> words;
      for (; i < tokens.size() && (IsArithmeticWord(tokens[i]) || tokens[i] == "const"); ++i) {
        if (tokens[i] == "const") leading_const |= base;
        if (tokens[i] != "const") words.push_back(tokens[i]);
      }
      --i;
      out += ArithmeticName(words);
    } else if (tokens[i] == "<") {
      out += CanonicalArguments(tokens, i, depth);
    } else {
      out += WithoutStd(tokens[i]);
    }
    const bool goes_on = i + 1 < tokens.size() && (tokens[i + 1] == "<" || tokens[i + 1] == ":");
    if (leading_const && !goes_on && !out.empty() && out.back() != ':') {
      out += " const";
      leading_const = false;
    }
  }
  return out;
}

}  // namespace

std::string CanonicalType(std::string_view type) { return CanonicalTypeAt(type, 0); }

std::string Unqualified(std::string_view type) {
  std::string out;
  for (const char c : type) {
    if (c != ':') {
      out += c;
      continue;
    }
    while (!out.empty() && IsIdentifierPart(out.back())) out.pop_back();
  }
  return out;
}

bool SignatureMatches(std::string_view signature, std::string_view parameters) {
  while (!signature.empty() && signature.front() == ' ') signature.remove_prefix(1);
  while (!signature.empty() && signature.back() == ' ') signature.remove_suffix(1);
  if (signature.starts_with('(') && signature.ends_with(')'))
    signature = signature.substr(1, signature.size() - 2);
  const auto wanted = SplitParameters(signature);
  const auto given = SplitParameters(parameters);
  if (wanted.size() != given.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (CanonicalType(wanted[i]) != CanonicalType(given[i])) return false;
  }
  return true;
}

}  // namespace wf::weaver
