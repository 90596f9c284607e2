// A value by reference, as tuples in flight have them: two words to copy, nothing to destroy. It borrows its text from
// the event, from unpacked tuples or from the program, which outlive the run of an advice; what is packed or founds a
// group becomes a Value there. Of an observed list each element has a tuple of its own; the list that flies is a finished
// HISTOGRAM of a sub-query.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "advice/value.h"

namespace wf::advice {

struct Cell {
  enum class Type : uint8_t { kNull, kBool, kInteger, kDouble, kText, kList };
  Type type;
  uint32_t size;  // of text
  union {
    int64_t integer;
    double real;
    bool boolean;
    const char* text;
    const List* list;
  };

  static Cell Null() { return OfInteger(0, Type::kNull); }
  static Cell Of(bool value) {
    Cell cell = OfInteger(0, Type::kBool);
    cell.boolean = value;
    return cell;
  }
  static Cell Of(int64_t value) { return OfInteger(value, Type::kInteger); }
  static Cell Of(double value) {  // null if it is not finite
    Cell cell = OfInteger(0, value - value == 0 ? Type::kDouble : Type::kNull);
    cell.real = value;
    return cell;
  }
  static Cell Of(std::string_view value) {
    Cell cell = OfInteger(0, Type::kText);
    cell.text = value.data();
    cell.size = static_cast<uint32_t>(value.size());
    return cell;
  }
  static Cell Of(const Value& value);  // borrows its text or list

  bool null() const { return type == Type::kNull; }
  bool IsTrue() const { return type == Type::kBool && boolean; }
  std::string_view view() const { return {text, size}; }
  Value ToValue() const;

 private:
  static Cell OfInteger(int64_t value, Type of) {
    Cell cell;
    cell.type = of;
    cell.size = 0;
    cell.integer = value;
    return cell;
  }
};

// As the functions of these names do for two values.
bool SameKey(const Value& a, const Cell& b);
uint64_t HashKey(const Cell& cell);
bool Identical(const Value& a, const Cell& b);
uint64_t HashIdentity(const Cell& cell);

// Texts that an expression has made, for as long as the tuples fly.
class MadeTexts {
 public:
  std::string_view Keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  void Clear() {
    if (!texts_.empty()) texts_.clear();
  }

 private:
  std::deque<std::string> texts_;
};

}  // namespace wf::advice
