#include "weaver/process_facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/file_descriptor.h"
#include "weaver/function_name.h"

namespace wf::weaver {
namespace {

std::string ReadWhole(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file.valid()) return text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

std::string FileName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// When the process began, in the kernel's ticks: two of the same number differ in it. 0: there is none.
uint64_t StartOf(uint32_t process) {
  const std::string stat = ReadWhole(fmt::format("/proc/{}/stat", process));
  size_t at = stat.rfind(')');  // the name before it may hold anything
  if (at == std::string::npos) return 0;
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(stat.c_str() + at, nullptr, 10);
}

std::string OwnNodeName() {
  utsname own{};
  return uname(&own) == 0 ? own.nodename : "";
}

constexpr size_t kCommBytes = 15;

std::string NameOf(uint32_t process) {
  std::string name = ReadWhole(fmt::format("/proc/{}/comm", process));
  if (!name.empty() && name.back() == '\n') name.pop_back();
  if (name.size() != kCommBytes) return name;
  const std::string executable = FileName(ExecutableOf(static_cast<pid_t>(process)));
  return executable.rfind(name, 0) == 0 ? executable : name;
}

std::string EnvironmentOf(uint32_t process, std::string_view variable) {
  const std::string environment = ReadWhole(fmt::format("/proc/{}/environ", process));
  size_t at = 0;
  while (at < environment.size()) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry = std::string_view(environment).substr(at, end - at);
    if (entry.size() > variable.size() && entry.substr(0, variable.size()) == variable &&
        entry[variable.size()] == '=')
      return std::string(entry.substr(variable.size() + 1));
    at = end + 1;
  }
  return {};
}

}  // namespace

std::string ExecutableOf(pid_t pid) {
  char path[4096];
  const ssize_t n = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path, sizeof path);
  if (n <= 0) return {};
  std::string text(path, static_cast<size_t>(n));
  constexpr std::string_view kGone = " (deleted)";
  if (text.size() > kGone.size() && text.ends_with(kGone)) text.resize(text.size() - kGone.size());
  return text;
}

bool ExecutableMatches(std::string_view pattern, std::string_view path) {
  if (path.empty()) return false;
  if (pattern.find('/') != std::string_view::npos) return GlobMatches(pattern, path);
  return GlobMatches(pattern, path.substr(path.rfind('/') + 1));
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> pids;
  DIR* directory = ::opendir("/proc");
  if (directory == nullptr) return pids;
  while (const dirent* entry = ::readdir(directory)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0) pids.push_back(pid);
  }
  ::closedir(directory);
  return pids;
}

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

advice::Value ProcessFacts::Name(uint32_t process) { return Of(process).name; }
advice::Value ProcessFacts::Host(uint32_t process) { return Of(process).host; }

void ProcessFacts::ForgetReused() {
  std::erase_if(facts_, [](const auto& entry) {
    const uint64_t started = StartOf(entry.first);
    return started != 0 && started != entry.second.started;
  });
}

const ProcessFacts::Facts& ProcessFacts::Of(uint32_t process) {
  const auto known = facts_.find(process);
  if (known != facts_.end()) return known->second;
  Facts facts;
  facts.started = StartOf(process);
  if (facts.started != 0) {
    facts.name = NameOf(process);
    std::string host = EnvironmentOf(process, "WHEREFORE_HOST");
    if (host.empty()) host = NodeName(process);
    facts.host = std::move(host);
  } else {
    std::string name = last_name_(process);
    if (!name.empty()) facts.name = std::move(name);
    facts.host = OwnNodeName();
  }
  return facts_.emplace(process, std::move(facts)).first->second;
}

std::string ProcessFacts::NodeName(uint32_t process) {
  const std::string path = fmt::format("/proc/{}/ns/uts", process);
  const auto theirs = IdentityOf(path), ours = IdentityOf("/proc/self/ns/uts");
  if (!theirs || !ours || theirs == ours) return OwnNodeName();
  const auto known = node_names_.find(theirs->inode);
  if (known != node_names_.end()) return known->second;
  // A thread of its own enters the namespace: the one it is called on stays where it is.
  std::string name;
  std::thread([&] {
    const FileDescriptor space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (space.valid() && ::setns(space.get(), CLONE_NEWUTS) == 0) name = OwnNodeName();
  }).join();
  if (name.empty()) return OwnNodeName();
  node_names_[theirs->inode] = name;
  return name;
}

}  // namespace wf::weaver
