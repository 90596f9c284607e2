// One file of messages, of a kind found by its content: message text, a capture, mail. gzip and zstd are read as they
// are; `-` is standard input.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/decoding_reader.h"

namespace wf::detect {

enum class SightingFileKind { kText, kCapture, kMail };

class SightingFile {
 public:
  // Opens it and looks at its beginning. kBadInput: of none of the kinds.
  static Result<std::unique_ptr<SightingFile>> Open(const std::string& path);
  ~SightingFile();
  SightingFile(const SightingFile&) = delete;
  SightingFile& operator=(const SightingFile&) = delete;

  const std::string& name() const { return name_; }  // for people: "standard input" for `-`
  SightingFileKind kind() const { return kind_; }
  // The decoded bytes from the beginning. The file must outlive it; once only.
  net::ChunkSource Bytes();
  // A path to the decoded bytes, for libraries that want one: the file itself, or a temporary copy of what is
  // compressed or a stream, which goes with this object.
  Result<std::string> Path();

  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t bytes_total() const { return bytes_total_; }  // 0: not known

 private:
  SightingFile() = default;
  Status Peek();

  std::string path_, name_;
  SightingFileKind kind_ = SightingFileKind::kText;
  int fd_ = -1, copy_fd_ = -1;
  std::unique_ptr<net::DecodingReader> reader_;
  std::string peeked_;
  size_t given_ = 0;  // of what was peeked at
  uint64_t bytes_read_ = 0, bytes_total_ = 0;
};

// The files that an input stands for: itself, or all below a folder in the order of their paths, hidden ones left out.
// kBadInput: nothing in it.
Result<std::vector<std::string>> ListSightingFiles(const std::string& input);

}  // namespace wf::detect
