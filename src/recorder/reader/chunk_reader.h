// A .cpg file as its chunks, one after another, decompressed and checked. A file may be truncated, still in
// writing, or damaged: what cannot be read is reported with its reason, never guessed. Thread safety: one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "recorder/format/records.h"

namespace wf::recorder {

// Reads up to `size` bytes at `offset`; 0 at the end.
using ReadAt = std::function<Result<size_t>(uint64_t offset, char* to, size_t size)>;
ReadAt FromMemory(std::string_view bytes);
Result<ReadAt> FromFile(const std::string& path);

struct Chunk {
  ChunkKind kind = ChunkKind::kEnd;
  uint32_t thread = 0;
  std::string_view payload;  // valid until the next chunk is read
};

class ChunkReader {
 public:
  // BadInput if it is not a .cpg file, or one of a newer version.
  static Result<ChunkReader> Open(ReadAt read, const std::string& name);

  // Reads chunks only, from a file with this head.
  static ChunkReader Within(const FileHead& head, ReadAt read) {
    ChunkReader reader;
    reader.head_ = head;
    reader.read_ = std::move(read);
    return reader;
  }

  const FileHead& head() const { return head_; }
  // False at the end of the chunks, or of the readable part.
  Result<bool> Next(Chunk& chunk);
  // The recorder wrote that the recording ended normally.
  bool complete() const { return complete_ && damaged_ == 0; }
  uint64_t damaged() const { return damaged_; }  // chunks skipped
  // errno of the error that stopped the writing; 0: none.
  uint32_t trouble() const { return trouble_; }
  uint32_t only_snapshot() const {
    return only_snapshot_;
  }  // in a copy of one snapshot: its number; else 0
  uint64_t position() const { return at_; }

 private:
  ReadAt read_;
  FileHead head_{};
  uint64_t at_ = 0;
  uint64_t damaged_ = 0;
  bool complete_ = false;
  uint32_t trouble_ = 0;
  uint32_t only_snapshot_ = 0;
  std::string stored_, raw_;
};

uint64_t ChecksumOf(std::string_view bytes);  // FNV-1a, 64 bits

}  // namespace wf::recorder
