#include "json/json_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.h"

namespace wf {
namespace {

using simdjson::internal::tape_ref;
using simdjson::internal::tape_type;

tape_ref Ref(const void* document, size_t index) {
  return tape_ref(static_cast<const simdjson::dom::document*>(document), index);
}

// Numbers as texts: the whole text or nothing.
template <typename T>
std::optional<T> WholeNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Half a surrogate pair, written as an escape, is what JavaScript makes of a text cut in the middle of a character:
// it becomes U+FFFD, like other bytes that are no character. Returns whether there was any.
bool RepairSurrogateEscapes(std::string& text) {
  const auto unit_at = [&](size_t at) -> unsigned {
    unsigned value = 0;
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
    const auto [end, error] =
        std::from_chars(text.data() + at + 2, text.data() + at + 6, value, 16);
    return error == std::errc() && end == text.data() + at + 6 ? value : 0;
  };
  bool found = false;
  for (size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
    const unsigned unit = unit_at(at);
    if (unit < 0xD800 || unit > 0xDFFF) {
      at += 2;
      continue;
    }
    const unsigned low = unit <= 0xDBFF ? unit_at(at + 6) : 0;
    if (low >= 0xDC00 && low <= 0xDFFF) {
      at += 12;
      continue;
    }
    text.replace(at, 6, "\\ufffd");
    at += 6;
    found = true;
  }
  return found;
}

}  // namespace

JsonType JsonValue::type() const {
  if (document_ == nullptr) return JsonType::kMissing;
  switch (Ref(document_, index_).tape_ref_type()) {
    case tape_type::START_ARRAY:
      return JsonType::kArray;
    case tape_type::START_OBJECT:
      return JsonType::kObject;
    case tape_type::STRING:
      return JsonType::kString;
    case tape_type::INT64:
      return JsonType::kInt;
    case tape_type::UINT64:
      return JsonType::kUint;
    case tape_type::DOUBLE:
      return JsonType::kDouble;
    case tape_type::TRUE_VALUE:
    case tape_type::FALSE_VALUE:
      return JsonType::kBool;
    default:
      return JsonType::kNull;
  }
}

std::string_view JsonValue::String() const {
  return IsString() ? Ref(document_, index_).get_string_view() : std::string_view();
}

bool JsonValue::Bool() const { return document_ != nullptr && Ref(document_, index_).is_true(); }

std::optional<int64_t> JsonValue::Int() const {
  switch (type()) {
    case JsonType::kInt:
      return Ref(document_, index_).next_tape_value<int64_t>();
    case JsonType::kDouble: {
      const double number = Ref(document_, index_).next_tape_value<double>();
      // Above 2^53 a double no longer tells one integer from the next.
      if (std::abs(number) > 9007199254740992.0 || number != std::floor(number))
        return std::nullopt;
      return static_cast<int64_t>(number);
    }
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> JsonValue::IntOrText() const {
  return IsString() ? WholeNumber<int64_t>(String()) : Int();
}

std::optional<uint64_t> JsonValue::UintOrText() const {
  if (IsString()) return WholeNumber<uint64_t>(String());
  if (type() == JsonType::kUint) return Ref(document_, index_).next_tape_value<uint64_t>();
  const std::optional<int64_t> number = Int();
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

std::optional<double> JsonValue::Number() const {
  switch (type()) {
    case JsonType::kInt:
      return static_cast<double>(Ref(document_, index_).next_tape_value<int64_t>());
    case JsonType::kUint:
      return static_cast<double>(Ref(document_, index_).next_tape_value<uint64_t>());
    case JsonType::kDouble:
      return Ref(document_, index_).next_tape_value<double>();
    default:
      return std::nullopt;
  }
}

std::optional<double> JsonValue::NumberOrText() const {
  if (!IsString()) return Number();
  const std::string_view text = String();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return WholeNumber<double>(text);
}

JsonValue JsonValue::Get(std::string_view key) const {
  if (!IsObject()) return {};
  const size_t end = ContentEnd();
  for (size_t at = index_ + 1; at != end; at = JsonValue(document_, at + 1).After()) {
    if (Ref(document_, at).get_string_view() == key) return {document_, at + 1};
  }
  return {};
}

JsonValue JsonValue::Get(std::string_view key, std::string_view other) const {
  const JsonValue value = Get(key);
  return value.missing() ? Get(other) : value;
}

size_t JsonValue::size() const {
  return IsArray() || IsObject() ? Ref(document_, index_).scope_count() : 0;
}

size_t JsonValue::After() const { return Ref(document_, index_).after_element(); }
size_t JsonValue::ContentEnd() const { return Ref(document_, index_).matching_brace_index() - 1; }

struct JsonParser::Impl {
  simdjson::dom::parser parser;
  std::string padded;
};

JsonParser::JsonParser() : impl_(std::make_unique<Impl>()) {}
JsonParser::~JsonParser() = default;
JsonParser::JsonParser(JsonParser&&) noexcept = default;
JsonParser& JsonParser::operator=(JsonParser&&) noexcept = default;

Result<JsonValue> JsonParser::Parse(std::string_view text, const JsonLimits& limits) {
  repaired_ = false;
  if (text.size() > limits.max_bytes) {
    return BadInput(
        fmt::format("JSON text of {} bytes is larger than {}", text.size(), limits.max_bytes),
        "split it into smaller files or requests");
  }
  // simdjson reads a little past the end, so the text is copied behind which we own the bytes. The copy is a tenth of
  // the parsing.
  std::string& padded = impl_->padded;
  padded.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  padded.assign(text);
  // The depth is fixed when the parser allocates; grow by doubling, as lines of a file differ in size.
  simdjson::dom::parser& parser = impl_->parser;
  const auto parse = [&]() -> simdjson::error_code {
    if (parser.capacity() < padded.size() || parser.max_depth() != limits.max_depth) {
      const size_t capacity = std::max<size_t>({padded.size(), parser.capacity() * 2, 4096});
      if (const auto error = parser.allocate(capacity, limits.max_depth)) return error;
    }
    return parser.parse(padded.data(), padded.size(), /*realloc_if_needed=*/false).error();
  };
  simdjson::error_code error = parse();
  if (error == simdjson::UTF8_ERROR && limits.repair_utf8) {
    padded = RepairUtf8(text);
    padded.reserve(padded.size() + simdjson::SIMDJSON_PADDING);
    repaired_ = true;
    error = parse();
  }
  if (error == simdjson::STRING_ERROR && limits.repair_utf8 && RepairSurrogateEscapes(padded)) {
    repaired_ = true;
    error = parse();
  }
  if (error == simdjson::SUCCESS) return JsonValue(&parser.doc, 1);
  const std::string hint = "check that the text is whole and is JSON";
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
    return EnvironmentError(
        fmt::format("JSON text of {} bytes: not enough memory to parse it", text.size()),
        "split it into smaller files or requests");
  }
  if (const auto fault = FindJsonFault(text, limits)) {
    const auto line =
        1 +
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(fault->offset), '\n');
    return BadInput(
        fmt::format("JSON: {} at byte {} (line {})", fault->reason, fault->offset, line), hint);
  }
  return BadInput(
      fmt::format("JSON: {} (between bytes 0 and {})", simdjson::error_message(error), text.size()),
      hint);
}

}  // namespace wf
