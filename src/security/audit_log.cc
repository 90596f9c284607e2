#include "security/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/utf8.h"
#include "json/json_writer.h"
#include "log/log.h"

namespace wf::security {

Result<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path,
                                                 pipeline::Counters& counters) {
  std::unique_ptr<AuditLog> log(new AuditLog(path == "off" ? "" : path, counters));
  WF_TRY(log->Reopen());
  return log;
}

AuditLog::~AuditLog() {
  if (fd_ >= 0) ::close(fd_);
}

Status AuditLog::Reopen() {
  if (path_.empty()) return {};
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0)
    return EnvironmentError("--audit-log " + path_ + ": " + std::strerror(errno),
                            "give a writable file, or off");
  const std::lock_guard lock(mutex_);
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  return {};
}

void AuditLog::Write(const AuditEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (fd_ < 0) return;
  if (entry.outcome == "denied" && denied_.Take(1, MonotonicNow()) != 0) {
    counters_.Add("audit_denials_skipped", 1);
    return;
  }
  const Nanos now = Now();
  JsonWriter json;
  json.BeginObject().Field("time", FormatInstant(now)).Field("time_ns", now);
  json.Field("who", entry.who).Field("tenant", entry.tenant);
  json.Field("remote_address", entry.remote_address).Field("action", entry.action);
  json.Field("outcome", entry.outcome);
  entry.status == 0 ? json.Key("status").Null() : json.Field("status", entry.status);
  json.EndObject();
  const std::string line = json.Take() + "\n";
  counters_.Add("audit_entries", 1);
  if (::write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  counters_.Add("audit_failed", 1);
  if (log::LogOnce("audit log"))
    log::Error("audit log {}: {}; entries that could not be written are counted", path_,
               std::strerror(errno));
}

}  // namespace wf::security
