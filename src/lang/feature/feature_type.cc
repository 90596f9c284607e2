#include "lang/feature/feature_type.h"

namespace wf::feature {
namespace {

struct Words {
  const char* one;
  const char* many;
};
constexpr Words kElementWords[] = {
    {"the trace", "traces"},
    {"one execution unit", "execution units"},
    {"one block", "blocks"},
    {"one point", "points"},
    {"one edge", "edges"},
    {"a critical path", "critical paths"},
    {"one block of the path", "blocks of the path"},
    {"one edge of the path", "edges of the path"},
    {"one segment", "segments"},
    {"one gap", "gaps"},
};
constexpr Words kValueWords[] = {{"true or false", "truth values"},
                                 {"a whole number", "whole numbers"},
                                 {"a number", "numbers"},
                                 {"a text", "texts"},
                                 {"a stack", "stacks"}};

}  // namespace

std::string TypeName(const Type& type) {
  const Words& element = kElementWords[static_cast<size_t>(type.element)];
  const Words& value = kValueWords[static_cast<size_t>(type.value)];
  switch (type.shape) {
    case Shape::kValue:
      return value.one;
    case Shape::kValues:
      return std::string("many ") + value.many;
    case Shape::kElement:
      return element.one;
    case Shape::kElements:
      return element.many;
    case Shape::kGroup:
      return std::string("a group of ") + element.many;
    case Shape::kGroups:
      return std::string("groups of ") + element.many;
  }
  return "";
}

}  // namespace wf::feature
