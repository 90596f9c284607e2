// Builds the strands of a rule that reads one node: for each tuple that can trigger it, the joins and checks
// in order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lang/ndlog/flat_rule.h"
#include "lang/ndlog/program.h"

namespace wf::ndlog {

// `predicate_of` knows every atom's predicate. Reports variables without a value.
CompiledRule BuildStrands(const FlatRule& rule, const std::function<int(const Atom&)>& predicate_of,
                          const std::vector<Predicate>& predicates,
                          std::vector<lang::Diagnostic>& diagnostics);

}  // namespace wf::ndlog
