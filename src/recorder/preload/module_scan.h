// Which files are mapped where: the scribe reads it from /proc, so that the program takes no lock of the dynamic linker
// for it (one that a constructor holds, which waits for this very thread).
#pragma once

#include <cstdint>

#include "recorder/preload/chunk_file.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

class ModuleScan {
 public:
  void Open(int maps) { maps_ = maps; }
  // Writes the mappings that are new since the last time, and tells the program of the executable ones.
  void Scan(Region* region, ChunkFile& file, uint64_t now_ns);
  // The next scan writes all of them: a slot of the file begins.
  void Forget() { known_ = 0; }

 private:
  struct Line {
    uint64_t begin, end, offset;
    uint32_t protection;
    const char* path;
    uint32_t path_size;
  };
  static bool Parse(const char* text, const char* text_end, Line& line);
  bool IsNew(const Line& line);
  void Note(Region* region, ChunkFile& file, const Line& line, uint64_t now_ns);

  int maps_ = -1;
  static constexpr uint32_t kMost = 8192;
  uint32_t known_ = 0;
  uint64_t known_hash_[kMost];
  char text_[64 * 1024];
};

}  // namespace wf::recorder
