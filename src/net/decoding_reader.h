// Reads a compressed file piece by piece: format by its magic bytes, plain data passed through. For
// import, where a file may be larger than memory. One thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.h"
#include "net/compression.h"

namespace wf::net {

// Fills up to `size` bytes at `buffer` and returns how many; 0 is the end.
using ChunkSource = std::function<Result<size_t>(char* buffer, size_t size)>;

class DecodingReader {
 public:
  explicit DecodingReader(ChunkSource source);
  ~DecodingReader();
  DecodingReader(DecodingReader&&) noexcept;
  DecodingReader& operator=(DecodingReader&&) noexcept;

  // Fills up to `size` (> 0) bytes and returns how many; 0 is the end. Errors of the source are
  // passed on; damaged or cut data is BadInput. After an error every further call returns it again.
  Result<size_t> Read(char* buffer, size_t size);

  // Known after the first Read.
  Compression compression() const;
  size_t bytes_consumed() const;  // of the source, for progress

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wf::net
