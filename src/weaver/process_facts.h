// What /proc says about processes: which program they run, their names, and their hosts. Results are kept,
// because a process that counted something may have ended when its groups are read.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weaver/group_shape.h"

namespace wf::weaver {

// The path of the program that a process runs, as it sees it; empty if the process has ended or cannot be
// read.
std::string ExecutableOf(pid_t pid);
// Name, path or glob: one with a slash is matched with the whole path, otherwise with its last part.
bool ExecutableMatches(std::string_view pattern, std::string_view path);
// All processes there are.
std::vector<pid_t> AllProcesses();

struct FileIdentity {
  uint64_t device = 0, inode = 0;
  auto operator<=>(const FileIdentity&) const = default;
};
std::optional<FileIdentity> IdentityOf(const std::string& path);

class ProcessFacts : public ProcessNames {
 public:
  // `last_name` knows processes that have ended; it returns an empty string if not.
  using LastName = std::function<std::string(uint32_t process)>;
  explicit ProcessFacts(LastName last_name) : last_name_(std::move(last_name)) {}

  // The name of its first thread (comm); where the kernel truncated that to 15 bytes, the executable's name
  // if it has this beginning.
  advice::Value Name(uint32_t process) override;
  // WHEREFORE_HOST of its environment, else the nodename of its UTS namespace.
  advice::Value Host(uint32_t process) override;
  // Drops facts of processes whose number another process may have now.
  void ForgetReused();

 private:
  struct Facts {
    uint64_t started = 0;
    advice::Value name, host;
  };
  const Facts& Of(uint32_t process);
  std::string NodeName(uint32_t process);

  const LastName last_name_;
  std::map<uint32_t, Facts> facts_;
  std::map<uint64_t, std::string> node_names_;  // by the namespace's inode
};

}  // namespace wf::weaver
