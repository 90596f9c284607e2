// Advice as text. Columns are named after the variables they were made from; a name is qualified by its alias
// only if another advice of the query observes a variable of the same name.
#pragma once

#include <string>
#include <vector>

#include "lang/query/compile.h"

namespace wf::query {

// The steps of each advice: "OBSERVE procName", "PACK-FIRST procName", …
std::vector<std::vector<std::string>> AdviceText(const Compiled& compiled);

}  // namespace wf::query
