#include "recorder/launch/snapshot_request.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_descriptor.h"
#include "recorder/format/snapshot_socket.h"

namespace wf::recorder {
namespace {

// The recorder looks every 40 ms and waits up to a quarter of a second for threads; more is a machine in trouble.
constexpr time_t kPatienceSeconds = 20;

}  // namespace

Result<TakenSnapshot> RequestSnapshot(uint32_t pid) {
  const std::string process = "process " + std::to_string(pid);
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return EnvironmentError(std::string("socket: ") + std::strerror(errno));
  sockaddr_un address;
  const uint32_t size = SnapshotSocketName(pid, address);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
    return NotFound(process + ": is not recorded", "wherefore record -- PROG records one");
  // Any process may have taken the name: the file it names is trusted only if it comes from our own user or
  // root.
  ucred peer{};
  socklen_t peer_size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0 ||
      (peer.uid != ::geteuid() && peer.uid != 0 && ::geteuid() != 0))
    return Denied(process + ": is another user's", "ask as the user who records it");
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  SnapshotAnswer answer{};
  size_t got = 0;
  while (got < sizeof answer) {
    const ssize_t now =
        ::recv(socket.get(), reinterpret_cast<char*>(&answer) + got, sizeof answer - got, 0);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    got += static_cast<size_t>(now);
  }
  if (got < sizeof answer)
    return EnvironmentError(process + ": its recorder did not answer",
                            "it may have just ended; read its recording");
  answer.file[sizeof answer.file - 1] = 0;
  if (answer.number == 0)
    return Overloaded(process + ": no snapshot could be taken",
                      "a thread was in the middle of a call; try again");
  return TakenSnapshot{answer.file, answer.number};
}

}  // namespace wf::recorder
