// For verbs that end with what `wherefore paths` prints.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verbs.h"

namespace wf::cli {

// Of these inputs, with every flag at its default.
Status PrintPathsOf(const std::vector<std::string>& inputs, const CommonFlags& common);

}  // namespace wf::cli
