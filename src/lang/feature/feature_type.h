// The types of the feature language: elements of the trace, values, sequences and groups of them.
#pragma once

#include <cstdint>
#include <string>

#include "model/dataset_table.h"

namespace wf::feature {

enum class Element : uint8_t {
  kTrace,
  kUnit,
  kBlock,
  kPoint,
  kEdge,
  kPath,       // the result of CriticalPath
  kPathBlock,  // a block with its time on a path
  kPathEdge,   // an edge likewise
  kSegment,    // of a path
  kGap,        // an interval in which nothing runs
};

enum class Shape : uint8_t {
  kValue,     // one bool, number, text or stack
  kValues,    // many
  kElement,   // one element
  kElements,  // many: ordered by (start, id), no duplicates
  kGroup,     // elements that share a key
  kGroups,    // of GroupBy
};

struct Type {
  Shape shape = Shape::kValue;
  Element element = Element::kTrace;    // of kElement, kElements, kGroup, kGroups
  ColumnType value = ColumnType::kInt;  // of kValue, kValues
  bool distinct = false;  // from Distinct: stands for its count where one value is needed
  bool operator==(const Type&) const = default;

  bool is_value() const { return shape == Shape::kValue || shape == Shape::kValues; }
  bool is_element() const { return shape == Shape::kElement || shape == Shape::kElements; }
  bool is_group() const { return shape == Shape::kGroup || shape == Shape::kGroups; }
  bool is_number() const {
    return is_value() && (value == ColumnType::kInt || value == ColumnType::kDouble);
  }
  bool is_bool() const { return is_value() && value == ColumnType::kBool; }
  bool is_text() const {
    return is_value() && (value == ColumnType::kText || value == ColumnType::kStack);
  }
  // Many items per lane: elements, the members of a group, values.
  bool is_many() const {
    return shape == Shape::kValues || shape == Shape::kElements || shape == Shape::kGroup;
  }
};

inline Type ValueType(ColumnType value) { return {Shape::kValue, Element::kTrace, value}; }
inline Type ValuesType(ColumnType value) { return {Shape::kValues, Element::kTrace, value}; }
inline Type OneType(Element element) { return {Shape::kElement, element}; }
inline Type ManyType(Element element) { return {Shape::kElements, element}; }

// For messages: "one block", "blocks", "a number", "numbers", "groups of edges".
std::string TypeName(const Type& type);

}  // namespace wf::feature
