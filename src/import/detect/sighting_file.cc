#include "import/detect/sighting_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "import/detect/format_detector.h"

namespace wf::detect {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPeek = 4096;

Result<SightingFileKind> KindOf(std::string_view head, HeadExtent extent, const std::string& name) {
  const DetectedFile found = DetectFile(head, extent, name);
  switch (found.kind) {
    case FileKind::kCapture:
      return SightingFileKind::kCapture;
    case FileKind::kMail:
      return SightingFileKind::kMail;
    case FileKind::kEmpty:
    case FileKind::kMessageText:
      return SightingFileKind::kText;
    case FileKind::kEvents:
    case FileKind::kOther:
      break;
  }
  if (found.syntax == DetectedFile::Syntax::kJson)
    return BadInput(name + ": JSON, not messages", "wherefore import reads traces");
  return BadInput(name + ": neither message text nor a capture nor mail",
                  "pcap, pcapng, mbox and the text of docs/reference/messages.md are read");
}

Error FileError(const std::string& name, const char* next) {
  return EnvironmentError(name + ": " + std::strerror(errno), next);
}

}  // namespace

SightingFile::~SightingFile() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
  if (copy_fd_ >= 0) ::close(copy_fd_);
}

Result<std::unique_ptr<SightingFile>> SightingFile::Open(const std::string& path) {
  std::unique_ptr<SightingFile> file(new SightingFile());
  SightingFile* raw = file.get();
  raw->path_ = path;
  raw->name_ = path == "-" ? "standard input" : path;
  raw->fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (raw->fd_ < 0 && errno == ENOENT) {
    return BadInput(path + ": no such file or folder", "check the path");
  }
  if (raw->fd_ < 0) return FileError(raw->name_, "may it be read?");
  struct stat info {};
  if (::fstat(raw->fd_, &info) == 0 && S_ISREG(info.st_mode)) {
    raw->bytes_total_ = static_cast<uint64_t>(info.st_size);
    ::posix_fadvise(raw->fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  raw->reader_ =
      std::make_unique<net::DecodingReader>([raw](char* buffer, size_t size) -> Result<size_t> {
        while (true) {
          const ssize_t got = ::read(raw->fd_, buffer, size);
          if (got >= 0) {
            raw->bytes_read_ += static_cast<uint64_t>(got);
            return static_cast<size_t>(got);
          }
          if (errno != EINTR) return EnvironmentError(std::strerror(errno), "can it be read?");
        }
      });
  WF_TRY(raw->Peek());
  // Whether more follows is not known, and not waited for.
  WF_ASSIGN(raw->kind_, KindOf(raw->peeked_, HeadExtent::kBeginning, raw->name_));
  return file;
}

// A stream may come in small pieces; some bytes tell already, so that nobody waits for a full buffer.
Status SightingFile::Peek() {
  constexpr size_t kEnough = 64;
  peeked_.resize(kPeek);
  size_t have = 0;
  while (have < kEnough) {
    const auto got = reader_->Read(peeked_.data() + have, kPeek - have);
    if (!got.ok()) {
      return Error{got.error().code, name_ + ": " + got.error().message, got.error().hint};
    }
    if (*got == 0) break;
    have += *got;
  }
  peeked_.resize(have);
  return {};
}

net::ChunkSource SightingFile::Bytes() {
  return [this](char* buffer, size_t size) -> Result<size_t> {
    if (given_ == peeked_.size()) return reader_->Read(buffer, size);
    const size_t n = std::min(size, peeked_.size() - given_);
    std::memcpy(buffer, peeked_.data() + given_, n);
    given_ += n;
    return n;
  };
}

Result<std::string> SightingFile::Path() {
  if (bytes_total_ > 0 && path_ != "-" && reader_->compression() == net::Compression::kIdentity)
    return path_;
  const char* folder = std::getenv("TMPDIR");
  std::string copy = std::string(folder != nullptr ? folder : "/tmp") + "/wherefore-capture-XXXXXX";
  copy_fd_ = ::mkostemp(copy.data(), O_CLOEXEC);
  if (copy_fd_ < 0) return FileError(copy, "set TMPDIR to a writable folder");
  ::unlink(copy.c_str());
  const net::ChunkSource bytes = Bytes();
  std::vector<char> buffer(256 * 1024);
  while (true) {
    const auto got = bytes(buffer.data(), buffer.size());
    if (!got.ok()) {
      return Error{got.error().code, name_ + ": " + got.error().message, got.error().hint};
    }
    if (*got == 0) break;
    for (size_t at = 0; at < *got;) {
      const ssize_t put = ::write(copy_fd_, buffer.data() + at, *got - at);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return FileError("a temporary copy of " + name_, "is TMPDIR's disk full?");
      at += static_cast<size_t>(put);
    }
  }
  ::lseek(copy_fd_, 0, SEEK_SET);
  return "/proc/self/fd/" + std::to_string(copy_fd_);
}

Result<std::vector<std::string>> ListSightingFiles(const std::string& input) {
  std::error_code code;
  if (input == "-" || !fs::is_directory(input, code)) return std::vector<std::string>{input};
  std::vector<std::string> files;
  fs::recursive_directory_iterator it(input, code), end;
  for (; !code && it != end; it.increment(code)) {
    const bool hidden = it->path().filename().string()[0] == '.';
    std::error_code ignored;
    if (it->is_directory(ignored)) {
      if (hidden) it.disable_recursion_pending();
    } else if (!hidden) {
      files.push_back(it->path().string());
    }
  }
  if (code) return EnvironmentError(input + ": " + code.message(), "is the folder readable?");
  if (files.empty()) return BadInput(input + ": no file in it", "name the files");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace wf::detect
