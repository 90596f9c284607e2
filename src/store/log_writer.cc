#include "store/log_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "store/directory.h"

namespace wf::store {
namespace {

Error LogFailed(const std::string& path, const char* what) {
  return EnvironmentError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)),
                          "check free space on the disk");
}

}  // namespace

std::string LogFileName(uint64_t number) { return fmt::format("{:08}.wal", number); }

uint64_t LogCheck(uint64_t file_number, uint32_t length, uint64_t synced,
                  std::string_view payload) {
  return HashBytes(payload, MixBits(file_number) ^ MixBits(synced + 1) ^ length);
}

Result<std::unique_ptr<LogWriter>> LogWriter::Create(const std::string& folder, uint64_t number,
                                                     SyncMode sync) {
  std::unique_ptr<LogWriter> out(new LogWriter());
  out->path_ = folder + "/" + LogFileName(number);
  out->number_ = number;
  out->sync_ = sync;
  out->fd_ = open(out->path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (out->fd_ < 0) return LogFailed(out->path_, "create");
  out->buffer_ = "WFLOG001";
  out->buffer_.append(reinterpret_cast<const char*>(&number), 8);
  Status made = out->Commit();
  if (made.ok() && sync == SyncMode::kSync) made = SyncDirectory(folder);
  if (!made.ok()) {  // disk full: leave nothing behind that a later start would read
    unlink(out->path_.c_str());
    return made.error();
  }
  return out;
}

LogWriter::~LogWriter() {
  if (fd_ >= 0) close(fd_);
}

void LogWriter::BeginRecord() {
  record_ = buffer_.size();
  buffer_.resize(record_ + kLogRecordBytes);
}

void LogWriter::EndRecord() {
  const size_t body = record_ + kLogRecordBytes;
  const auto length = static_cast<uint32_t>(buffer_.size() - body);
  const uint64_t check = LogCheck(number_, length, synced_, std::string_view(buffer_).substr(body));
  char* head = buffer_.data() + record_;
  std::memcpy(head, &kLogRecordMagic, 4);
  std::memcpy(head + 4, &length, 4);
  std::memcpy(head + 8, &synced_, 8);
  std::memcpy(head + 16, &check, 8);
}

Status LogWriter::Commit() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t n = write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return LogFailed(path_, "write");
    done += static_cast<size_t>(n);
  }
  size_ += buffer_.size();
  // A rare huge group must not keep its memory for ever.
  if (buffer_.capacity() > (8u << 20)) std::string().swap(buffer_);
  buffer_.clear();
  if (sync_ == SyncMode::kSync) {
    if (fdatasync(fd_) != 0) return LogFailed(path_, "fdatasync");
    synced_ = size_;
  }
  return {};
}

}  // namespace wf::store
