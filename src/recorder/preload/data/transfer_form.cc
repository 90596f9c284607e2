#include "recorder/preload/data/transfer_form.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/text.h"

namespace wf::recorder::data {

Form FormOf(long number) {
  switch (number) {
    case SYS_read:
      return {Shape::kBuffer, Direction::kIn, -1};
    case SYS_pread64:
      return {Shape::kBuffer, Direction::kIn, 3};
    case SYS_recvfrom:
      return {Shape::kBuffer, Direction::kIn, -1};
    case SYS_write:
      return {Shape::kBuffer, Direction::kOut, -1};
    case SYS_pwrite64:
      return {Shape::kBuffer, Direction::kOut, 3};
    case SYS_sendto:
      return {Shape::kBuffer, Direction::kOut, -1};
    case SYS_readv:
      return {Shape::kVector, Direction::kIn, -1};
    case SYS_preadv:
    case SYS_preadv2:
      return {Shape::kVector, Direction::kIn, 3};
    case SYS_writev:
      return {Shape::kVector, Direction::kOut, -1};
    case SYS_pwritev:
    case SYS_pwritev2:
      return {Shape::kVector, Direction::kOut, 3};
    case SYS_recvmsg:
      return {Shape::kMessage, Direction::kIn, -1};
    case SYS_sendmsg:
      return {Shape::kMessage, Direction::kOut, -1};
    case SYS_recvmmsg:
      return {Shape::kMessages, Direction::kIn, -1};
    case SYS_sendmmsg:
      return {Shape::kMessages, Direction::kOut, -1};
    case SYS_sendfile:
    case SYS_copy_file_range:
    case SYS_splice:
      return {Shape::kBetween, Direction::kOut, -1};
    default:
      return {Shape::kNone, Direction::kIn, -1};
  }
}

void FillTransfer(const Channel& channel, const Passage& passage, uint64_t time_ns,
                  TransferRecord* record) {
  Transfer& transfer = record->transfer;
  const uint32_t padded = (channel.name_length + 7) / 8 * 8;
  transfer.head = {RecordKind::kTransfer, static_cast<uint16_t>(channel.name_length),
                   static_cast<uint32_t>(sizeof(Transfer)) + padded};
  transfer.kind = channel.kind;
  transfer.flags = passage.flags;
  transfer.op = static_cast<uint32_t>(passage.number);
  transfer.begin = passage.begin;
  transfer.end = passage.end;
  transfer.address = passage.address;
  transfer.time_ns = time_ns;
  transfer.stream = channel.stream;
  for (uint32_t i = 0; i < padded; ++i)
    record->name[i] = i < channel.name_length ? channel.name[i] : static_cast<char>(0);
}

bool DescribeMapping(const Mapping& mapping, Channel* channel, uint64_t* end) {
  if ((mapping.flags & MAP_ANONYMOUS) != 0 || (mapping.protection & PROT_EXEC) != 0) return false;
  if (!DescribeChannel(mapping.fd, Direction::kIn, channel) || channel->counted) return false;
  struct stat about = {};
  *end = mapping.offset + mapping.length;
  if (Kernel(SYS_fstat, mapping.fd, Word(&about)) == 0 &&
      static_cast<uint64_t>(about.st_size) < *end)
    *end = static_cast<uint64_t>(about.st_size);
  return *end > mapping.offset;
}

uint64_t ReadWhole(const char* path, char* to, uint64_t room) {
  const int fd = static_cast<int>(Kernel(SYS_open, Word(path), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return 0;
  uint64_t size = 0;
  for (long n = 0; size < room &&
                   (n = Kernel(SYS_read, fd, Word(to + size), static_cast<long>(room - size))) > 0;)
    size += static_cast<uint64_t>(n);
  Kernel(SYS_close, fd);
  return size;
}

LoaderPlace FindLoaderPlace() {
  constexpr uint64_t kMostOfALoader = 64 << 20;
  static char maps[64 << 10];
  LoaderPlace place;
  const uint64_t size = ReadWhole("/proc/self/maps", maps, sizeof maps - 1);
  for (const char* line = maps; line < maps + size;) {
    const char* end = line;
    while (end < maps + size && *end != '\n') ++end;
    const char* at = line;
    const uint64_t start = ReadHex(&at);
    ++at;
    const uint64_t stop = ReadHex(&at);
    for (const char* p = at; p + 9 < end; ++p) {
      if (!StartsWith(p, "/ld-linux")) continue;
      // An emulator has one of its own, far above the program's.
      if (place.end != 0 && start - place.end > kMostOfALoader) return place;
      if (place.start == 0) place.start = start;
      place.end = stop;
    }
    line = end + 1;
  }
  return place;
}

}  // namespace wf::recorder::data
