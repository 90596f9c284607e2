// Where a recorded process is asked for a snapshot, and what is answered: known to the recorder and to whoever asks.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wf::recorder {

// Connecting is the request.
struct SnapshotAnswer {
  uint32_t number;  // 0: it could not be taken
  uint32_t unused;
  char file[4096];  // that it is in
};

// Its size, as bind and connect want it. Abstract: nothing is left behind in any folder.
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
