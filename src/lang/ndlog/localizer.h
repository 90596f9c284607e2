// Splits a rule whose body is on several nodes into rules that each read one node, with messages between
// them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lang/ndlog/flat_rule.h"

namespace wf::ndlog {

struct Localized {
  std::vector<FlatRule> rules;         // the last one has the rule's own head and label
  std::vector<std::string> mid_names;  // predicates it created: those of the other rules' heads
  std::vector<bool> mid_is_event;
  std::vector<lang::Diagnostic> diagnostics;
};

Localized Localize(const FlatRule& rule,
                   const std::function<bool(const std::string&)>& is_event_name);

}  // namespace wf::ndlog
