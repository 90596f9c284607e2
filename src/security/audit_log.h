// The record of administrative actions: who did what, when, for which tenant, from where, and with which
// outcome. One JSON object per line, appended in one write, in a file that only its owner can read. It never
// holds a secret or the body of a request.
//
// Denied attempts are recorded too, but at a limited rate, so that an attacker cannot fill the disk. If the
// file was moved away (logrotate), Reopen creates a new one. Thread safety: all calls, from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "pipeline/counters.h"
#include "security/rate_limit.h"

namespace wf::security {

struct AuditEntry {
  std::string who, tenant, remote_address;
  std::string action;          // "DELETE /api/v1/policies/busy", "reload accounts"
  std::string outcome = "ok";  // or "denied", "failed"
  int status = 0;              // HTTP status; 0: none
};

class AuditLog {
 public:
  // `path` "off": nothing is recorded.
  static Result<std::unique_ptr<AuditLog>> Open(const std::string& path,
                                                pipeline::Counters& counters);
  ~AuditLog();

  // Entries that cannot be written are counted (audit_failed) and logged.
  void Write(const AuditEntry& entry);
  Status Reopen();

 private:
  AuditLog(std::string path, pipeline::Counters& counters)
      : path_(std::move(path)), counters_(counters) {}

  const std::string path_;
  pipeline::Counters& counters_;
  std::mutex mutex_;
  int fd_ = -1;
  RateLimit denied_{10, 100};
};

}  // namespace wf::security
