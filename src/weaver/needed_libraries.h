// An executable that need not run, and the libraries it names.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "weaver/process_maps.h"

namespace wf::weaver {

// The executable first, then what it needs, directly and through others, as the loader would find them in its
// run path and the system's folders. A library that is not found there is left out: it may be loaded from
// elsewhere.
Result<std::vector<LoadedObject>> FindNeededLibraries(const std::string& exe);

}  // namespace wf::weaver
