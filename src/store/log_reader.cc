#include "store/log_reader.h"

#include <fmt/format.h>

#include <cstring>

#include "store/directory.h"

namespace wf::store {
namespace {

struct Record {
  uint64_t synced = 0;
  std::string_view payload;
};

bool ParseRecord(std::string_view file, size_t at, uint64_t number, Record& out) {
  if (file.size() - at < kLogRecordBytes) return false;
  uint32_t magic, length;
  uint64_t check;
  std::memcpy(&magic, file.data() + at, 4);
  std::memcpy(&length, file.data() + at + 4, 4);
  std::memcpy(&out.synced, file.data() + at + 8, 8);
  std::memcpy(&check, file.data() + at + 16, 8);
  if (magic != kLogRecordMagic || length > file.size() - at - kLogRecordBytes) return false;
  out.payload = file.substr(at + kLogRecordBytes, length);
  return LogCheck(number, length, out.synced, out.payload) == check;
}

// Does a whole record behind `at` say that this place had been synced?
bool WasSynced(std::string_view file, size_t at, uint64_t number) {
  const std::string_view magic(reinterpret_cast<const char*>(&kLogRecordMagic), 4);
  for (size_t p = file.find(magic, at + 1); p != std::string_view::npos;
       p = file.find(magic, p + 1)) {
    Record record;
    if (ParseRecord(file, p, number, record) && record.synced > at) return true;
  }
  return false;
}

}  // namespace

Result<LogReadResult> ReadLog(const std::string& path, uint64_t number,
                              const std::function<Status(std::string_view)>& take) {
  auto content = ReadWholeFile(path);
  if (!content.ok()) return content.error();
  const std::string_view file = *content;
  LogReadResult out;
  uint64_t stored = 0;
  if (file.size() >= kLogHeaderBytes) std::memcpy(&stored, file.data() + 8, 8);
  if (file.size() < kLogHeaderBytes || file.substr(0, 8) != "WFLOG001" || stored != number) {
    // The header is synced before the first record is written: a short or wrong one has nothing behind it.
    if (file.size() <= kLogHeaderBytes) {
      out.torn_bytes = file.size();
      return out;
    }
    return EnvironmentError(
        fmt::format("{}: offset 0: not a log file of this store", path),
        "the file is damaged; restore it from a copy, or move it away to open without it");
  }
  size_t at = kLogHeaderBytes;
  Record record;
  while (at < file.size()) {
    if (!ParseRecord(file, at, number, record)) {
      if (WasSynced(file, at, number)) {
        return EnvironmentError(
            fmt::format("{}: offset {}: damaged record", path, at),
            "the file is damaged; restore it from a copy, or move it away to open without it");
      }
      out.torn_bytes = file.size() - at;
      return out;
    }
    WF_TRY(take(record.payload));
    ++out.records;
    at += kLogRecordBytes + record.payload.size();
  }
  return out;
}

}  // namespace wf::store
