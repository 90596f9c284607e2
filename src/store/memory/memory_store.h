// MemoryStore: a store that is gone with the process, for tests and for work that needs none afterwards. It keeps to
// store.h in everything (the conformance suite holds it to that) but has no SQL engine: RunSql is refused, and Traits
// says so. Nothing is indexed but traces: other questions look at every row.
//
// In several files: events (events.cc), messages, attachments, clocks and documents (sides.cc), rows of datasets
// (dataset.h), tenants, status and retention (keeper.cc).
//
// Threads: any number of callers. One mutex guards the content; `done`, `take` and the listener are called without it.
// A listener must not append: batches become durable on the appender's thread.
#pragma once

#include <memory>

#include "store/engine.h"

namespace wf::store::memory {

// What is kept. A store over the same content is the same store opened again.
struct Content;
std::shared_ptr<Content> NewContent();
int64_t BytesOf(const Content& content);  // about

class MemoryStore : public Engine {
 public:
  MemoryStore() : MemoryStore(NewContent()) {}
  explicit MemoryStore(std::shared_ptr<Content> content) : content_(std::move(content)) {}

  StoreTraits Traits() const override { return {.shared = false, .sql = false}; }
#include "store/engine_functions.inc"

 private:
  std::shared_ptr<Content> content_;
};

}  // namespace wf::store::memory
