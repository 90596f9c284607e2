// AttachmentStore: opaque files that belong to a trace.
// Every call takes the tenant; nothing of another tenant is ever seen. Thread safety: all calls, from any thread.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace wf::store {

struct Attachment {
  TraceId trace_id;
  std::string kind;                 // "recording", "capture", ...
  std::vector<std::string> chunks;  // in order
};

class AttachmentStore {
 public:
  virtual ~AttachmentStore() = default;

  // Durable when it returns; an attachment that is there already (same content) is not kept twice.
  virtual Status PutAttachment(const std::string& tenant, const Attachment& attachment) = 0;
  virtual Result<std::vector<Attachment>> ReadAttachments(const std::string& tenant,
                                                          TraceId id) = 0;
};

}  // namespace wf::store
