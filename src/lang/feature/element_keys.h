// Keys: what a name means on an element: a property, else a label, else a counter (docs/reference/feature-language.md). Labels are an
// element's own labels, texts and sets, the attributes of its span or span event, and those of its process.
#pragma once

#include <string>
#include <string_view>

#include "lang/feature/element_view.h"
#include "lang/feature/feature_plan.h"

namespace wf::feature {

// Number of the property of that name, or -1.
int PropertyIndex(std::string_view name);
int PropertyCount();  // numbers are below it

struct KeyValue {
  enum class Kind : uint8_t { kNull, kBool, kInt, kDouble, kText } kind = Kind::kNull;
  int64_t integer = 0;  // also a bool's 0 or 1
  double number = 0;
  std::string_view text;
};

// Looks up one key on many elements of one trace.
class KeyReader {
 public:
  KeyReader(ElementView& view, const PlanKey& key);

  KeyValue Read(Element kind, uint32_t index);  // kNull if the element has no such key
  // The first of property, label, counter that is a number or the text of one.
  bool ReadNumber(Element kind, uint32_t index, double& out);
  // As text: numbers in decimals, "true" and "false".
  bool ReadText(Element kind, uint32_t index, std::string_view& out);

 private:
  enum class Wanted { kAny, kNumber };
  KeyValue Find(Element kind, uint32_t index, Wanted wanted);
  KeyValue Property(Element kind, uint32_t index) const;
  bool FindAnnotation(ElementKind element, uint32_t index, bool counters, Wanted wanted,
                      KeyValue& out) const;
  bool FindAttribute(std::string_view packed, Wanted wanted, KeyValue& out) const;
  bool FindProcessAttribute(uint32_t process, Wanted wanted, KeyValue& out) const;

  ElementView& view_;
  const PlanKey& key_;
  uint32_t code_;  // of the key in the batch's strings; UINT32_MAX: no attribute has this name
};

// Whether `value` is a number, or the text of one.
bool NumberOf(const KeyValue& value, double& out);
// As text; computed texts are kept in the view.
std::string_view TextOf(const KeyValue& value, ElementView& view);
std::string NumberText(double number);

}  // namespace wf::feature
