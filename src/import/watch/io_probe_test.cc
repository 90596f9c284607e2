// On this kernel: two processes of ours talk over TCP, and the probe tells what they said.
#include "import/watch/io_probe.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "import/watch/watched_messages.h"

namespace wf::watch {
namespace {

using ::testing::HasSubstr;

// A server that answers every byte after `pause`, until its client closes. Runs in a child of its own.
[[noreturn]] void Serve(int listener, useconds_t pause) {
  const int connection = ::accept(listener, nullptr, nullptr);
  char bytes[64];
  ssize_t n = 0;
  while ((n = ::read(connection, bytes, sizeof bytes)) > 0) {
    ::usleep(pause);
    ::send(connection, bytes, static_cast<size_t>(n), 0);
  }
  ::_exit(0);
}
[[noreturn]] void Ask(uint16_t port, int go, int times) {
  char token = 0;
  if (::read(go, &token, 1) != 1) ::_exit(1);
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(connection, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) ::_exit(2);
  for (int i = 0; i < times; ++i) {
    char text[] = "hello";
    iovec part{text, 5};
    if (::writev(connection, &part, 1) != 5) ::_exit(3);
    for (ssize_t got = 0; got < 5;) {
      const ssize_t n = ::recv(connection, text, 5, 0);
      if (n <= 0) ::_exit(4);
      got += n;
    }
  }
  ::_exit(0);
}

TEST(IoProbe, TellsWhatTwoProcessesSaid) {
  if (::geteuid() != 0) GTEST_SKIP() << "BPF needs root";
  constexpr int kTimes = 20;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  socklen_t length = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const uint16_t port = ntohs(address.sin_port);
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t server = ::fork();
  if (server == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Serve(listener, 2000);
  }
  const pid_t client = ::fork();
  if (client == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Ask(port, go[0], kTimes);
  }

  const auto host = WatchedHost::ThisOne();
  std::unique_ptr<IoProbe> probe;
  WatchFilter filter;
  filter.nodes = WatchFilter::Nodes::kByProcess;
  filter.ports = {port};
  WatchedMessages messages(*host, filter,
                           {[&](uint32_t process) { probe->IgnoreProcess(process); },
                            [&](uint32_t process, int fd) { probe->IgnoreDescriptor(process, fd); },
                            [&](uint32_t process, int fd) { probe->KnowDescriptor(process, fd); }});
  auto attached = IoProbe::Attach({static_cast<uint32_t>(server), static_cast<uint32_t>(client)},
                                  [&](const IoRecord& record) { messages.Add(record); });
  ASSERT_TRUE(attached.ok()) << attached.error().message;
  probe = std::move(*attached);
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  // The ends must be looked at while they are open: poll until both have ended.
  int ended = 0;
  for (int turn = 0; turn < 3000 && ended < 2; ++turn) {
    ASSERT_TRUE(probe->Poll(5).ok());
    int status = 0;
    while (ended < 2 && ::waitpid(-1, &status, WNOHANG) > 0) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
      ++ended;
    }
  }
  ASSERT_EQ(ended, 2);
  ASSERT_TRUE(probe->Poll(0).ok());
  std::vector<std::string> lines;
  messages.Take(WatchedMessages::kForever, 0,
                [&](std::string_view line) { lines.emplace_back(line); });
  ::close(listener), ::close(go[0]), ::close(go[1]);

  const auto count = [&](const char* op) {
    int n = 0;
    for (const std::string& line : lines) n += line.find(op) != std::string::npos;
    return n;
  };
  EXPECT_EQ(count(" CALL_SENT "), kTimes);
  EXPECT_EQ(count(" RET_RCVD "), kTimes);
  EXPECT_EQ(count(" CALL_RCVD "), kTimes);
  EXPECT_EQ(count(" RET_SENT "), kTimes);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines[0], HasSubstr("/" + std::to_string(client) + " "));
  EXPECT_THAT(lines[0], HasSubstr("/" + std::to_string(server) + " 1.1 "));
  EXPECT_THAT(lines[0], HasSubstr(" bytes=5\n"));
  const IoCounters counters = probe->Counters();
  EXPECT_EQ(counters.dropped_ring_full + counters.dropped_table_full + counters.late_sends, 0u);
}

}  // namespace
}  // namespace wf::watch
