// Small facts about types that several kinds of stages need.
#pragma once

#include <string>

#include "lang/feature/feature_plan.h"
#include "lang/feature/feature_type.h"

namespace wf::feature {

// Elements that belong to the trace itself, on a path or not.
inline bool IsBlock(Element e) {
  return e == Element::kBlock || e == Element::kPathBlock || e == Element::kSegment;
}
inline bool IsEdge(Element e) { return e == Element::kEdge || e == Element::kPathEdge; }

// One value where there was one element, many where there were many.
inline Type ValuesOf(const Type& elements, ColumnType value) {
  return elements.shape == Shape::kElement ? ValueType(value) : ValuesType(value);
}

inline std::string ItHint(const std::string& stage) {
  return "for each of them: | Map(It | " + stage + ")";
}

}  // namespace wf::feature
