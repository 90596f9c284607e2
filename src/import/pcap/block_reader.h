// BlockReader: a file or bytes in memory as one stream in which the next bytes can be looked at. Files are
// read in blocks that stay in the processor's cache. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wf::pcap {

class BlockReader {
 public:
  // `bytes` must outlive the reader.
  explicit BlockReader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
  // Takes ownership of the descriptor.
  explicit BlockReader(int descriptor) : descriptor_(descriptor) {}
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // The next `size` bytes, or null if there are fewer. Valid until the next call.
  const char* Look(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size && !Fill(size)) return nullptr;
    return at_;
  }
  // Advances over bytes that were looked at.
  void Pass(size_t size) { at_ += size; }
  // Bytes available without reading more.
  size_t there() const { return static_cast<size_t>(end_ - at_); }
  int error() const { return error_; }  // errno of a failed read, or 0

 private:
  bool Fill(size_t size);

  int descriptor_ = -1;
  int error_ = 0;
  bool ended_ = false;
  std::vector<char> block_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace wf::pcap
