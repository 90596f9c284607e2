#include "recorder/preload/module_scan.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "recorder/preload/raw_calls.h"

namespace wf::recorder {
namespace {

const char* ParseHex(const char* at, const char* end, uint64_t& value) {
  value = 0;
  for (; at < end; ++at) {
    const char c = *at;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    value = value << 4 | static_cast<uint64_t>(digit);
  }
  return at;
}

}  // namespace

// "begin-end rwxp offset major:minor inode   path"
bool ModuleScan::Parse(const char* text, const char* end, Line& line) {
  const char* at = ParseHex(text, end, line.begin);
  if (at >= end || *at != '-') return false;
  at = ParseHex(at + 1, end, line.end);
  if (end - at < 6) return false;
  line.protection = (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) |
                    (at[3] == 'x' ? PROT_EXEC : 0);
  at = ParseHex(at + 6, end, line.offset);
  for (int fields = 0; fields < 2; ++fields) {
    while (at < end && *at == ' ') ++at;
    while (at < end && *at != ' ') ++at;
  }
  while (at < end && *at == ' ') ++at;
  line.path = at;
  line.path_size = static_cast<uint32_t>(end - at);
  return true;
}

bool ModuleScan::IsNew(const Line& line) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x100000001b3ull; };
  mix(line.begin);
  mix(line.end);
  mix(line.offset);
  mix(line.protection);
  for (uint32_t i = 0; i < line.path_size; ++i) mix(static_cast<uint8_t>(line.path[i]));
  for (uint32_t i = 0; i < known_; ++i)
    if (known_hash_[i] == hash) return false;
  if (known_ < kMost) known_hash_[known_++] = hash;
  return true;
}

void ModuleScan::Note(Region* region, ChunkFile& file, const Line& line, uint64_t now_ns) {
  if ((line.protection & PROT_EXEC) != 0) {
    const uint32_t n = region->modules.load(std::memory_order_relaxed);
    bool told = false;  // before what was known was forgotten
    for (uint32_t i = 0; i < n && !told; ++i)
      told = region->module[i].begin == line.begin && region->module[i].end == line.end;
    if (!told && n < kKnownModules) {
      region->module[n].begin = line.begin;
      region->module[n].end = line.end;
      region->modules.store(n + 1, std::memory_order_release);
    }
  }
  // Files by name only: not the anonymous memory that the kernel shows as /dev/zero, nor what was deleted.
  constexpr char kDeleted[] = " (deleted)";
  constexpr uint32_t kDeletedSize = sizeof(kDeleted) - 1;
  if (line.path_size == 0 || line.path[0] != '/' || line.path_size > 4096) return;
  if (line.path_size > kDeletedSize &&
      std::memcmp(line.path + line.path_size - kDeletedSize, kDeleted, kDeletedSize) == 0)
    return;
  alignas(8) static uint8_t bytes[sizeof(Module) + 4096 + 8];
  std::memset(bytes, 0, sizeof(bytes));
  Module record = {};
  record.head = {RecordKind::kModule, static_cast<uint16_t>(line.path_size),
                 static_cast<uint32_t>(sizeof(Module) + (line.path_size + 7) / 8 * 8)};
  record.begin = line.begin;
  record.end = line.end;
  record.offset = line.offset;
  record.time_ns = now_ns;
  record.protection = line.protection;
  std::memcpy(bytes, &record, sizeof(record));
  std::memcpy(bytes + sizeof(record), line.path, line.path_size);
  file.Write(ChunkKind::kProcess, kNoThread, bytes, record.head.size);
}

void ModuleScan::Scan(Region* region, ChunkFile& file, uint64_t now_ns) {
  if (maps_ < 0 || RawCall(SYS_lseek, maps_, 0, SEEK_SET) < 0) return;
  uint32_t held = 0;
  while (true) {
    const long got = RawCall(SYS_read, maps_, Arg(text_ + held), sizeof(text_) - held);
    if (got <= 0) break;
    held += static_cast<uint32_t>(got);
    uint32_t begin = 0;
    for (uint32_t at = 0; at < held; ++at) {
      if (text_[at] != '\n') continue;
      Line line;
      if (Parse(text_ + begin, text_ + at, line) && IsNew(line)) Note(region, file, line, now_ns);
      begin = at + 1;
    }
    std::memmove(text_, text_ + begin, held - begin);
    held -= begin;
  }
  file.Flush();
}

}  // namespace wf::recorder
