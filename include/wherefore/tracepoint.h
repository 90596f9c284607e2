// Compiled-in tracepoints: places where queries can read values in a running program (Pivot Tracing §3).
//
//   WHEREFORE_TRACEPOINT("DataNodeMetrics.incrBytesRead", {"delta", delta}, {"block", block_id});
//
// While no query uses it, a tracepoint costs a load and a branch that is not taken; its fields are not
// evaluated. While a query uses it, the query's advice runs here, on this thread: it reads the fields, packs
// into and unpacks from the request's baggage (baggage.h), and aggregates what it emits. A background thread
// reports the results each interval. Every tracepoint also has host, time, procName, procId and tracepoint.
//
// The name is a string literal; several places may share it. Field names are literals too, so they are
// reported to the server before the tracepoint is first hit. A field is an integer, a double, a bool, a
// string, or a vector of one of these; a query sees one tuple for each element of a vector.
//
// Queries arrive over the control connection of the process's Tracer (tracer.h). Tracepoints stay off without
// a Tracer, and with WHEREFORE_QUERIES=off in the environment. Do not use them in signal handlers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wherefore/api.h"

namespace wherefore {

// A value, borrowed for the duration of the call.
class FieldValue {
 public:
  enum class Type : uint8_t { kInteger, kUnsigned, kDouble, kBool, kText };

  template <typename T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>, int> = 0>
  FieldValue(T value)  // NOLINT(google-explicit-constructor)
      : type_(std::is_same_v<T, bool> ? Type::kBool
              : std::is_unsigned_v<T> ? Type::kUnsigned
                                      : Type::kInteger),
        integer_(static_cast<int64_t>(value)) {}
  FieldValue(double value) : type_(Type::kDouble), real_(value) {}  // NOLINT
  FieldValue(std::string_view text)                                 // NOLINT
      : type_(Type::kText), data_(text.data()), size_(text.size()) {}
  FieldValue(const std::string& text) : FieldValue(std::string_view(text)) {}  // NOLINT
  FieldValue(const char* text)                                                 // NOLINT
      : FieldValue(text != nullptr ? std::string_view(text) : std::string_view()) {}
  template <typename T>
  FieldValue(const std::vector<T>& list)  // NOLINT(google-explicit-constructor)
      : type_(FieldValue(T()).type_),
        width_(sizeof(T)),
        text_(std::is_same_v<T, std::string>   ? TextForm::kString
              : std::is_same_v<T, const char*> ? TextForm::kPointer
                                               : TextForm::kView),
        data_(list.data()),
        size_(list.size()) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements to point to");
  }

  bool list() const { return width_ != 0; }
  Type type() const { return type_; }
  size_t size() const { return size_; }  // of a list
  int64_t integer() const { return integer_; }
  double real() const { return real_; }
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }
  // Element `index` of a list; call only the one that matches the type.
  int64_t IntegerAt(size_t index) const;
  double RealAt(size_t index) const;
  std::string_view TextAt(size_t index) const;

 private:
  enum class TextForm : uint8_t { kView, kString, kPointer };
  Type type_;
  uint8_t width_ = 0;  // of an element; 0: not a list
  TextForm text_ = TextForm::kView;
  union {
    int64_t integer_ = 0;
    double real_;
  };
  const void* data_ = nullptr;
  size_t size_ = 0;
};

struct TracepointField {
  std::string_view name;
  FieldValue value;
};

namespace internal {

// One place in the program. Constant-initialised, so that it may be hit while other static objects are
// constructed.
struct Tracepoint {
  const char* name;
  const char* fields;  // the text of the macro's arguments, which contains the names
  std::atomic<const void*> woven{nullptr};  // client::WovenAdvice; null: off
  Tracepoint* next = nullptr;               // of the registry

  constexpr Tracepoint(const char* tracepoint, const char* text) : name(tracepoint), fields(text) {}
};

WHEREFORE_API bool RegisterTracepoint(Tracepoint& tracepoint) noexcept;
WHEREFORE_API void HitTracepoint(const Tracepoint& tracepoint,
                                 std::initializer_list<TracepointField> fields) noexcept;

// A static member registers the tracepoint before main, or when its library is loaded, even if the place is
// never reached.
template <typename Site>
struct TracepointOf {
  static Tracepoint point;
  static const bool registered;
};
template <typename Site>
Tracepoint TracepointOf<Site>::point{Site::Name(), Site::Fields()};
template <typename Site>
const bool TracepointOf<Site>::registered = RegisterTracepoint(TracepointOf<Site>::point);

}  // namespace internal
}  // namespace wherefore

#define WHEREFORE_TRACEPOINT(tracepoint_name, ...)                                                 \
  do {                                                                                             \
    struct WhereforeSite {                                                                         \
      static constexpr const char* Name() { return "" tracepoint_name; }                           \
      static constexpr const char* Fields() { return "" #__VA_ARGS__; }                            \
    };                                                                                             \
    using WhereforePoint = ::wherefore::internal::TracepointOf<WhereforeSite>;                     \
    (void)&WhereforePoint::registered;                                                             \
    if (__builtin_expect(WhereforePoint::point.woven.load(::std::memory_order_relaxed) != nullptr, \
                         0)) {                                                                     \
      ::wherefore::internal::HitTracepoint(WhereforePoint::point, {__VA_ARGS__});                  \
    }                                                                                              \
  } while (false)
