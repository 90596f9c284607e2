// A machine's disk: reads and writes of one file, in pieces as Hadoop's streams make them.
#pragma once

#include <cstdint>
#include <string>

namespace blocks {

// Without a name; in TMPDIR, else /tmp.
int OpenScratchFile();

// Thread-safe. The file has no name any more once it is open.
class LocalDisk {
 public:
  explicit LocalDisk(uint64_t bytes);
  ~LocalDisk();
  LocalDisk(const LocalDisk&) = delete;
  LocalDisk& operator=(const LocalDisk&) = delete;

  // `each` is told the size of every piece.
  template <typename Each>
  std::string Read(uint64_t offset, uint64_t bytes, Each each) {
    std::string data(bytes, '\0');
    for (uint64_t done = 0; done < bytes; done += kPiece) {
      const uint64_t part = bytes - done < kPiece ? bytes - done : kPiece;
      ReadPiece(offset + done, data.data() + done, part);
      each(part);
    }
    return data;
  }
  template <typename Each>
  void Write(uint64_t offset, const std::string& data, Each each) {
    for (uint64_t done = 0; done < data.size(); done += kPiece) {
      const uint64_t part = data.size() - done < kPiece ? data.size() - done : kPiece;
      WritePiece(offset + done, data.data() + done, part);
      each(part);
    }
  }

 private:
  static constexpr uint64_t kPiece = 64 << 10;
  // Beyond the file's end they begin at its front again: what is kept does not matter here, that it moves does.
  void ReadPiece(uint64_t offset, char* to, uint64_t bytes) const;
  void WritePiece(uint64_t offset, const char* from, uint64_t bytes) const;

  uint64_t size_;
  const int fd_;
};

}  // namespace blocks
