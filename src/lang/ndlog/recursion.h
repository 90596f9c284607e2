// Which rules must not depend on themselves. COUNT, SUM and LIST change with every tuple, so a tuple that
// depends on their value and counts into it would have no value at all. MIN and MAX are allowed: shortest
// paths need them.
#pragma once

#include <vector>

#include "lang/ndlog/program.h"

namespace wf::ndlog {

void CheckAggregatesInRecursion(const Program& program, std::vector<lang::Diagnostic>& diagnostics);

}  // namespace wf::ndlog
