// The secret with which attribute rules hash values: made once per store, so that equal values stay equal across
// restarts and receivers, and readable by its owner only, so that nobody else can hash candidates.
#pragma once

#include <string>

#include "base/result.h"
#include "import/decode/attribute_rules.h"
#include "store/document_store.h"

namespace wf::security {

// Reads STORE/hash.key, or makes it.
Result<decode::HashKey> LoadHashKey(const std::string& store);
// The same of a store that many processes share: kept in it, among its saved texts.
Result<decode::HashKey> SharedHashKey(store::DocumentStore& store);

}  // namespace wf::security
