#include "local_disk.h"

#include <unistd.h>

#include <cstdlib>

#include "wherefore/tracepoint.h"

namespace blocks {

int OpenScratchFile() {
  const char* folder = std::getenv("TMPDIR");
  std::string name = std::string(folder == nullptr ? "/tmp" : folder) + "/wherefore-blocks-XXXXXX";
  const int fd = mkstemp(name.data());
  unlink(name.c_str());
  return fd;
}

LocalDisk::LocalDisk(uint64_t bytes) : size_(bytes), fd_(OpenScratchFile()) {
  if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) size_ = kPiece;
}
LocalDisk::~LocalDisk() { close(fd_); }

void LocalDisk::ReadPiece(uint64_t offset, char* to, uint64_t bytes) const {
  WHEREFORE_TRACEPOINT("FileInputStream.read", {"length", bytes});
  (void)!pread(fd_, to, bytes, static_cast<off_t>(offset % (size_ - bytes + 1)));
}
void LocalDisk::WritePiece(uint64_t offset, const char* from, uint64_t bytes) const {
  WHEREFORE_TRACEPOINT("FileOutputStream.write", {"length", bytes});
  (void)!pwrite(fd_, from, bytes, static_cast<off_t>(offset % (size_ - bytes + 1)));
}

}  // namespace blocks
