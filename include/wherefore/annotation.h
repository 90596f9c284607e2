// What an event carries about its element: `label|message|counter|set|stack:NAME[:UNIT]` and a value (Canopy
// §3.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace wherefore {

// A typed value, borrowed for the duration of the call it is passed to.
class LabelValue {
 public:
  enum class Type : uint8_t { kString, kBool, kInt, kDouble };

  LabelValue(std::string_view text) : type_(Type::kString), text_(text) {}    // NOLINT
  LabelValue(const char* text) : type_(Type::kString), text_(text) {}         // NOLINT
  LabelValue(const std::string& text) : type_(Type::kString), text_(text) {}  // NOLINT
  LabelValue(double number) : type_(Type::kDouble), double_(number) {}        // NOLINT
  template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
  LabelValue(T number)  // NOLINT
      : type_(std::is_same<T, bool>::value ? Type::kBool : Type::kInt),
        int_(static_cast<int64_t>(number)) {}

  Type type() const { return type_; }
  std::string_view text() const { return text_; }
  int64_t integer() const { return int_; }
  double real() const { return double_; }

 private:
  Type type_;
  std::string_view text_;
  int64_t int_ = 0;
  double double_ = 0;
};

struct Label {
  std::string_view key;
  LabelValue value;
};

enum class AnnotationKind : uint8_t {
  kLabel = 0,
  kMessage,
  kCounter,
  kSet,    // values joined by ","
  kStack,  // frames joined by ";", the outermost first
  // The kinds below are private to the library.
  kName = 16,
  kBlockKind,
  kStatus,  // value: BlockKind's and Outcome's number; name: the error
  kFrames,  // a stack as raw addresses, the innermost first
};

struct Annotation {
  AnnotationKind kind;
  std::string_view name;
  LabelValue value;
  std::string_view unit = {};  // for a counter
};

}  // namespace wherefore
