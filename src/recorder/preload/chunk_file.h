// The file as the scribe writes it: chunks, each compressed separately, collected and written together.
#pragma once

#include <cstdint>

#include "recorder/format/records.h"
#include "recorder/preload/lz4_block.h"

namespace wf::recorder {

constexpr uint32_t kMaxChunk = 256 * 1024;  // of records, before compression

// One per scribe. Large, so it is in static memory, which only a scribe touches.
class ChunkFile {
 public:
  void Open(int fd) { fd_ = fd; }
  // Later writes go to this offset of the file instead of its end.
  void Seek(uint64_t offset) { at_ = offset; }
  // The offset of the next chunk, if Seek was called.
  uint64_t position() const { return at_ + used_; }
  // `size` ≤ kMaxChunk.
  void Write(ChunkKind kind, uint32_t thread, const void* records, uint32_t size);
  void Flush();
  int trouble() const { return trouble_; }  // errno of the first write that failed

 private:
  int fd_ = -1;
  int trouble_ = 0;
  uint64_t at_ = 0;  // 0: at the end of the file
  uint32_t used_ = 0;
  uint32_t table_[kLz4TableSize];
  uint8_t out_[1 << 20];
};

}  // namespace wf::recorder
