// The secret with which attribute rules hash values: made once per store, so that equal values stay equal across
// restarts, and readable by its owner only, so that nobody else can hash candidates.
#pragma once

#include <string>

#include "base/result.h"
#include "import/decode/attribute_rules.h"

namespace wf {

// Reads STORE/hash.key, or makes it.
Result<HashKey> LoadHashKey(const std::string& store);

}  // namespace wf
