// The launcher opens all listening sockets itself and hands them down: every address is known
// before the first process starts, no port can be lost to somebody else, and a connection made early simply waits.
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

#include "client/http_connection.h"

namespace shop {
namespace {

struct Process {
  std::string role;
  std::string address;
  int listen_fd = -1;
  pid_t pid = -1;
};

// Callers before callees: stopped in this order, nobody loses the service it is talking to.
constexpr const char* kStopOrder[] = {"maintenance", "frontend", "queue-worker", "compute",
                                      "storage"};

int Fail(const std::string& what, const std::string& next_step) {
  std::fprintf(stderr, "wherefore-demo: %s\n  %s\n", what.c_str(), next_step.c_str());
  return 3;
}

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
      if (!Start(process, ServiceArguments(process))) {
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

  // Runs this executable again with `arguments`. It inherits stdio and `listen_fd`, nothing else.
  bool Start(Process& process, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "wherefore-demo");
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(3);  // it died before we asked to be told
      setpgid(0, 0);                      // Ctrl-C reaches the launcher, which stops us in order
      if (process.listen_fd >= 0) fcntl(process.listen_fd, F_SETFD, 0);
      execv("/proc/self/exe", argv.data());
      _exit(3);
    }
    process.pid = pid;
    if (process.listen_fd >= 0) close(process.listen_fd);
    process.listen_fd = -1;
    return pid > 0;
  }

  static bool WaitReady(const Process& process) {
    const size_t colon = process.address.rfind(':');
    wherefore::client::HttpConnection connection(process.address.substr(0, colon),
                                                 process.address.substr(colon + 1));
    const wherefore::client::Deadline deadline(std::chrono::milliseconds(10'000));
    while (!deadline.passed()) {
      wherefore::client::HttpRequest request;
      request.method = "GET";
      request.path = "/ready";
      if (connection.Send(request, deadline).status == 200) return true;
      if (waitpid(process.pid, nullptr, WNOHANG | WNOWAIT) > 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  int SendCustomers() {
    Process load;
    load.role = "load";
    std::string frontend;
    for (const Process& process : processes_) {
      if (process.role == "frontend") frontend = process.address;
    }
    if (!Start(load,
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
        Stop(load);
        return Fail(process.role + " ended while the shop was open", "see its message above");
      }
      if (!SleepUnlessStopped(100)) {
        Stop(load);
        return 0;
      }
    }
  }

  static void Stop(Process& process) {
    if (process.pid <= 0) return;
    kill(process.pid, SIGTERM);
    // Ten seconds: a flooded storage needs some to answer what its callers still wait for.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (waitpid(process.pid, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > until) {
        std::fprintf(stderr, "wherefore-demo: %s does not stop, killing it\n",
                     process.role.c_str());
        kill(process.pid, SIGKILL);
        waitpid(process.pid, nullptr, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    process.pid = -1;
  }

  void StopAll() {
    for (Process& process : processes_) {
      Stop(process);
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
