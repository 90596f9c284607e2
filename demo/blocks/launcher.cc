// Starts every process of the cluster, then its clients, waits for them and stops everything.
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "demo/http_server.h"
#include "demo/processes.h"
#include "demo/service.h"
#include "settings.h"

namespace blocks {
namespace {

using shop::Fail;
using shop::Process;

constexpr int kRegionServers = 2;
// What a data node's link can do, and the tenth of it that the faulty one is left with.
constexpr char kLink[] = "10mbit", kFaultyLink[] = "1mbit";
constexpr char kFaultyHost = 'B';

bool Shell(const std::string& command) { return std::system(command.c_str()) == 0; }

// Links are slowed on the loopback device, which must not be the one that everybody uses: where there are others, it is.
bool HasOwnNetwork() {
  struct if_nameindex* const devices = if_nameindex();
  if (devices == nullptr) return false;
  bool only = true;
  for (auto* device = devices; device->if_index != 0; ++device)
    only = only && std::strcmp(device->if_name, "lo") == 0;
  if_freenameindex(devices);
  return only;
}

class Launcher {
 public:
  explicit Launcher(const UpPlan& plan) : plan_(plan) {}
  ~Launcher() {
    for (Process& client : clients_) shop::StopProcess(client);
    for (const Process& process : processes_) {
      if (process.pid > 0) kill(process.pid, SIGTERM);  // all at once
    }
    for (Process& process : processes_) shop::StopProcess(process);
  }

  int Run() {
    shop::BlockSignals();
    if (const int failed = StartServers(); failed != 0) return failed;
    if (plan_.common.fault == "slow-link" || plan_.common.fault == "even-links") {
      if (!HasOwnNetwork())
        return Fail("--fault " + plan_.common.fault + " slows loopback, for everybody here",
                    "run it in a network of its own: unshare -n");
      if (!SetLinks()) return Fail("tc cannot slow links", "it needs root and Debian's iproute2");
    }
    if (plan_.clients.empty()) {
      std::printf("ready\n");
      std::fflush(stdout);
      shop::WaitForStop();
      return 0;
    }
    if (const int failed = StartClients(); failed != 0) return failed;
    std::printf("ready\n");
    std::fflush(stdout);
    int worst = 0;
    for (Process& client : clients_) {
      int status = 0;
      pid_t ended = 0;
      while ((ended = waitpid(client.pid, &status, WNOHANG)) == 0) {
        if (!shop::SleepUnlessStopped(20)) return 0;
      }
      client.pid = -1;
      worst = std::max(worst, ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    }
    return worst;
  }

 private:
  int Add(const std::string& role, char host) {
    Process process;
    process.role = role + (role == "name-node" ? "" : std::string("-") + host);
    process.listen_fd = shop::ListenOn("127.0.0.1:0");
    if (process.listen_fd < 0)
      return Fail("no port for " + role + ": " + std::strerror(errno), "free some descriptors");
    process.address = shop::AddressOf(process.listen_fd);
    peers_ += (peers_.empty() ? "" : ",") + process.role + "=" + process.address;
    hosts_.emplace_back(1, host);
    roles_.push_back(role);
    processes_.push_back(process);
    return 0;
  }
  int StartServers() {
    int failed = Add("name-node", 'N');
    for (int i = 0; i < kHostCount && failed == 0; ++i) {
      failed = Add("data-node", kHosts[i]);
      if (failed == 0) failed = Add("task-manager", kHosts[i]);
      if (failed == 0 && i < kRegionServers) failed = Add("region-server", kHosts[i]);
    }
    for (size_t i = 0; i < processes_.size() && failed == 0; ++i) {
      if (!Start(processes_[i], {roles_[i], "--host", hosts_[i], "--listen-fd",
                                 std::to_string(processes_[i].listen_fd)}))
        failed = Fail(roles_[i] + " cannot be started: " + std::strerror(errno), "see above");
    }
    return failed;
  }
  bool Start(Process& process, std::vector<std::string> arguments) {
    const Settings& s = plan_.common;
    for (const std::string& more :
         {std::string("--endpoint"), s.endpoint, std::string("--peers"), peers_,
          std::string("--fault"), s.fault, std::string("--files"), std::to_string(s.files),
          std::string("--seed"), std::to_string(s.seed)})
      arguments.push_back(more);
    return shop::StartProcess(process, std::move(arguments));
  }
  // KIND[:THREADS[:THINK_MS]]; StressTest runs on every host, its threads shared among them.
  int StartClients() {
    std::istringstream list(plan_.clients);
    for (std::string one; std::getline(list, one, ',');) {
      std::istringstream parts(one);
      std::string kind, threads = "1", think = "0";
      std::getline(parts, kind, ':') && std::getline(parts, threads, ':') &&
          std::getline(parts, think, ':');
      const int hosts = kind == "StressTest" ? kHostCount : 1;
      const int each = std::max(1, std::atoi(threads.c_str()) / hosts);
      for (int i = 0; i < hosts; ++i) {
        Process client;
        client.role = kind;
        const char host = kHosts[hosts > 1 ? i : static_cast<int>(clients_.size()) % kHostCount];
        if (!Start(client, {"client", "--kind", kind, "--host", std::string(1, host), "--threads",
                            std::to_string(each), "--think-ms", think, "--seconds",
                            std::to_string(plan_.common.seconds), "--requests",
                            std::to_string(plan_.common.requests / hosts)}))
          return Fail(kind + " cannot be started: " + std::strerror(errno), "see above");
        clients_.push_back(client);
      }
    }
    return 0;
  }
  // A class for each data node, by the port it answers from; what is in none is not slowed.
  bool SetLinks() {
    std::string commands =
        "tc qdisc del dev lo root 2>/dev/null; tc qdisc add dev lo root handle 1: htb";
    for (const Process& process : processes_) {
      if (process.role.rfind("data-node-", 0) != 0) continue;
      const char host = process.role.back();
      const std::string one = "1:" + std::to_string(2 + (host - kHosts[0]));
      const bool faulty = host == kFaultyHost && plan_.common.fault == "slow-link";
      commands += " && tc class add dev lo parent 1: classid " + one +
                  " htb rate 10gbit burst 1mb quantum 60000";
      commands += " && tc qdisc add dev lo parent " + one + " tbf rate " +
                  (faulty ? kFaultyLink : kLink) + " burst 16kb latency 5s";
      commands += " && tc filter add dev lo parent 1: protocol ip prio 1 u32 match ip sport " +
                  process.address.substr(process.address.rfind(':') + 1) + " 0xffff flowid " + one;
    }
    return Shell(commands);
  }

  const UpPlan& plan_;
  std::vector<Process> processes_, clients_;
  std::vector<std::string> hosts_, roles_;
  std::string peers_;
};

}  // namespace

int RunUp(const UpPlan& plan) { return Launcher(plan).Run(); }

}  // namespace blocks
