// Snapshots that another process requests (`wherefore cpg snapshot --pid P`): a socket in the abstract
// namespace, named after the recorded process. Only the scribe's own user and root get an answer.
#pragma once

#include <cstdint>

namespace wf::recorder {

class SnapshotRequests {
 public:
  // Called repeatedly until it is open, because an earlier program of the same process may still hold the
  // name.
  void Open(uint32_t pid);
  // The connection of a requester; -1 if there is none.
  int Accept();
  // number 0: no snapshot could be taken.
  void Answer(int connection, uint32_t number, const char* file);

 private:
  int socket_ = -1;
};

}  // namespace wf::recorder
