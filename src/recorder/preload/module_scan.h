// Which files are mapped where. The scribe reads this from /proc, so that the program needs no lock of the
// dynamic linker for it: a constructor that waits for this thread may hold that lock.
#pragma once

#include <cstdint>

#include "recorder/preload/chunk_file.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

class ModuleScan {
 public:
  void Open(int maps) { maps_ = maps; }
  // Writes the mappings that are new since the last scan, and passes the executable ones to the program.
  void Scan(Region* region, ChunkFile& file, uint64_t now_ns);
  // The next scan writes all mappings again, because a slot of the file begins.
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
