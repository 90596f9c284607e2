// Assignments: JSON lines, one per request in line order, `{"call":N,"parent":M|null,"p":P}` (docs/use/paths.md).
//
// A request is named by the number of the first line that shows it; with several inputs by "K:N", K the input's place.
// A file of truth has the same form without `p`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/paths/assignment_row.h"
#include "analysis/paths/path_accuracy.h"
#include "base/result.h"

namespace wf::answer {

enum class PlaceForm { kLine, kInputAndLine };

// Sorts the rows by place and writes them to `path`; `-` is refused, standard output carries the answer.
Status WriteAssignments(std::vector<paths::AssignmentRow>& rows, PlaceForm form, bool with_others,
                        const std::string& path);

// `name` is for errors.
Result<std::vector<paths::ParentRow>> ParseTruth(std::string_view text, const std::string& name);

}  // namespace wf::answer
