#include "store/store.h"

#include <future>

namespace wf::store {

Status Store::AppendAndWait(EventBatch batch) {
  std::promise<Status> durable;
  Append(std::move(batch), [&](Status status) { durable.set_value(std::move(status)); });
  return durable.get_future().get();
}

Hash128 HashOf(const Message& m) {
  Hasher128 hasher;
  hasher.Add(static_cast<uint64_t>(m.time_ns));
  for (const std::string* text : {&m.kind, &m.sender, &m.receiver, &m.id}) hasher.Add(*text);
  if (!m.keys.empty()) hasher.Add(m.keys);  // stores made before there were keys keep their hashes
  return hasher.Finish();
}

Result<MessagesDigest> Store::DigestMessages(const std::string& tenant, TimeRange time) {
  WF_ASSIGN(const std::vector<Message> messages, ReadMessages(tenant, time));
  MessagesDigest digest{messages.size(), {}};
  for (const Message& message : messages) {
    const Hash128 hash = HashOf(message);
    digest.hash.hi ^= hash.hi;
    digest.hash.lo ^= hash.lo;
  }
  return digest;
}

Result<std::vector<TenantUse>> Store::ReadTenants() {
  return std::vector<TenantUse>{{"default", 0, 0}};
}

}  // namespace wf::store
