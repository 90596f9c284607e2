// A real broker for this folder's tests: tests/lab/kafka_broker.py, run as a program. One for all tests of the
// executable; it ends with the test, however that ends.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "test_places.h"

namespace wf::bus::kafka {

class TestBroker {
 public:
  static TestBroker& Get() {
    static TestBroker broker;
    return broker;
  }

  const std::string& address() const { return address_; }
  // kill, stop, start, freeze, thaw
  void Tell(const std::string& command) {
    std::fprintf(in_, "%s\n", command.c_str());
    std::fflush(in_);
    const std::string answer = Line();
    if (answer != "done") ADD_FAILURE() << command << ": " << answer;
  }

 private:
  TestBroker() {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) std::abort();
    child_ = fork();
    if (child_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      execlp("python3", "python3", WHEREFORE_SOURCE_DIR "/tests/lab/kafka_broker.py", nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    in_ = fdopen(to[1], "w");
    out_ = fdopen(from[0], "r");
    const std::string line = Line();
    if (line.rfind("ready ", 0) == 0) {
      address_ = line.substr(6);
    } else {
      address_ = "127.0.0.1:1";  // every test says that nothing is there
      ADD_FAILURE() << "no broker: " << line << " (tools/setup test brings it)";
    }
  }
  ~TestBroker() {
    std::fclose(in_);
    std::fclose(out_);
    waitpid(child_, nullptr, 0);
  }
  std::string Line() {
    char text[4096];
    if (std::fgets(text, sizeof text, out_) == nullptr) return "it ended";
    std::string line(text);
    if (!line.empty() && line.back() == '\n') line.pop_back();
    return line;
  }

  pid_t child_ = 0;
  FILE *in_ = nullptr, *out_ = nullptr;
  std::string address_;
};

}  // namespace wf::bus::kafka
