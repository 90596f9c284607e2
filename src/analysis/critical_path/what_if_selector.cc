// SELECTOR=FACTORx: which work a what-if scales, and how.
#include <cstdlib>

#include "analysis/critical_path/what_if.h"

namespace wf::critical_path {

Result<WhatIf> ParseWhatIf(std::string_view text) {
  const std::string shown(text.substr(0, 200));
  const auto bad = [&](const std::string& why) {
    return BadInput(
        "--what-if: \"" + shown + "\": " + why,
        "as in --what-if type/resource=0.5x; before the slash service, operation, type or "
        "span");
  };
  const size_t slash = text.find('/'), equals = text.rfind('=');
  if (equals == std::string_view::npos) return bad("=FACTORx is missing");
  if (slash == std::string_view::npos || slash > equals) return bad("KIND/NAME is missing");
  WhatIf change;
  const std::string_view kind = text.substr(0, slash);
  change.name = text.substr(slash + 1, equals - slash - 1);
  if (change.name.empty()) return bad("the name is empty");
  if (kind == "service") {
    change.by = WhatIf::By::kService;
  } else if (kind == "operation") {
    change.by = WhatIf::By::kOperation;
  } else if (kind == "type") {
    change.by = WhatIf::By::kType;
  } else if (kind == "span") {
    change.by = WhatIf::By::kSpan;
    WF_ASSIGN(const SpanId id, ParseSpanId(change.name));
    change.span_id = id.value;
  } else {
    return bad("\"" + std::string(kind) + "\" is not a kind of selector");
  }
  std::string factor(text.substr(equals + 1));
  if (factor.empty() || factor.back() != 'x') return bad("the factor does not end with x");
  factor.pop_back();
  const bool digits =
      !factor.empty() && factor.find_first_not_of("0123456789.") == std::string::npos;
  char* end = nullptr;
  change.factor = digits ? std::strtod(factor.c_str(), &end) : -1;
  if (!digits || *end != '\0' || !(change.factor <= 1e6)) {
    return bad("the factor is not a number from 0 to 1000000");
  }
  return change;
}

}  // namespace wf::critical_path
