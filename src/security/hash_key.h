// The secret with which attribute rules hash values: made once per store, so that equal values stay equal across
// restarts and receivers, and readable by its owner only, so that nobody else can hash candidates.
#pragma once

#include <string>

#include "base/result.h"
#include "import/decode/attribute_rules.h"
#include "store/store.h"

namespace wf {

// Reads STORE/hash.key, or makes it.
Result<HashKey> LoadHashKey(const std::string& store);
// The same of a store that many processes share: kept in it, among its saved texts.
Result<HashKey> SharedHashKey(Store& store);

}  // namespace wf
