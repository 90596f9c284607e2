#include "processes.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "client/transport/http_connection.h"

namespace shop {

int Fail(const std::string& what, const std::string& next_step) {
  std::fprintf(stderr, "wherefore-demo: %s\n  %s\n", what.c_str(), next_step.c_str());
  return 3;
}

bool StartProcess(Process& process, std::vector<std::string> arguments) {
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

bool WaitReady(const Process& process) {
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

void StopProcess(Process& process) {
  if (process.pid <= 0) return;
  kill(process.pid, SIGTERM);
  // Ten seconds: a flooded storage needs some to answer what its callers still wait for.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (waitpid(process.pid, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      std::fprintf(stderr, "wherefore-demo: %s does not stop, killing it\n", process.role.c_str());
      kill(process.pid, SIGKILL);
      waitpid(process.pid, nullptr, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process.pid = -1;
}

}  // namespace shop
