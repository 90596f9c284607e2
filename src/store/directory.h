// The store's directory: format, lock, files.
//
//   format            "wherefore store 1\n"
//   lock              held (flock) by the one process that writes
//   wal/NNNNNNNN.wal  acknowledged batches that are not yet in a part (log_format.h)
//   parts/NNNNNN.duckdb
//   state.duckdb      messages, attachments, clocks, saved texts; made when first needed
//   datasets/NNNNNN.duckdb  rows of one dataset; a store without the folder has none, so this is no new format
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace wf::store {

constexpr int kStoreFormat = 1;

// Holds the directory until destroyed.
class DirectoryLock {
 public:
  static Result<DirectoryLock> Take(const std::string& directory);
  DirectoryLock(DirectoryLock&& o) noexcept;
  DirectoryLock& operator=(DirectoryLock&& o) noexcept;
  ~DirectoryLock();

 private:
  DirectoryLock() = default;
  int fd_ = -1;
};

// Makes the directory and its folders when missing; refuses a newer format.
Status PrepareDirectory(const std::string& directory);

Status SyncDirectory(const std::string& directory);
Result<std::string> ReadWholeFile(const std::string& path);
// Written whole or not at all.
Status WriteWholeFile(const std::string& path, std::string_view content);
// Numbers N of files named N + suffix, in order.
std::vector<uint64_t> NumberedFiles(const std::string& directory, std::string_view suffix);
// Blocks on disk of everything below.
int64_t DirectoryBytes(const std::string& directory);

}  // namespace wf::store
