#include "launcher.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <thread>
#include <vector>

#include "processes.h"

namespace shop {
namespace {

// Callers before callees: stopped in this order, nobody loses the service it is talking to.
constexpr const char* kStopOrder[] = {"maintenance", "frontend", "queue-worker", "compute",
                                      "storage"};

class Launcher {
 public:
  explicit Launcher(const UpPlan& plan) : plan_(plan) {}
  ~Launcher() { StopAll(); }

  int Run() {
    BlockSignals();
    for (const char* role : kStopOrder) {
      Process process;
      process.role = role;
      process.listen_fd = ListenOn("127.0.0.1:0");
      if (process.listen_fd < 0) {
        return Fail(std::string("no port for ") + role + ": " + std::strerror(errno),
                    "free some file descriptors or loopback ports");
      }
      process.address = AddressOf(process.listen_fd);
      processes_.push_back(process);
    }
    for (Process& process : processes_) {
      if (!StartProcess(process, ServiceArguments(process))) {
        return Fail("cannot start " + process.role + ": " + std::strerror(errno),
                    "check the limits on processes and memory");
      }
    }
    for (const Process& process : processes_) {
      if (!WaitReady(process)) {
        return Fail(process.role + " at " + process.address + " did not become ready within 10 s",
                    "its own message stands above");
      }
    }
    std::printf("shop: 5 services up, trouble: %s\n", plan_.trouble.c_str());
    for (const Process& process : processes_) {
      std::printf("  %-13s http://%-21s pid %d\n", process.role.c_str(), process.address.c_str(),
                  static_cast<int>(process.pid));
    }
    std::fflush(stdout);
    const int status = SendCustomers();
    StopAll();
    return status;
  }

 private:
  std::vector<std::string> ServiceArguments(const Process& process) const {
    std::vector<std::string> arguments = {
        process.role,  "--listen-fd",       std::to_string(process.listen_fd),    "--trouble",
        plan_.trouble, "--storage-workers", std::to_string(plan_.storage_workers)};
    if (!plan_.endpoint.empty()) {
      arguments.insert(arguments.end(), {"--endpoint", plan_.endpoint});
    }
    for (const Process& peer : processes_) {
      arguments.insert(arguments.end(), {"--" + peer.role, peer.address});
    }
    return arguments;
  }

  int SendCustomers() {
    Process load;
    load.role = "load";
    std::string frontend;
    for (const Process& process : processes_) {
      if (process.role == "frontend") frontend = process.address;
    }
    if (!StartProcess(
            load,
            {"load", "--frontend", frontend, "--rate", std::to_string(plan_.load.rate),
             "--requests", std::to_string(plan_.load.requests), "--seconds",
             std::to_string(plan_.load.seconds), "--seed", std::to_string(plan_.load.seed)})) {
      return Fail(std::string("cannot start the load: ") + std::strerror(errno),
                  "check the limits on processes and memory");
    }
    while (true) {
      int status = 0;
      if (waitpid(load.pid, &status, WNOHANG) == load.pid) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
      }
      for (Process& process : processes_) {
        if (waitpid(process.pid, &status, WNOHANG) != process.pid) continue;
        process.pid = -1;
        StopProcess(load);
        return Fail(process.role + " ended while the shop was open", "see its message above");
      }
      if (!SleepUnlessStopped(100)) {
        StopProcess(load);
        return 0;
      }
    }
  }

  void StopAll() {
    for (Process& process : processes_) {
      StopProcess(process);
      if (process.listen_fd >= 0) close(process.listen_fd);
    }
    processes_.clear();
  }

  const UpPlan plan_;
  std::vector<Process> processes_;
};

}  // namespace

int RunUp(const UpPlan& plan) { return Launcher(plan).Run(); }

}  // namespace shop
