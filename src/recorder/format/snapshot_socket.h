// The socket on which a recorded process receives requests for a snapshot, and the answer: used by the
// recorder and by the requester.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wf::recorder {

// Connecting is the request.
struct SnapshotAnswer {
  uint32_t number;  // 0: no snapshot could be taken
  uint32_t unused;
  char file[4096];  // the file that holds it
};

// Returns the size of the address, as bind and connect need it. The name is abstract, so no file is left in
// any folder.
inline uint32_t SnapshotSocketName(uint32_t pid, sockaddr_un& address) {
  constexpr char kName[] = "wherefore-record.";
  std::memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  char* at = address.sun_path + 1;
  std::memcpy(at, kName, sizeof(kName) - 1);
  at += sizeof(kName) - 1;
  char digits[12];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + pid % 10);
  while ((pid /= 10) != 0);
  while (n > 0) *at++ = digits[--n];
  return static_cast<uint32_t>(at - reinterpret_cast<char*>(&address));
}

}  // namespace wf::recorder
