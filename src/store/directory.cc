#include "store/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

namespace wf::store {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFormatPrefix = "wherefore store ";

Error Failed(const std::string& path, const char* what) {
  return EnvironmentError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)),
                          "check that the directory exists and may be written");
}

}  // namespace

Result<DirectoryLock> DirectoryLock::Take(const std::string& directory) {
  const std::string path = directory + "/lock";
  DirectoryLock out;
  out.fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (out.fd_ < 0) return Failed(path, "open");
  // Others look at the lock for an instant to learn whether it is held: so try for a while before believing it.
  for (int tries = 0; flock(out.fd_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries == 10) {
      return EnvironmentError(fmt::format("{}: another process has this store open", directory),
                              "ask through the server that holds it, or wait until it is done");
    }
    usleep(20'000);
  }
  return out;
}

DirectoryLock::DirectoryLock(DirectoryLock&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
DirectoryLock& DirectoryLock::operator=(DirectoryLock&& o) noexcept {
  std::swap(fd_, o.fd_);
  return *this;
}
DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

Status PrepareDirectory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory + "/wal", error);
  if (!error) fs::create_directories(directory + "/parts", error);
  if (!error) fs::create_directories(directory + "/tmp", error);
  if (error) {
    return EnvironmentError(fmt::format("{}: {}", directory, error.message()),
                            "name a directory that may be written with --store");
  }
  const std::string path = directory + "/format";
  if (!fs::exists(path, error))
    return WriteWholeFile(path, fmt::format("{}{}\n", kFormatPrefix, kStoreFormat));
  WF_ASSIGN(const std::string text, ReadWholeFile(path));
  int version = 0;
  if (text.rfind(kFormatPrefix, 0) == 0) {
    std::from_chars(text.data() + kFormatPrefix.size(), text.data() + text.size(), version);
  }
  if (version <= 0) {
    return EnvironmentError(fmt::format("{}: not a store's format file", path),
                            "name another directory with --store");
  }
  if (version > kStoreFormat) {
    return EnvironmentError(fmt::format("{}: format {} is newer than this program's {}", directory,
                                        version, kStoreFormat),
                            "open it with the version that wrote it, or a later one");
  }
  return {};  // format 1 is the first: there is nothing older to migrate
}

Status SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failed(directory, "open");
  const int failed = fsync(fd);
  close(fd);
  if (failed != 0) return Failed(directory, "fsync");
  return {};
}

Result<std::string> ReadWholeFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Failed(path, "open");
  struct stat info;
  std::string out;
  if (fstat(fd, &info) == 0) out.resize(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = read(fd, out.data() + done, out.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const Error failed = Failed(path, "read");
      close(fd);
      return failed;
    }
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  close(fd);
  out.resize(done);
  return out;
}

Status WriteWholeFile(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return Failed(temporary, "create");
  const bool written =
      write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      fsync(fd) == 0;
  close(fd);
  if (!written || rename(temporary.c_str(), path.c_str()) != 0) return Failed(path, "write");
  return {};
}

std::vector<uint64_t> NumberedFiles(const std::string& directory, std::string_view suffix) {
  std::vector<uint64_t> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= suffix.size() || !std::string_view(name).ends_with(suffix)) continue;
    uint64_t number = 0;
    const char* end = name.data() + name.size() - suffix.size();
    const auto parsed = std::from_chars(name.data(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end) out.push_back(number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

int64_t DirectoryBytes(const std::string& directory) {
  int64_t total = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(directory, error); !error && it != fs::end(it);
       it.increment(error)) {
    struct stat info;
    if (stat(it->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
      total += info.st_blocks * 512;
  }
  return total;
}

}  // namespace wf::store
