// A `wherefore serve` of its own process, measured from outside: CPU time, peak memory, bytes on disk.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace wf {

class ServerProcess {
 public:
  // Starts BINARY serve on `store` with every listener on a free port and waits for its server.json.
  static Result<ServerProcess> Start(const std::string& binary, const std::string& store,
                                     const std::vector<std::string>& flags);
  ~ServerProcess();  // stops it, cleanly
  ServerProcess(ServerProcess&& o) noexcept;
  ServerProcess& operator=(ServerProcess&&) = delete;

  const std::string& address(const std::string& listener) { return addresses_[listener]; }
  const std::string& token() const { return token_; }
  Nanos CpuTime() const;       // user and system, all threads
  int64_t PeakMemory() const;  // bytes, high-water mark of the resident set
  void Stop();

 private:
  ServerProcess() = default;
  pid_t pid_ = -1;
  std::string token_;
  std::map<std::string, std::string> addresses_;
};

int64_t DirectoryBytes(const std::string& path);  // blocks on disk, not apparent sizes

}  // namespace wf
