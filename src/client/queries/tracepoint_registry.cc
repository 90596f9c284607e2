#include "client/queries/tracepoint_registry.h"

#include <algorithm>
#include <atomic>
#include <map>

namespace wherefore {
namespace client {
namespace {

// Plain memory that needs no constructor: the first registration may come before any of ours has run.
std::atomic<internal::Tracepoint*> first{nullptr};
std::atomic<uint64_t> registered{0};

// The position after the literal that begins at `at`, its text in `text`.
size_t TakeLiteral(std::string_view source, size_t at, std::string& text) {
  for (++at; at < source.size() && source[at] != '"'; ++at) {
    if (source[at] == '\\' && at + 1 < source.size()) ++at;
    text.push_back(source[at]);
  }
  return at + 1;
}

}  // namespace

internal::Tracepoint* FirstTracepoint() { return first.load(std::memory_order_acquire); }
uint64_t TracepointCount() { return registered.load(std::memory_order_acquire); }

std::vector<std::string> FieldNames(std::string_view text) {
  std::vector<std::string> names;
  int depth = 0;
  bool opened = false;  // right behind a brace of the outermost level
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      std::string literal;
      at = TakeLiteral(text, at, literal);
      if (opened) names.push_back(std::move(literal));
      opened = false;
      continue;
    }
    if (c == '{' || c == '(') {
      opened = c == '{' && depth == 0;
      ++depth;
    } else if (c == '}' || c == ')') {
      --depth;
      opened = false;
    } else if (c != ' ') {
      opened = false;
    }
    ++at;
  }
  return names;
}

std::vector<TracepointKind> TracepointKinds() {
  std::map<std::string, std::vector<std::string>> by_name;
  for (const internal::Tracepoint* point = FirstTracepoint(); point != nullptr;
       point = point->next) {
    std::vector<std::string>& exports = by_name[point->name];
    for (std::string& name : FieldNames(point->fields)) {
      if (std::find(exports.begin(), exports.end(), name) == exports.end())
        exports.push_back(std::move(name));
    }
  }
  std::vector<TracepointKind> kinds;
  for (auto& [name, exports] : by_name) kinds.push_back({name, std::move(exports)});
  return kinds;
}

}  // namespace client

namespace internal {

bool RegisterTracepoint(Tracepoint& tracepoint) noexcept {
  Tracepoint* head = client::first.load(std::memory_order_relaxed);
  do {
    tracepoint.next = head;
  } while (!client::first.compare_exchange_weak(head, &tracepoint, std::memory_order_release,
                                                std::memory_order_relaxed));
  client::registered.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace internal

namespace {

template <typename Narrow>
int64_t ElementAt(const void* data, size_t index) {
  return static_cast<int64_t>(static_cast<const Narrow*>(data)[index]);
}

}  // namespace

int64_t FieldValue::IntegerAt(size_t index) const {
  const bool negative = type_ == Type::kInteger;  // may be
  switch (width_) {
    case 1:
      return negative ? ElementAt<int8_t>(data_, index) : ElementAt<uint8_t>(data_, index);
    case 2:
      return negative ? ElementAt<int16_t>(data_, index) : ElementAt<uint16_t>(data_, index);
    case 4:
      return negative ? ElementAt<int32_t>(data_, index) : ElementAt<uint32_t>(data_, index);
    default:
      return ElementAt<int64_t>(data_, index);
  }
}

double FieldValue::RealAt(size_t index) const {
  return width_ == sizeof(float) ? static_cast<double>(static_cast<const float*>(data_)[index])
                                 : static_cast<const double*>(data_)[index];
}

std::string_view FieldValue::TextAt(size_t index) const {
  switch (text_) {
    case TextForm::kString:
      return static_cast<const std::string*>(data_)[index];
    case TextForm::kPointer: {
      const char* const text = static_cast<const char* const*>(data_)[index];
      return text != nullptr ? std::string_view(text) : std::string_view();
    }
    default:
      return static_cast<const std::string_view*>(data_)[index];
  }
}

}  // namespace wherefore
