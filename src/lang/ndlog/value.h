// Values and tuples of network datalog, as stored, compared and written. The text of a tuple, link(@a,b,5), is the
// same in inputs, tables and provenance.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace wf::ndlog {

class Value;
using List = std::vector<Value>;

// Lists are shared, so a list of a few elements may be larger than any memory once it is written out,
// compared or hashed: [L, L] doubles at every step. The size written out is what counts.
struct ListNode;
// Of a text or list made by a program: elements and characters.
constexpr uint64_t kHeaviest = 1 << 20;
constexpr uint32_t kDeepestList = 64;  // max nesting of lists, which are walked recursively

// null, bool, int, double, text or list. Node names are texts. Copies are cheap: lists are shared and never change.
class Value {
 public:
  Value() = default;
  explicit Value(bool value) : state_(value) {}
  explicit Value(int64_t value) : state_(value) {}
  explicit Value(double value) : state_(value) {}
  explicit Value(std::string text) : state_(std::move(text)) {}
  explicit Value(List list);

  const bool* Bool() const { return std::get_if<bool>(&state_); }
  const int64_t* Int() const { return std::get_if<int64_t>(&state_); }
  const double* Double() const { return std::get_if<double>(&state_); }
  const std::string* Text() const { return std::get_if<std::string>(&state_); }
  const List* AsList() const;
  bool IsNumber() const { return Int() != nullptr || Double() != nullptr; }
  double Number() const { return Int() != nullptr ? static_cast<double>(*Int()) : *Double(); }

  // A total order: null, booleans, numbers (1 equals 1.0), texts, lists.
  int Compare(const Value& other) const;
  bool operator==(const Value& other) const { return Compare(other) == 0; }
  bool operator<(const Value& other) const { return Compare(other) < 0; }
  uint64_t Hash() const;  // equal values, equal hashes; the same on every machine
  void Append(std::string& out) const;
  std::string Shown() const;
  std::string Clipped() const;  // for a message: the beginning, if it is long
  uint64_t Weight() const;      // elements and characters, written out; at least 1
  uint32_t Depth() const;       // 0: no list

 private:
  int Rank() const;
  std::variant<std::monostate, bool, int64_t, double, std::string, std::shared_ptr<const ListNode>>
      state_;
};

struct ListNode {
  List items;
  uint64_t weight = 1;
  uint32_t depth = 1;
};

inline const List* Value::AsList() const {
  const auto* list = std::get_if<std::shared_ptr<const ListNode>>(&state_);
  return list == nullptr ? nullptr : &(*list)->items;
}

uint64_t WeightOf(const List& values);

struct Tuple {
  std::string name;
  List values;
  int location = 0;  // the index of the node among the values; -1: unknown
};

uint64_t HashOf(const List& values);
std::string TupleText(std::string_view name, const List& values, int location);
// link(@a, b, 5): any spacing; names need no quotes unless they look like something else.
Result<Tuple> ParseTuple(std::string_view text);

}  // namespace wf::ndlog
