// Errors as values. A fallible function returns Result<T> (or Status when there is no value); nothing throws across
// a folder's border. An Error names the object, the reason and the next step, because it is shown to a person as is.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace wf {

// The exit codes of the command line and the classes of HTTP answers are derived from these.
enum class ErrorCode {
  kNotFound,     // there is no answer: unknown trace, unrelated points (exit 1, 404)
  kBadInput,     // usage, malformed query or input (exit 2, 400)
  kEnvironment,  // disk, network, missing library (exit 3, 500)
  kOverloaded,   // try again later (exit 3, 429/503)
  kDenied,       // not allowed (exit 3, 401/403)
};

struct Error {
  ErrorCode code = ErrorCode::kEnvironment;
  std::string message;  // object and reason: "trace 00ab…: not in this store"
  std::string hint;     // next step: "wherefore traces lists what is there"
};

inline Error NotFound(std::string message, std::string hint = {}) {
  return {ErrorCode::kNotFound, std::move(message), std::move(hint)};
}
inline Error BadInput(std::string message, std::string hint = {}) {
  return {ErrorCode::kBadInput, std::move(message), std::move(hint)};
}
inline Error EnvironmentError(std::string message, std::string hint = {}) {
  return {ErrorCode::kEnvironment, std::move(message), std::move(hint)};
}
inline Error Overloaded(std::string message, std::string hint = {}) {
  return {ErrorCode::kOverloaded, std::move(message), std::move(hint)};
}
inline Error Denied(std::string message, std::string hint = {}) {
  return {ErrorCode::kDenied, std::move(message), std::move(hint)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace wf

// Returns the error of `expr` (a Status or Result) from the enclosing function.
#define WF_TRY(expr)                                 \
  do {                                               \
    auto wf_status_ = (expr);                        \
    if (!wf_status_.ok()) return wf_status_.error(); \
  } while (false)

#define WF_CONCAT_INNER(a, b) a##b
#define WF_CONCAT(a, b) WF_CONCAT_INNER(a, b)
// WF_ASSIGN(auto x, F()): x = value of F(), or returns its error.
#define WF_ASSIGN(lhs, expr) WF_ASSIGN_INNER(WF_CONCAT(wf_result_, __LINE__), lhs, expr)
#define WF_ASSIGN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                    \
  if (!tmp.ok()) return tmp.error();    \
  lhs = std::move(tmp).value()
