#include "lang/ndlog/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/hash.h"

namespace wf::ndlog {
namespace {

constexpr int kNumberRank = 2;

int Sign(int64_t a, int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// What a bare word may not contain, because the tuple's own signs are there.
bool EndsWord(char c) {
  return IsSpace(c) || std::string_view(",()[]\"@").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) < 0x20;
}

std::optional<Value> WordAsOther(std::string_view word) {
  if (word == "true") return Value(true);
  if (word == "false") return Value(false);
  if (word == "null") return Value();
  if (word == "infinity") return Value(HUGE_VAL);
  if (word == "-infinity") return Value(-HUGE_VAL);
  const char* end = word.data() + word.size();
  int64_t whole = 0;
  const auto as_int = std::from_chars(word.data(), end, whole);
  if (as_int.ec == std::errc() && as_int.ptr == end) return Value(whole);
  const char first = word.empty() ? 'x' : word[word[0] == '-' && word.size() > 1 ? 1 : 0];
  if (first < '0' || first > '9') return std::nullopt;  // nan, inf and the like are names
  double number = 0;
  const auto as_double = std::from_chars(word.data(), end, number);
  if (as_double.ec == std::errc() && as_double.ptr == end) return Value(number);
  return std::nullopt;
}

void AppendText(const std::string& text, std::string& out) {
  bool bare = !text.empty() && !WordAsOther(text).has_value();
  for (const char c : text) bare = bare && !EndsWord(c);
  if (bare) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  out += '"';
}

class TupleReader {
 public:
  explicit TupleReader(std::string_view text) : text_(text) {}

  Result<Tuple> Read() {
    Tuple tuple;
    tuple.location = -1;
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && !EndsWord(text_[at_])) ++at_;
    tuple.name = text_.substr(begin, at_ - begin);
    if (tuple.name.empty()) return Wrong("a tuple starts with its name");
    SkipSpace();
    if (!Take('(')) return Wrong("( is missing behind the name");
    SkipSpace();
    if (!Take(')')) {
      while (true) {
        SkipSpace();
        if (Take('@')) {
          if (tuple.location < 0) tuple.location = static_cast<int>(tuple.values.size());
        }
        WF_ASSIGN(Value value, ReadValue(0));
        tuple.values.push_back(std::move(value));
        SkipSpace();
        if (Take(')')) break;
        if (!Take(',')) return Wrong(", or ) is missing");
      }
    }
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == '.') ++at_;  // as in a program
    SkipSpace();
    if (at_ < text_.size()) return Wrong("something stands behind the tuple");
    return tuple;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Error Wrong(std::string_view what) const {
    return BadInput(fmt::format("tuple {}: at character {}: {}", text_, at_ + 1, what),
                    "a tuple looks like link(@a,b,5)");
  }

  Result<Value> ReadValue(int depth) {
    SkipSpace();
    if (Take('[')) {
      if (depth >= static_cast<int>(kDeepestList)) return Wrong("lists too deep");
      List list;
      SkipSpace();
      if (Take(']')) return Value(std::move(list));
      while (true) {
        WF_ASSIGN(Value value, ReadValue(depth + 1));
        list.push_back(std::move(value));
        SkipSpace();
        if (Take(']')) return Value(std::move(list));
        if (!Take(',')) return Wrong(", or ] is missing");
      }
    }
    if (Take('"')) return ReadQuoted();
    const size_t begin = at_;
    while (at_ < text_.size() && !EndsWord(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return Wrong("a value is missing");
    if (auto other = WordAsOther(word)) return *other;
    return Value(std::string(word));
  }

  Result<Value> ReadQuoted() {
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      out += c;
    }
    if (!Take('"')) return Wrong("unclosed text");
    return Value(std::move(out));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Value::Value(List list) {
  auto node = std::make_shared<ListNode>();
  for (const Value& value : list) {
    node->weight += value.Weight();
    node->depth = std::max(node->depth, value.Depth() + 1);
  }
  node->items = std::move(list);
  state_ = std::shared_ptr<const ListNode>(std::move(node));
}

uint64_t Value::Weight() const {
  if (const auto* list = std::get_if<std::shared_ptr<const ListNode>>(&state_))
    return (*list)->weight;
  return Text() == nullptr ? 1 : 1 + Text()->size();
}

uint32_t Value::Depth() const {
  const auto* list = std::get_if<std::shared_ptr<const ListNode>>(&state_);
  return list == nullptr ? 0 : (*list)->depth;
}

uint64_t WeightOf(const List& values) {
  uint64_t weight = 0;
  for (const Value& value : values) weight += value.Weight();
  return weight;
}

std::string Value::Clipped() const {
  constexpr size_t kMost = 200;
  std::string text = Shown();
  if (text.size() <= kMost) return text;
  text.resize(kMost);
  return text + "…";
}

int Value::Rank() const {
  switch (state_.index()) {
    case 0:
    case 1:
      return static_cast<int>(state_.index());
    case 2:
    case 3:
      return kNumberRank;
    default:
      return static_cast<int>(state_.index());
  }
}

int Value::Compare(const Value& other) const {
  if (Rank() != other.Rank()) return Rank() < other.Rank() ? -1 : 1;
  if (const auto* a = Bool()) return Sign(*a ? 1 : 0, *other.Bool() ? 1 : 0);
  if (Int() != nullptr && other.Int() != nullptr) return Sign(*Int(), *other.Int());
  if (IsNumber()) {
    const double a = Number(), b = other.Number();
    return a < b ? -1 : a > b ? 1 : 0;
  }
  if (const auto* a = Text()) {
    const int order = a->compare(*other.Text());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (const List* a = AsList()) {
    const List& b = *other.AsList();
    for (size_t i = 0; i < a->size() && i < b.size(); ++i) {
      if (const int order = (*a)[i].Compare(b[i]); order != 0) return order;
    }
    return Sign(static_cast<int64_t>(a->size()), static_cast<int64_t>(b.size()));
  }
  return 0;
}

uint64_t Value::Hash() const {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ull;
  if (const auto* b = Bool()) return MixBits(*b ? 2 : 1);
  if (IsNumber()) {  // by the double, so that 1 and 1.0 agree; large integers may collide, no more
    const double number = Number() == 0 ? 0.0 : Number();
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return MixBits(bits + kOdd);
  }
  if (const auto* text = Text()) return HashBytes(*text, 5);
  if (const List* list = AsList()) return HashOf(*list) + 7;
  return MixBits(kOdd);
}

uint64_t HashOf(const List& values) {
  uint64_t hash = values.size();
  for (const Value& value : values) hash = MixBits(hash * 31 + value.Hash());
  return hash;
}

void Value::Append(std::string& out) const {
  if (const auto* b = Bool()) {
    out += *b ? "true" : "false";
  } else if (const auto* whole = Int()) {
    out += std::to_string(*whole);
  } else if (const auto* number = Double()) {
    if (std::isinf(*number)) {
      out += *number < 0 ? "-infinity" : "infinity";
      return;
    }
    std::string text = fmt::format("{}", *number);
    // 3.0 stays a double when it is read again.
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    out += text;
  } else if (const auto* text = Text()) {
    AppendText(*text, out);
  } else if (const List* list = AsList()) {
    out += '[';
    for (size_t i = 0; i < list->size(); ++i) {
      if (i > 0) out += ',';
      (*list)[i].Append(out);
    }
    out += ']';
  } else {
    out += "null";
  }
}

std::string Value::Shown() const {
  std::string out;
  Append(out);
  return out;
}

std::string TupleText(std::string_view name, const List& values, int location) {
  std::string out(name);
  out += '(';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    if (static_cast<int>(i) == location) out += '@';
    values[i].Append(out);
  }
  out += ')';
  return out;
}

Result<Tuple> ParseTuple(std::string_view text) { return TupleReader(text).Read(); }

}  // namespace wf::ndlog
