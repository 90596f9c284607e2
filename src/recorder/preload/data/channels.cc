#include "recorder/preload/data/channels.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <initializer_list>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/text.h"

namespace wf::recorder::data {
namespace {

constexpr const char* kStandardNames[3] = {"stdin", "stdout", "stderr"};
constexpr TransferKind kStandardKinds[3] = {TransferKind::kStdin, TransferKind::kStdout,
                                            TransferKind::kStderr};

uint64_t StreamOf(uint64_t device, uint64_t inode) { return device * 1099511628211u + inode; }

StreamCount* FindStream(uint64_t device, uint64_t inode) {  // with the lock held
  Streams& known = ProgramStreams();
  for (int i = 0; i < known.count; ++i)
    if (known.all[i].inode == inode && known.all[i].device == device) return &known.all[i];
  if (known.count == kMaxStreams) return nullptr;
  StreamCount* stream = &known.all[known.count++];
  *stream = {device, inode, 0, 0, 0};
  return stream;
}

// Which standard stream it is, or -1. A descriptor counts as one while it is what it was at the start; a copy of it
// does if it can be no other (a regular file may have been opened again under its name).
int StandardOf(int fd, const struct stat& about, Direction direction) {
  const auto same = [&](int which) {
    return ProgramStreams().standard_device[which] == about.st_dev &&
           ProgramStreams().standard_inode[which] == about.st_ino;
  };
  if (fd >= 0 && fd < 3) return same(fd) ? fd : -1;
  if (S_ISREG(about.st_mode) || S_ISCHR(about.st_mode)) return -1;
  if (direction == Direction::kIn) return same(0) ? 0 : -1;
  return same(1) ? 1 : same(2) ? 2 : -1;
}

char* AppendAddress(char* to, int fd, uint64_t inode) {
  union {
    sockaddr any;
    sockaddr_in four;
    sockaddr_in6 six;
    sockaddr_un local;
    char bytes[256];
  } peer = {};
  socklen_t length = sizeof peer;
  to = AppendText(to, "socket:");
  const long found = Kernel(SYS_getpeername, fd, Word(&peer), Word(&length));
  if (found == 0 && peer.any.sa_family == AF_INET) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&peer.four.sin_addr);
    for (int i = 0; i < 4; ++i) {
      if (i > 0) *to++ = '.';
      to = AppendNumber(to, bytes[i]);
    }
    *to++ = ':';
    return AppendNumber(to, ntohs(peer.four.sin_port));
  }
  if (found == 0 && peer.any.sa_family == AF_INET6) {
    *to++ = '[';
    for (int i = 0; i < 8; ++i) {
      if (i > 0) *to++ = ':';
      const uint32_t word =
          uint32_t{peer.six.sin6_addr.s6_addr[2 * i]} << 8 | peer.six.sin6_addr.s6_addr[2 * i + 1];
      for (int shift = 12, seen = 0; shift >= 0; shift -= 4) {
        const uint32_t digit = word >> shift & 15;
        seen |= static_cast<int>(digit) | (shift == 0 ? 1 : 0);
        if (seen != 0) *to++ = "0123456789abcdef"[digit];
      }
    }
    to = AppendText(to, "]:");
    return AppendNumber(to, ntohs(peer.six.sin6_port));
  }
  if (found == 0 && peer.any.sa_family == AF_UNIX && length > sizeof(sa_family_t)) {
    if (peer.local.sun_path[0] == 0 && length > sizeof(sa_family_t) + 1) {
      *to++ = '@';
      for (uint32_t i = 1; i < length - sizeof(sa_family_t) && i < 100; ++i)
        *to++ = peer.local.sun_path[i] != 0 ? peer.local.sun_path[i] : '@';
      *to = 0;
      return to;
    }
    if (peer.local.sun_path[0] != 0) return AppendText(to, peer.local.sun_path);
  }
  return AppendNumber(to, inode);
}

}  // namespace

bool DescribeChannel(int fd, Direction direction, Channel* channel) {
  struct stat about = {};
  if (Kernel(SYS_fstat, fd, Word(&about)) < 0) return false;
  channel->device = about.st_dev;
  channel->inode = about.st_ino;
  channel->counted = !S_ISREG(about.st_mode) && !S_ISBLK(about.st_mode);
  channel->stream = StreamOf(about.st_dev, about.st_ino);
  channel->carries = S_ISREG(about.st_mode) || S_ISBLK(about.st_mode) || S_ISFIFO(about.st_mode);
  if (S_ISSOCK(about.st_mode)) {
    ProgramStreams().lock.Take();
    const StreamCount* stream = FindStream(about.st_dev, about.st_ino);
    if (stream != nullptr && stream->pair != 0) {
      channel->stream = stream->pair;
      channel->carries = true;
    }
    ProgramStreams().lock.Give();
  }
  char* end = channel->name;
  const int standard = StandardOf(fd, about, direction);
  if (standard >= 0) {
    channel->kind = kStandardKinds[standard];
    if (standard > 0) channel->counted = true;
    end = AppendText(end, kStandardNames[standard]);
  } else if (S_ISFIFO(about.st_mode)) {
    channel->kind = TransferKind::kPipe;
    end = AppendNumber(AppendText(end, "pipe:"), about.st_ino);
  } else if (S_ISSOCK(about.st_mode)) {
    channel->kind = TransferKind::kSocket;
    end = AppendAddress(end, fd, about.st_ino);
  } else {
    char link[40];
    AppendNumber(AppendText(link, "/proc/self/fd/"), static_cast<uint64_t>(fd));
    const long length =
        Kernel(SYS_readlink, Word(link), Word(channel->name), sizeof channel->name - 1);
    if (length <= 0 || channel->name[0] != '/') return false;
    channel->name[length] = 0;
    end = channel->name + length;
    channel->kind = TransferKind::kFile;
  }
  channel->name_length = static_cast<uint32_t>(end - channel->name);
  return true;
}

uint64_t PlaceOf(int fd, const Channel& channel, Direction direction, uint64_t size,
                 int64_t offset) {
  if (!channel.counted) {
    if (offset >= 0) return static_cast<uint64_t>(offset);
    const long position = Kernel(SYS_lseek, fd, 0, SEEK_CUR);
    return position >= static_cast<long>(size) ? static_cast<uint64_t>(position) - size : 0;
  }
  // Standard output and error may be one file: each counts its own bytes.
  const uint64_t inode = channel.kind == TransferKind::kStdout   ? 1
                         : channel.kind == TransferKind::kStderr ? 2
                                                                 : channel.inode;
  const uint64_t device = inode < 3 ? 0 : channel.device;
  ProgramStreams().lock.Take();
  StreamCount* stream = FindStream(device, inode);
  uint64_t place = 0;
  if (stream != nullptr) {
    uint64_t& count = direction == Direction::kIn ? stream->in : stream->out;
    place = count;
    count += size;
  }
  ProgramStreams().lock.Give();
  return place;
}

void PairStreams(int a, int b) {
  struct stat first = {}, second = {};
  if (Kernel(SYS_fstat, a, Word(&first)) < 0 || Kernel(SYS_fstat, b, Word(&second)) < 0) return;
  const uint64_t id = StreamOf(first.st_dev, first.st_ino);
  ProgramStreams().lock.Take();
  for (const struct stat* one : {&first, &second}) {
    StreamCount* stream = FindStream(one->st_dev, one->st_ino);
    if (stream != nullptr) *stream = {one->st_dev, one->st_ino, 0, 0, id};
  }
  ProgramStreams().lock.Give();
}

void NoteStandardStreams() {
  for (int fd = 0; fd < 3; ++fd) {
    struct stat about = {};
    if (Kernel(SYS_fstat, fd, Word(&about)) < 0) continue;
    ProgramStreams().standard_device[fd] = about.st_dev;
    ProgramStreams().standard_inode[fd] = about.st_ino;
  }
}

}  // namespace wf::recorder::data
