// Two programs that know nothing of wherefore, for query_join_test.py: a server that answers numbers, and clients that
// ask it. Messages are eight bytes: the number asked for, and its answer.
//
//   join-target server tcp|tcp6|unix ADDRESS threads|loop|queue
//                                       a thread for each connection; one that polls all; or one that polls all and hands
//                                       each request to a worker
//   join-target client tcp|tcp6|unix ADDRESS NAME CALLS [pipelined]
// ADDRESS is a path, or a port of 127.0.0.1 or ::1; a server of tcp6 takes both. A client waits for a line on stdin before it begins.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

__attribute__((noinline)) void ClientCall(const std::string& name, long number) {
  asm volatile("" ::"r"(&name), "r"(number) : "memory");
}
__attribute__((noinline)) void ClientDone(long answer) {
  asm volatile("" ::"r"(answer) : "memory");
}
__attribute__((noinline)) long ServerWork(long number) {
  asm volatile("" : "+r"(number)::"memory");
  return number * 2;
}

struct Job {
  int connection;
  long number;
};
// Through these a request goes from one thread to another.
__attribute__((noinline)) void GiveJob(Job* job) { asm volatile("" ::"r"(job) : "memory"); }
__attribute__((noinline)) void TakeJob(Job* job) { asm volatile("" ::"r"(job) : "memory"); }

union Address {
  sockaddr any;
  sockaddr_in inet;
  sockaddr_in6 inet6;
  sockaddr_un local;
};
static int Socket(const Address& address) {
  return socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static socklen_t Parse(const std::string& kind, const char* text, Address& address) {
  std::memset(&address, 0, sizeof address);
  if (kind == "tcp6") {
    address.inet6.sin6_family = AF_INET6;
    address.inet6.sin6_port = htons(static_cast<uint16_t>(std::atoi(text)));
    // A server binds to any address, IPv4's included.
    if (address.inet6.sin6_port != 0) address.inet6.sin6_addr = in6addr_loopback;
    return sizeof address.inet6;
  }
  if (kind == "tcp") {
    address.inet.sin_family = AF_INET;
    address.inet.sin_port = htons(static_cast<uint16_t>(std::atoi(text)));
    address.inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sizeof address.inet;
  }
  address.local.sun_family = AF_UNIX;
  std::snprintf(address.local.sun_path, sizeof address.local.sun_path, "%s", text);
  return sizeof address.local;
}

static bool ReadWhole(int fd, void* to, size_t bytes) {
  for (size_t got = 0; got < bytes;) {
    const ssize_t n = read(fd, static_cast<char*>(to) + got, bytes - got);
    if (n <= 0) return false;
    got += static_cast<size_t>(n);
  }
  return true;
}

static bool Answer(int fd) {
  long number = 0;
  if (!ReadWhole(fd, &number, sizeof number)) return false;
  const long answer = ServerWork(number);
  return write(fd, &answer, sizeof answer) == sizeof answer;
}

static std::mutex mutex;
static std::condition_variable filled;
static std::deque<Job*> jobs;

static void Worker() {
  while (true) {
    Job* job = nullptr;
    {
      std::unique_lock lock(mutex);
      filled.wait(lock, [] { return !jobs.empty(); });
      job = jobs.front();
      jobs.pop_front();
    }
    TakeJob(job);
    const long answer = ServerWork(job->number);
    if (write(job->connection, &answer, sizeof answer) != sizeof answer) std::exit(1);
    delete job;
  }
}

static bool Enqueue(int fd) {
  auto* job = new Job{fd, 0};
  if (!ReadWhole(fd, &job->number, sizeof job->number)) return false;
  GiveJob(job);
  const std::lock_guard lock(mutex);
  jobs.push_back(job);
  filled.notify_one();
  return true;
}

static int Serve(const std::string& kind, const char* where, const std::string& how) {
  Address address;
  const socklen_t bytes = Parse(kind, where, address);
  const int listener = Socket(address);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, &address.any, bytes) != 0 || listen(listener, 16) != 0) return 1;
  socklen_t size = sizeof address;
  getsockname(listener, &address.any, &size);
  std::printf("%d\n", kind == "unix" ? 0 : ntohs(address.inet.sin_port));
  std::fflush(stdout);
  if (how == "queue") {
    for (int i = 0; i < 2; ++i) std::thread(Worker).detach();
  }
  std::vector<pollfd> all = {{listener, POLLIN, 0}};
  while (true) {
    if (how == "threads") {
      const int connection = accept(listener, nullptr, nullptr);
      std::thread([connection] {
        while (Answer(connection)) {
        }
        close(connection);
      }).detach();
      continue;
    }
    poll(all.data(), all.size(), -1);
    for (size_t i = all.size(); i-- > 1;) {
      if (all[i].revents == 0) continue;
      const bool goes_on = how == "queue" ? Enqueue(all[i].fd) : Answer(all[i].fd);
      if (goes_on) continue;
      close(all[i].fd);
      all.erase(all.begin() + static_cast<long>(i));
    }
    if (all[0].revents != 0) all.push_back({accept(listener, nullptr, nullptr), POLLIN, 0});
  }
}

static int Ask(const std::string& kind, const char* where, const std::string& name, long calls,
               bool pipelined) {
  Address address;
  const socklen_t bytes = Parse(kind, where, address);
  const int connection = Socket(address);
  if (connect(connection, &address.any, bytes) != 0) return 1;
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) return 1;
  for (long i = 0; i < calls; ++i) {
    ClientCall(name, i);
    if (write(connection, &i, sizeof i) != sizeof i) return 1;
    if (pipelined) continue;
    long answer = 0;
    if (!ReadWhole(connection, &answer, sizeof answer) || answer != 2 * i) return 1;
    ClientDone(answer);
  }
  for (long i = 0; pipelined && i < calls; ++i) {
    long answer = 0;
    if (!ReadWhole(connection, &answer, sizeof answer)) return 1;
    ClientDone(answer);
  }
  std::puts("done");
  std::fflush(stdout);
  std::getchar();
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string kind = argv[2];
  if (std::strcmp(argv[1], "server") == 0) return Serve(kind, argv[3], argv[4]);
  if (argc < 6) return 2;
  return Ask(kind, argv[3], argv[4], std::atol(argv[5]), argc > 6);
}
