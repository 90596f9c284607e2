// Which rules may not feed themselves: COUNT, SUM and LIST change with every tuple, so that a tuple which rests on
// their value and counts into it would have no value at all. MIN and MAX may: shortest paths are such programs.
#pragma once

#include <vector>

#include "lang/ndlog/program.h"

namespace wf::ndlog {

void CheckAggregatesInRecursion(const Program& program, std::vector<lang::Diagnostic>& diagnostics);

}  // namespace wf::ndlog
