#include "recorder/preload/scribe_memory.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <time.h>

#include <cstdint>
#include <cstring>

#include "recorder/preload/raw_calls.h"

namespace wf::recorder {
namespace {

constexpr uint32_t kMost = 16384;
struct Mapping {
  uint64_t begin, end;
  uint64_t file;  // hash of its path; 0: none
  bool keep;
};
Mapping g_mappings[kMost];
uint32_t g_count = 0;

uint64_t ParseHex(const char*& at) {
  uint64_t value = 0;
  for (;; ++at) {
    const int digit = *at >= '0' && *at <= '9'   ? *at - '0'
                      : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
                                                 : -1;
    if (digit < 0) return value;
    value = value << 4 | static_cast<uint64_t>(digit);
  }
}

void ParseLine(const char* line, const char* end) {
  if (g_count == kMost) return;
  Mapping& mapping = g_mappings[g_count++];
  mapping.begin = ParseHex(line);
  ++line;
  mapping.end = ParseHex(line);
  mapping.file = 0;
  const char* path =
      static_cast<const char*>(std::memchr(line, '/', static_cast<size_t>(end - line)));
  const char* named =
      static_cast<const char*>(std::memchr(line, '[', static_cast<size_t>(end - line)));
  // Vdso, vvar.
  mapping.keep = path == nullptr && named != nullptr && std::memcmp(named, "[v", 2) == 0;
  if (path == nullptr) return;
  mapping.file = 0xcbf29ce484222325ull;
  for (; path < end; ++path)
    mapping.file = (mapping.file ^ static_cast<uint8_t>(*path)) * 0x100000001b3ull;
}

bool ReadMappings() {
  static char text[64 * 1024];
  const long fd = RawCall(SYS_openat, -100 /* AT_FDCWD */, Arg("/proc/self/maps"), O_RDONLY);
  if (fd < 0) return false;
  size_t held = 0;
  while (true) {
    const long got =
        RawCall(SYS_read, fd, Arg(text + held), static_cast<long>(sizeof(text) - held - 1));
    if (got <= 0) break;
    held += static_cast<size_t>(got);
    size_t begin = 0;
    for (size_t at = 0; at < held; ++at) {
      if (text[at] != '\n') continue;
      ParseLine(text + begin, text + at);
      begin = at + 1;
    }
    std::memmove(text, text + begin, held - begin);
    held -= begin;
  }
  RawCall(SYS_close, fd);
  return g_count < kMost;
}

void Keep(const void* address) {
  const uint64_t at = reinterpret_cast<uint64_t>(address);
  for (uint32_t i = 0; i < g_count; ++i)
    if (at >= g_mappings[i].begin && at < g_mappings[i].end) g_mappings[i].keep = true;
}

// All of its file, and the zeroed memory that follows its data without a name.
void KeepWhole(const void* code) {
  const uint64_t at = reinterpret_cast<uint64_t>(code);
  uint64_t file = 0;
  for (uint32_t i = 0; i < g_count; ++i)
    if (at >= g_mappings[i].begin && at < g_mappings[i].end) file = g_mappings[i].file;
  for (uint32_t i = 0; file != 0 && i < g_count; ++i) {
    if (g_mappings[i].file != file) continue;
    g_mappings[i].keep = true;
    if (i + 1 < g_count && g_mappings[i + 1].file == 0 &&
        g_mappings[i + 1].begin == g_mappings[i].end)
      g_mappings[i + 1].keep = true;
  }
}

}  // namespace

void DropProgramMemory(const void* const kept[], size_t count) {
  if (!ReadMappings()) return;
  int here;
  Keep(&here);
  void* thread;
  __asm__("movq %%fs:0, %0" : "=r"(thread));
  Keep(thread);
  // The last byte of the thread's own memory lies below that address.
  Keep(static_cast<char*>(thread) - 1);
  KeepWhole(reinterpret_cast<const void*>(&DropProgramMemory));
  void* (*copy)(void*, const void*, size_t) = &std::memcpy;
  int (*clock)(clockid_t, timespec*) = &::clock_gettime;
  KeepWhole(reinterpret_cast<const void*>(copy));
  KeepWhole(reinterpret_cast<const void*>(clock));
  // The linker: libc's clock looks there.
  KeepWhole(reinterpret_cast<const void*>(::getauxval(AT_BASE)));
  for (size_t i = 0; i < count; ++i) Keep(kept[i]);
  for (uint32_t i = 0; i < g_count; ++i) {
    const Mapping& mapping = g_mappings[i];
    if (!mapping.keep && mapping.begin < (uint64_t{1} << 47))
      RawCall(SYS_munmap, static_cast<long>(mapping.begin),
              static_cast<long>(mapping.end - mapping.begin));
  }
}

}  // namespace wf::recorder
