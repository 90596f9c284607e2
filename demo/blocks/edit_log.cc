#include "edit_log.h"

#include <unistd.h>

#include <utility>

#include "local_disk.h"

namespace blocks {

EditLog::EditLog() : fd_(OpenScratchFile()) {}
EditLog::~EditLog() { close(fd_); }

uint64_t EditLog::Append(const std::string& edit) {
  const std::lock_guard lock(mutex_);
  waiting_ += edit;
  return ++appended_;
}

bool EditLog::Sync(uint64_t edit) {
  std::unique_lock lock(mutex_);
  while (synced_ < edit && !failed_) {
    if (writing_) {
      written_.wait(lock);
      continue;
    }
    writing_ = true;
    const std::string edits = std::exchange(waiting_, {});
    const uint64_t last = appended_;
    lock.unlock();
    const bool well =
        write(fd_, edits.data(), edits.size()) == static_cast<ssize_t>(edits.size()) &&
        fdatasync(fd_) == 0;
    lock.lock();
    writing_ = false;
    synced_ = well ? last : synced_;
    failed_ = failed_ || !well;
    written_.notify_all();
  }
  return synced_ >= edit;
}

}  // namespace blocks
