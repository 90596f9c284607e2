// One meaning of = != < <= > >= for numbers, texts and truth values.
#pragma once

#include "lang/feature/feature_ast.h"

namespace wf::feature {

template <typename T>
bool Holds(Compare compare, const T& left, const T& right) {
  switch (compare) {
    case Compare::kNe:
      return left != right;
    case Compare::kLt:
      return left < right;
    case Compare::kLe:
      return left <= right;
    case Compare::kGt:
      return left > right;
    case Compare::kGe:
      return left >= right;
    default:
      return left == right;
  }
}

}  // namespace wf::feature
