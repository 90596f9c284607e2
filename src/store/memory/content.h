// What a MemoryStore keeps, by tenant. The mutex guards all of it; batches never change and may be read without it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/memory/dataset.h"
#include "store/memory/memory_store.h"
#include "store/row_order.h"

namespace wf::store::memory {

// By time, then by all else.
struct MessageBefore {
  bool operator()(const Message& a, const Message& b) const {
    return std::tie(a.time_ns, a.kind, a.sender, a.receiver, a.id, a.keys) <
           std::tie(b.time_ns, b.kind, b.sender, b.receiver, b.id, b.keys);
  }
};

// Distinct events: a row that is here already is not kept again.
struct Events {
  BatchList batches;                              // in order of receipt
  std::map<TraceId, std::vector<RowKey>> traces;  // RowKey::batch: place in `batches`
  // Trace, span and content of every row.
  std::set<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, uint64_t>> seen;

  // The rows that are new, which may be none.
  void Add(const std::shared_ptr<const EventBatch>& batch);
  int64_t rows() const { return static_cast<int64_t>(seen.size()); }
};

struct KeptAttachment {
  Attachment attachment;
  Nanos received_ns = 0;
};

struct Tenant {
  Events events;
  std::map<Message, Nanos, MessageBefore> messages;  // with their receipt
  std::map<std::tuple<TraceId, std::string, Hash128>, KeptAttachment> attachments;
  std::map<std::string, std::map<Nanos, ClockOffset>> clocks;        // by host, by begin
  std::map<std::string, std::map<std::string, Document>> documents;  // by kind, by name
  std::map<std::string, Dataset> datasets;

  bool empty() const {
    return events.seen.empty() && messages.empty() && attachments.empty() && clocks.empty() &&
           documents.empty() && datasets.empty();
  }
};

int64_t BytesOf(const Message& message);
int64_t BytesOf(const Attachment& attachment);

struct Content {
  std::mutex mutex;
  std::map<std::string, Tenant> tenants;

  // Null: there is nothing of that tenant.
  const Tenant* Find(const std::string& tenant) const {
    const auto found = tenants.find(tenant);
    return found == tenants.end() ? nullptr : &found->second;
  }
};

}  // namespace wf::store::memory
