#include "import/watch/watched_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "base/file_descriptor.h"
#include "base/nanos.h"

namespace wf::watch {
namespace {

struct Endpoint {
  std::string text;
  uint16_t port = 0;
};

std::optional<Endpoint> EndpointOf(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    const uint16_t port = ntohs(in.sin_port);
    return Endpoint{std::string(text) + ":" + std::to_string(port), port};
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in{};
  std::memcpy(&in, &address, sizeof in);
  const uint16_t port = ntohs(in.sin6_port);
  if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {
    ::inet_ntop(AF_INET, in.sin6_addr.s6_addr + 12, text, sizeof text);
    return Endpoint{std::string(text) + ":" + std::to_string(port), port};
  }
  ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
  return Endpoint{"[" + std::string(text) + "]:" + std::to_string(port), port};
}

class ThisHost : public WatchedHost {
 public:
  std::optional<SocketFacts> Socket(uint32_t process, int fd) override {
    const FileDescriptor handle(
        static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)));
    if (!handle.valid()) return std::nullopt;
    const FileDescriptor copy(static_cast<int>(::syscall(SYS_pidfd_getfd, handle.get(), fd, 0)));
    if (!copy.valid()) return std::nullopt;
    int type = 0;
    socklen_t length = sizeof type;
    if (::getsockopt(copy.get(), SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
      return std::nullopt;
    sockaddr_storage local{}, peer{};
    length = sizeof local;
    if (::getsockname(copy.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0)
      return std::nullopt;
    length = sizeof peer;
    if (::getpeername(copy.get(), reinterpret_cast<sockaddr*>(&peer), &length) != 0)
      return std::nullopt;
    SocketFacts facts;
    if (local.ss_family == AF_UNIX) {
      facts.kind = SocketFacts::Kind::kUnix;
      ucred credentials{};
      length = sizeof credentials;
      if (::getsockopt(copy.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0)
        facts.peer_process = static_cast<uint32_t>(credentials.pid);
      // The accepted end carries the listener's name; the connecting end seldom has one.
      sockaddr_un named{};
      std::memcpy(&named, &local, sizeof named);
      facts.listens = named.sun_path[0] != 0 || named.sun_path[1] != 0;
      return facts;
    }
    const auto here = EndpointOf(local), there = EndpointOf(peer);
    if (!here || !there) return std::nullopt;
    facts.local = here->text, facts.peer = there->text;
    facts.local_port = here->port, facts.peer_port = there->port;
    facts.listens = Listens(process, here->port);
    return facts;
  }

  std::string ProcessName(uint32_t process) override {
    std::ifstream in("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(in, name);
    return name;
  }

  std::string ProgramFile(uint32_t process) override {
    char file[4096];
    const ssize_t length =
        ::readlink(("/proc/" + std::to_string(process) + "/exe").c_str(), file, sizeof file);
    return length <= 0 ? std::string() : std::string(file, static_cast<size_t>(length));
  }

 private:
  // Whether a socket listens at this port in the process's network. Read anew every second at most.
  bool Listens(uint32_t process, uint16_t port) {
    struct stat facts {};
    const std::string folder = "/proc/" + std::to_string(process);
    if (::stat((folder + "/ns/net").c_str(), &facts) != 0) return false;
    Listeners& listeners = listeners_[facts.st_ino];
    const Nanos now = MonotonicNow();
    if (listeners.read == 0 || now - listeners.read > kSecond) {
      listeners.read = now;
      listeners.ports.clear();
      for (const char* file : {"/net/tcp", "/net/tcp6"}) {
        std::ifstream in(folder + file);
        std::string line;
        while (std::getline(in, line)) {
          unsigned local_port = 0, state = 0;
          // "  0: 0100007F:1F90 00000000:0000 0A …"
          if (std::sscanf(line.c_str(), " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &local_port,
                          &state) == 2 &&
              state == 0x0A)
            listeners.ports.insert(static_cast<uint16_t>(local_port));
        }
      }
    }
    return listeners.ports.count(port) != 0;
  }

  struct Listeners {
    Nanos read = 0;
    std::set<uint16_t> ports;
  };
  std::map<uint64_t, Listeners> listeners_;  // by network namespace
};

}  // namespace

std::unique_ptr<WatchedHost> WatchedHost::ThisOne() { return std::make_unique<ThisHost>(); }

std::string AddressOf(const std::string& endpoint) {
  std::string address = endpoint.substr(0, endpoint.rfind(':'));
  if (address.size() > 2 && address.front() == '[') address = address.substr(1, address.size() - 2);
  return address;
}

}  // namespace wf::watch
