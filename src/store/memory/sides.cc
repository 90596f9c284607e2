// Messages, attachments, clocks and documents.
#include <fmt/format.h>

#include <algorithm>

#include "store/memory/content.h"

namespace wf::store::memory {

Status MemoryStore::AppendMessages(const std::string& tenant,
                                   const std::vector<Message>& messages) {
  if (messages.empty()) return {};
  const Nanos now = Now();
  const std::lock_guard lock(content_->mutex);
  for (const Message& message : messages)
    content_->tenants[tenant].messages.try_emplace(message, now);
  return {};
}

Result<std::vector<Message>> MemoryStore::ReadMessages(const std::string& tenant, TimeRange time) {
  std::vector<Message> out;
  const std::lock_guard lock(content_->mutex);
  const Tenant* found = content_->Find(tenant);
  if (found == nullptr) return out;
  Message first;
  first.time_ns = time.from;
  for (auto it = found->messages.lower_bound(first);
       it != found->messages.end() && it->first.time_ns < time.until; ++it)
    out.push_back(it->first);
  return out;
}

Result<MessagesDigest> MemoryStore::DigestMessages(const std::string& tenant, TimeRange time) {
  return MessageStore::DigestMessages(tenant, time);
}

Status MemoryStore::PutAttachment(const std::string& tenant, const Attachment& attachment) {
  Hasher128 hasher;
  for (const std::string& chunk : attachment.chunks) hasher.Add(chunk);
  const std::lock_guard lock(content_->mutex);
  content_->tenants[tenant].attachments.try_emplace(
      {attachment.trace_id, attachment.kind, hasher.Finish()}, KeptAttachment{attachment, Now()});
  return {};
}

Result<std::vector<Attachment>> MemoryStore::ReadAttachments(const std::string& tenant,
                                                             TraceId id) {
  std::vector<Attachment> out;
  const std::lock_guard lock(content_->mutex);
  const Tenant* found = content_->Find(tenant);
  if (found == nullptr) return out;
  for (auto it = found->attachments.lower_bound({id, "", Hash128{}});
       it != found->attachments.end() && std::get<0>(it->first) == id; ++it)
    out.push_back(it->second.attachment);
  return out;
}

Status MemoryStore::WriteClocks(const std::string& tenant, const std::vector<ClockOffset>& clocks) {
  std::map<std::string, std::pair<Nanos, Nanos>> ranges;  // first and last begin, by host
  for (const ClockOffset& clock : clocks) {
    auto& range = ranges.try_emplace(clock.host, clock.from_ns, clock.from_ns).first->second;
    range.first = std::min(range.first, clock.from_ns);
    range.second = std::max(range.second, clock.from_ns);
  }
  const std::lock_guard lock(content_->mutex);
  for (const auto& [host, range] : ranges) {
    auto& kept = content_->tenants[tenant].clocks[host];
    kept.erase(kept.lower_bound(range.first), kept.upper_bound(range.second));
  }
  for (const ClockOffset& clock : clocks)
    content_->tenants[tenant].clocks[clock.host][clock.from_ns] = clock;
  return {};
}

Result<std::vector<ClockOffset>> MemoryStore::ReadClocks(const std::string& tenant,
                                                         TimeRange time) {
  std::vector<ClockOffset> out;
  const std::lock_guard lock(content_->mutex);
  const Tenant* found = content_->Find(tenant);
  if (found == nullptr) return out;
  for (const auto& [host, offsets] : found->clocks) {
    // The offset in force at the range's beginning started before it.
    auto it = offsets.upper_bound(time.from);
    if (it != offsets.begin()) --it;
    for (; it != offsets.end() && it->first < time.until; ++it) out.push_back(it->second);
  }
  return out;
}

Status MemoryStore::PutDocument(const std::string& tenant, const std::string& kind,
                                const std::string& name, std::string_view text) {
  const std::lock_guard lock(content_->mutex);
  content_->tenants[tenant].documents[kind][name] = {name, std::string(text), Now()};
  return {};
}

Result<std::vector<Document>> MemoryStore::ReadDocuments(const std::string& tenant,
                                                         const std::string& kind) {
  std::vector<Document> out;
  const std::lock_guard lock(content_->mutex);
  const Tenant* found = content_->Find(tenant);
  if (found == nullptr) return out;
  const auto documents = found->documents.find(kind);
  if (documents == found->documents.end()) return out;
  for (const auto& [name, document] : documents->second) out.push_back(document);
  return out;
}

Status MemoryStore::DeleteDocument(const std::string& tenant, const std::string& kind,
                                   const std::string& name) {
  const std::lock_guard lock(content_->mutex);
  const auto missing = [&] {
    return NotFound(fmt::format("{} {}: not in this store", kind, name), "list what is there");
  };
  const auto found = content_->tenants.find(tenant);
  if (found == content_->tenants.end()) return missing();
  auto& documents = found->second.documents;
  const auto of_kind = documents.find(kind);
  if (of_kind == documents.end() || of_kind->second.erase(name) == 0) return missing();
  if (of_kind->second.empty()) documents.erase(of_kind);
  return {};
}

}  // namespace wf::store::memory
