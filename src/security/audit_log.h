// The record of administrative actions: who did what, when, for which tenant, from where, and what came of it. One JSON
// object a line, appended whole, in a file that only its owner can read; never a secret, never a request's body.
//
// Denied attempts are recorded too, but bounded in number: an attacker must not fill the disk. A file that was moved away
// (logrotate) is made anew by Reopen. Thread safety: all calls, from any thread.
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
  int status = 0;              // of HTTP; 0: none
};

class AuditLog {
 public:
  // "off": nothing is recorded.
  static Result<std::unique_ptr<AuditLog>> Open(const std::string& path,
                                                pipeline::Counters& counters);
  ~AuditLog();

  // What cannot be written is counted (audit_failed) and logged.
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
