#include "store/message_store.h"

namespace wf::store {

Hash128 HashOf(const Message& m) {
  Hasher128 hasher;
  hasher.Add(static_cast<uint64_t>(m.time_ns));
  for (const std::string* text : {&m.kind, &m.sender, &m.receiver, &m.id}) hasher.Add(*text);
  if (!m.keys.empty()) hasher.Add(m.keys);  // stores made before there were keys keep their hashes
  return hasher.Finish();
}

Result<MessagesDigest> MessageStore::DigestMessages(const std::string& tenant, TimeRange time) {
  WF_ASSIGN(const std::vector<Message> messages, ReadMessages(tenant, time));
  MessagesDigest digest{messages.size(), {}};
  for (const Message& message : messages) {
    const Hash128 hash = HashOf(message);
    digest.hash.hi ^= hash.hi;
    digest.hash.lo ^= hash.lo;
  }
  return digest;
}

}  // namespace wf::store
