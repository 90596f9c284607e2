#include "recorder/preload/snapshot_requests.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "recorder/format/snapshot_socket.h"
#include "recorder/preload/raw_calls.h"

namespace wf::recorder {

void SnapshotRequests::Open(uint32_t pid) {
  if (socket_ >= 0) return;
  sockaddr_un address;
  const uint32_t size = SnapshotSocketName(pid, address);
  const long fd = RawCall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  if (RawCall(SYS_bind, fd, Arg(&address), size) != 0 || RawCall(SYS_listen, fd, 8) != 0) {
    RawCall(SYS_close, fd);
    return;
  }
  socket_ = static_cast<int>(fd);
}

int SnapshotRequests::Accept() {
  if (socket_ < 0) return -1;
  const long fd = RawCall(SYS_accept4, socket_, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return -1;
  ucred peer = {};
  socklen_t size = sizeof(peer);
  const bool known =
      RawCall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, Arg(&peer), Arg(&size)) == 0;
  if (known && (peer.uid == 0 || peer.uid == static_cast<uid_t>(RawCall(SYS_geteuid))))
    return static_cast<int>(fd);
  RawCall(SYS_close, fd);
  return -1;
}

void SnapshotRequests::Answer(int connection, uint32_t number, const char* file) {
  static SnapshotAnswer answer;
  answer.number = number;
  std::strncpy(answer.file, file, sizeof(answer.file) - 1);
  // It fits into the socket's buffer; a requester that has ended meanwhile gets nothing.
  RawCall(SYS_sendto, connection, Arg(&answer), sizeof(answer), MSG_NOSIGNAL, 0, 0);
  RawCall(SYS_close, connection);
}

}  // namespace wf::recorder
