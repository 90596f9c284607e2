#include "cli/new_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace wf::cli {

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(part_.c_str());
}

Error NewFile::Failed(const std::string& path) {
  return EnvironmentError(path + ": " + std::strerror(errno),
                          "is the folder there and writable, and is there room?");
}

Status NewFile::Open() {
  file_ = std::fopen(part_.c_str(), "wb");
  if (file_ == nullptr) return Failed(part_);
  return {};
}

Status NewFile::Write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) return Failed(part_);
  return {};
}

Status NewFile::Finish() {
  std::FILE* file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0) {
    const Error failed = Failed(part_);
    std::remove(part_.c_str());
    return failed;
  }
  if (std::rename(part_.c_str(), path_.c_str()) != 0) {
    const Error failed = Failed(path_);
    std::remove(part_.c_str());
    return failed;
  }
  return {};
}

}  // namespace wf::cli
