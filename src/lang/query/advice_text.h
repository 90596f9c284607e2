// Advice in words. Columns are called by the variables they were made of; a name is qualified by its alias only if
// another advice of the query observes a variable of that name too.
#pragma once

#include <string>
#include <vector>

#include "lang/query/compile.h"

namespace wf::query {

// Of each advice its steps: "OBSERVE procName", "PACK-FIRST procName", …
std::vector<std::vector<std::string>> AdviceText(const Compiled& compiled);

}  // namespace wf::query
