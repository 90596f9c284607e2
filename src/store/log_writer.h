// Appends records to one log file. Thread safety: none; the store's log thread owns it.
#pragma once

#include <memory>
#include <string>

#include "store/log_format.h"

namespace wf::store {

enum class SyncMode { kSync, kNoSync };

class LogWriter {
 public:
  static Result<std::unique_ptr<LogWriter>> Create(const std::string& folder, uint64_t number,
                                                   SyncMode sync);
  ~LogWriter();

  // Begin a record, append its payload to buffer(), end it. Nothing is written before Commit.
  void BeginRecord();
  std::string& buffer() { return buffer_; }
  void EndRecord();
  // One write and, in kSync, one fdatasync. After an error the file is not used any more.
  Status Commit();

  uint64_t number() const { return number_; }
  uint64_t size() const { return size_; }

 private:
  LogWriter() = default;

  std::string path_;
  int fd_ = -1;
  uint64_t number_ = 0;
  uint64_t size_ = 0;  // bytes written
  uint64_t synced_ = 0;
  SyncMode sync_ = SyncMode::kSync;
  std::string buffer_;
  size_t record_ = 0;  // where the open record begins
};

}  // namespace wf::store
