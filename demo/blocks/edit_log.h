// The name node's log of edits: a change of the names is answered when it is on the disk. Whoever waits for the disk writes
// what others have appended meanwhile, too, so that many changes at once share one wait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace blocks {

// Thread-safe. As the data nodes' disks, the file has no name any more once it is open.
class EditLog {
 public:
  EditLog();
  ~EditLog();
  EditLog(const EditLog&) = delete;
  EditLog& operator=(const EditLog&) = delete;

  // Its number, for Sync. Edits are in the log in the order of these calls.
  uint64_t Append(const std::string& edit);
  // Returns when this edit and all before it are on the disk; false: they are not.
  bool Sync(uint64_t edit);

 private:
  const int fd_;
  std::mutex mutex_;
  std::condition_variable written_;
  std::string waiting_;
  uint64_t appended_ = 0, synced_ = 0;
  bool writing_ = false, failed_ = false;
};

}  // namespace blocks
