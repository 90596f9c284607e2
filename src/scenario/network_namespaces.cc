#include "scenario/network_namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace wf::scenario {
namespace {

Error NamespaceFailed(const std::string& what, int code) {
  return EnvironmentError(
      what + ": " + std::strerror(code),
      "real network namespaces need root (CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW)");
}

std::string SpacePath(int file) { return fmt::format("/proc/self/fd/{}", file); }

void WriteSetting(const char* path, const char* value) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;  // a kernel without IPv6 has no such setting
  static_cast<void>(!::write(file, value, std::strlen(value)));
  ::close(file);
}

// In the child: a router that says nothing by itself.
void ConfigureKernel() {
  WriteSetting("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
  WriteSetting("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
  WriteSetting("/proc/sys/net/ipv4/ip_forward", "1");
  WriteSetting("/proc/sys/net/ipv4/conf/all/rp_filter", "0");
  WriteSetting("/proc/sys/net/ipv4/conf/default/rp_filter", "0");
}

struct Child {
  pid_t pid = -1;
  std::FILE* errors = nullptr;
};

// `program -batch -` inside the namespace (-1: where we are), reading `batch`.
Child StartBatch(const std::string& program, int space, const std::string& batch) {
  Child child;
  std::FILE* input = std::tmpfile();
  child.errors = std::tmpfile();
  if (input == nullptr || child.errors == nullptr) {
    if (input != nullptr) std::fclose(input);
    return child;
  }
  std::fwrite(batch.data(), 1, batch.size(), input);
  std::fflush(input);
  std::rewind(input);
  child.pid = ::fork();
  if (child.pid == 0) {
    if (space >= 0) {
      if (::setns(space, CLONE_NEWNET) != 0) ::_exit(126);
      ConfigureKernel();
    }
    ::lseek(::fileno(input), 0, SEEK_SET);
    ::dup2(::fileno(input), 0);
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, 1);
    ::dup2(::fileno(child.errors), 2);
    ::execlp(program.c_str(), program.c_str(), "-batch", "-", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  std::fclose(input);
  return child;
}

Status FinishChild(const Child& child, const std::string& program, const std::string& where) {
  std::string text;
  int state = 0;
  const bool waited = child.pid > 0 && ::waitpid(child.pid, &state, 0) == child.pid;
  if (child.errors != nullptr) {
    std::rewind(child.errors);
    char line[256];
    while (std::fgets(line, sizeof line, child.errors) != nullptr) text += line;
    std::fclose(child.errors);
  }
  if (!waited) return NamespaceFailed("fork", errno);
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return {};
  if (WIFEXITED(state) && WEXITSTATUS(state) == 127) {
    return EnvironmentError(program + ": not found", "apt-get install iproute2");
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return EnvironmentError(program + " in " + where + ": " + text,
                          "does the kernel have veth and tbf, and are we root?");
}

// Segments must be what the wire would carry, so nothing may be joined or left for hardware to do.
Status SwitchOffloadsOff(const std::string& interface) {
  const int handle = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return NamespaceFailed("socket", errno);
  for (const uint32_t command :
       {ETHTOOL_STXCSUM, ETHTOOL_SSG, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO}) {
    ethtool_value value = {};
    value.cmd = command;
    value.data = 0;
    ifreq request = {};
    std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    // One that the driver does not know is off.
    if (::ioctl(handle, SIOCETHTOOL, &request) != 0 && errno != EOPNOTSUPP) {
      const int code = errno;
      ::close(handle);
      return NamespaceFailed("offloads of " + interface, code);
    }
  }
  ::close(handle);
  return {};
}

}  // namespace

NetworkNamespaces::~NetworkNamespaces() {
  for (const int file : files_) ::close(file);
  if (own_ >= 0) ::close(own_);
}

Result<size_t> NetworkNamespaces::Add(const std::string& name) {
  if (own_ < 0) own_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (own_ < 0) return NamespaceFailed("/proc/thread-self/ns/net", errno);
  if (::unshare(CLONE_NEWNET) != 0) return NamespaceFailed("a network namespace", errno);
  // Children must inherit it: ip finds it under this number.
  const int file = ::open("/proc/thread-self/ns/net", O_RDONLY);
  const int code = errno;
  if (::setns(own_, CLONE_NEWNET) != 0)
    return NamespaceFailed("the way back to our namespace", errno);
  if (file < 0) return NamespaceFailed("a network namespace", code);
  files_.push_back(file);
  names_.push_back(name);
  ip_.push_back("link set lo up\n");
  tc_.emplace_back();
  return files_.size() - 1;
}

Status NetworkNamespaces::RunAll(const std::string& program,
                                 const std::vector<std::string>& batches) {
  std::vector<Child> children;
  for (size_t i = 0; i < batches.size(); ++i)
    children.push_back(batches[i].empty() ? Child{} : StartBatch(program, files_[i], batches[i]));
  Status result;
  for (size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].empty()) continue;
    Status one = FinishChild(children[i], program, names_[i]);
    if (result.ok() && !one.ok()) result = std::move(one);
  }
  return result;
}

Status NetworkNamespaces::SetUp() {
  std::string pairs;
  for (const Pair& pair : joins_) {
    pairs += fmt::format(
        "link add name {} address {} netns {} type veth peer name {} address {} netns {}\n",
        pair.a.interface, pair.a.mac, SpacePath(files_[pair.a.space]), pair.b.interface, pair.b.mac,
        SpacePath(files_[pair.b.space]));
  }
  WF_TRY(FinishChild(StartBatch("ip", -1, pairs), "ip", "our namespace"));
  for (const Pair& pair : joins_) {
    for (const End* end : {&pair.a, &pair.b})
      WF_TRY(Inside(end->space, [&] { return SwitchOffloadsOff(end->interface); }));
  }
  WF_TRY(RunAll("ip", ip_));
  return RunAll("tc", tc_);
}

Status NetworkNamespaces::Inside(size_t space, const std::function<Status()>& what) const {
  if (::setns(files_[space], CLONE_NEWNET) != 0) return NamespaceFailed(names_[space], errno);
  Status result = what();
  if (::setns(own_, CLONE_NEWNET) != 0)
    return NamespaceFailed("the way back to our namespace", errno);
  return result;
}

}  // namespace wf::scenario
