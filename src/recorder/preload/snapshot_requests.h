// Snapshots that another process asks for (`wherefore cpg snapshot --pid P`): a socket in the abstract namespace, named
// after the recorded process. Only the user whom the scribe runs as, and root, is answered.
#pragma once

#include <cstdint>

namespace wf::recorder {

class SnapshotRequests {
 public:
  // Until it is open: again and again, because an earlier program of the same process may not have let go yet.
  void Open(uint32_t pid);
  // The connection of somebody who asks; -1: nobody does.
  int Accept();
  // number 0: it could not be taken.
  void Answer(int connection, uint32_t number, const char* file);

 private:
  int socket_ = -1;
};

}  // namespace wf::recorder
