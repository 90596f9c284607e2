#include "store/duckdb/index_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/hash.h"

namespace wf::store::duckdb {
namespace {

constexpr uint64_t kMagic = 0x3158444E49464657ull;  // "WFFINDX1"
constexpr size_t kHeadWords = 5;

Error IndexFailed(const std::string& path, const char* what) {
  return EnvironmentError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)),
                          "check free space on the disk");
}

// Of the head only: a damaged text shows itself (dictionary) or costs a look-up in vain.
uint64_t CheckOf(const uint64_t* head) {
  return HashBytes({reinterpret_cast<const char*>(head), (kHeadWords - 1) * 8}, kMagic);
}

}  // namespace

Result<std::unique_ptr<IndexFile>> IndexFile::Open(const std::string& path) {
  auto out = std::make_unique<IndexFile>();
  out->path_ = path;
  out->fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (out->fd_ < 0) return IndexFailed(path, "open");
  return out;
}

IndexFile::~IndexFile() {
  if (fd_ >= 0) close(fd_);
}

Result<uint64_t> IndexFile::Append(const Record& record) {
  struct stat info;
  if (fstat(fd_, &info) != 0) return IndexFailed(path_, "stat");
  const auto begin = static_cast<uint64_t>(info.st_size);
  uint64_t head[kHeadWords] = {kMagic, record.trace_filter.size(), record.dictionary.size(),
                               record.attribute_filter.size(), 0};
  head[4] = CheckOf(head);
  uint64_t at = begin;
  for (std::string_view piece : {std::string_view(reinterpret_cast<const char*>(head), sizeof head),
                                 record.trace_filter, record.dictionary, record.attribute_filter}) {
    while (!piece.empty()) {
      const ssize_t n = pwrite(fd_, piece.data(), piece.size(), static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const Error failed = IndexFailed(path_, "write");
        if (ftruncate(fd_, info.st_size) != 0)
          return failed;  // leave no half record behind, if possible
        return failed;
      }
      piece.remove_prefix(static_cast<size_t>(n));
      at += static_cast<uint64_t>(n);
    }
  }
  if (fdatasync(fd_) != 0) return IndexFailed(path_, "fdatasync");
  return begin;
}

Result<uint64_t> IndexFile::Size() const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return IndexFailed(path_, "stat");
  return static_cast<uint64_t>(info.st_size);
}

Status IndexFile::Truncate(uint64_t size) {
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) return IndexFailed(path_, "truncate");
  return {};
}

Result<IndexFile::Place> IndexFile::Find(uint64_t at) const {
  WF_ASSIGN(const std::string bytes, Read(at, kHeadWords * 8));
  uint64_t head[kHeadWords];
  std::memcpy(head, bytes.data(), sizeof head);
  if (head[0] != kMagic || head[4] != CheckOf(head)) {
    return EnvironmentError(fmt::format("{}: offset {}: damaged record", path_, at),
                            "restore the store from a copy, or move the part and its index away");
  }
  Place place;
  place.trace_filter = at + kHeadWords * 8;
  place.dictionary = place.trace_filter + head[1];
  place.attribute_filter = place.dictionary + head[2];
  place.end = place.attribute_filter + head[3];
  return place;
}

Result<std::string> IndexFile::Read(uint64_t offset, uint64_t length) const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return IndexFailed(path_, "stat");
  if (length > static_cast<uint64_t>(info.st_size) ||
      offset > static_cast<uint64_t>(info.st_size) - length) {
    return EnvironmentError(fmt::format("{}: shorter than its part says", path_),
                            "restore the store from a copy");
  }
  std::string out(length, '\0');
  size_t done = 0;
  while (done < length) {
    const ssize_t n =
        pread(fd_, out.data() + done, length - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return IndexFailed(path_, "read");
    done += static_cast<size_t>(n);
  }
  return out;
}

}  // namespace wf::store::duckdb
