#include "lang/query/rows_json.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace wf::query {

// std::to_chars finds the fewest digits, but it would write 1e+05 for 100000, which is unusual.
std::string DoubleText(double value) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = text.find('e');
  if (e == std::string_view::npos) return "null";  // not finite: values of queries never are
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  constexpr int kLeast = -5, kMost = 16;
  if (exponent < kLeast || exponent >= kMost) return std::string(text);
  std::string digits;
  for (const char c : text.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  std::string out = text.front() == '-' ? "-" : "";
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

void WriteValue(JsonWriter& json, const advice::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    json.Bool(*flag);
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    json.Int(*whole);
  } else if (const auto* number = std::get_if<double>(&value)) {
    json.Raw(DoubleText(*number));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    json.String(*text);
  } else if (const auto* list = std::get_if<advice::List>(&value)) {
    json.BeginArray();
    for (const advice::Value& element : *list) WriteValue(json, element);
    json.EndArray();
  } else {
    json.Null();
  }
}

void WriteRows(JsonWriter& json, const std::vector<advice::Tuple>& rows) {
  json.BeginArray();
  for (const advice::Tuple& row : rows) {
    json.BeginArray();
    for (const advice::Value& value : row) WriteValue(json, value);
    json.EndArray();
  }
  json.EndArray();
}

void SortRows(std::vector<advice::Tuple>& rows) {
  std::sort(rows.begin(), rows.end(), [](const advice::Tuple& a, const advice::Tuple& b) {
    for (size_t i = 0; i < a.size() && i < b.size(); ++i)
      if (const int order = advice::Compare(a[i], b[i]); order != 0) return order < 0;
    // 1 and 1.0 are equal; the integer goes first, so that every plan writes the same bytes.
    for (size_t i = 0; i < a.size() && i < b.size(); ++i)
      if (a[i].index() != b[i].index()) return a[i].index() < b[i].index();
    return a.size() < b.size();
  });
}

}  // namespace wf::query
