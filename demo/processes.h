// The processes that a launcher starts: this executable again, in another role each. The launcher opens all listening
// sockets itself and hands them down: every address is known before the first process starts, no port can be lost to
// somebody else, and a connection made early simply waits.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace shop {

struct Process {
  std::string role;
  std::string address;
  int listen_fd = -1;
  pid_t pid = -1;
};

// Says on stderr what is wrong and what to do; returns the exit status of the environment's faults.
int Fail(const std::string& what, const std::string& next_step);

// Runs this executable again with `arguments`. It inherits stdio and `listen_fd`, nothing else. False: see errno.
bool StartProcess(Process& process, std::vector<std::string> arguments);
// Until it answers GET /ready; false if it ends or ten seconds pass.
bool WaitReady(const Process& process);
// Asks it to stop; kills it when it does not.
void StopProcess(Process& process);

}  // namespace shop
