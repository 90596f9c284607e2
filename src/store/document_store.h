// DocumentStore: small texts that somebody saved.
// Every call takes the tenant; nothing of another tenant is ever seen. Thread safety: all calls, from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::store {

// A small text that somebody saved under a name: a dataset's definition, a dashboard, a sampling policy, … Kinds are
// apart from each other.
struct Document {
  std::string name;
  std::string text;
  Nanos written_ns = 0;  // set by the store
};

class DocumentStore {
 public:
  virtual ~DocumentStore() = default;

  // Saved texts. Durable when they return. Put replaces; Delete of what is not there is kNotFound. Read: by name.
  virtual Status PutDocument(const std::string& tenant, const std::string& kind,
                             const std::string& name, std::string_view text) = 0;
  virtual Result<std::vector<Document>> ReadDocuments(const std::string& tenant,
                                                      const std::string& kind) = 0;
  virtual Status DeleteDocument(const std::string& tenant, const std::string& kind,
                                const std::string& name) = 0;
};

}  // namespace wf::store
