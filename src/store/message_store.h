// MessageStore: what black boxes show.
// Every call takes the tenant; nothing of another tenant is ever seen. Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "model/message.h"
#include "store/time_range.h"

namespace wf::store {

// Tells a message from all others.
Hash128 HashOf(const Message& message);

// Tells a set of messages from others: their number, and their hashes put together.
struct MessagesDigest {
  uint64_t count = 0;
  Hash128 hash;
  bool operator==(const MessagesDigest&) const = default;
};

class MessageStore {
 public:
  virtual ~MessageStore() = default;

  // Durable when it returns; a message that is there already (same content) is not kept twice.
  virtual Status AppendMessages(const std::string& tenant,
                                const std::vector<Message>& messages) = 0;
  // By time, then by all else: what is there decides what comes.
  virtual Result<std::vector<Message>> ReadMessages(const std::string& tenant, TimeRange time) = 0;
  // Of what ReadMessages gives: equal when it is the same. Engines need not read the messages for it; this one does.
  virtual Result<MessagesDigest> DigestMessages(const std::string& tenant, TimeRange time);
};

}  // namespace wf::store
