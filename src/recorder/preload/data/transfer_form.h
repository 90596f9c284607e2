// How system calls move data: where their buffers are, which way it goes, and the record of it. Used by the
// code that traps the calls, and by the emulator's plugin, which only watches them.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cstdint>

#include "recorder/preload/data/channels.h"

namespace wf::recorder::data {

enum class Shape : uint8_t { kNone, kBuffer, kVector, kMessage, kMessages, kBetween };

struct Form {
  Shape shape;
  Direction direction;
  int offset_argument;  // -1: the file's own position
};
Form FormOf(long number);

struct CallArguments {
  uint64_t value[6];
  int64_t Offset(const Form& form) const {
    return form.offset_argument < 0 ? -1 : static_cast<int64_t>(value[form.offset_argument]);
  }
};

// For a call that moves data from one descriptor to another.
struct Ends {
  int in, out;
};
inline Ends EndsOf(long number, const CallArguments& given) {
  const auto first = static_cast<int>(given.value[0]);
  return number == SYS_sendfile ? Ends{static_cast<int>(given.value[1]), first}
                                : Ends{first, static_cast<int>(given.value[2])};
}

// The buffers that a call which returned `size` has filled or sent: take(pieces, count, bytes). Not for
// kBetween, which has none.
template <typename Take>
void ForEachVector(const Form& form, const CallArguments& given, uint64_t size, const Take& take) {
  if (form.shape == Shape::kBuffer) {
    const iovec piece = {reinterpret_cast<void*>(given.value[1]), size};
    take(&piece, uint64_t{1}, size);
  } else if (form.shape == Shape::kVector) {
    take(reinterpret_cast<const iovec*>(given.value[1]), given.value[2], size);
  } else if (form.shape == Shape::kMessage) {
    const auto* message = reinterpret_cast<const msghdr*>(given.value[1]);
    take(message->msg_iov, uint64_t{message->msg_iovlen}, size);
  } else if (form.shape == Shape::kMessages) {
    const auto* messages = reinterpret_cast<const mmsghdr*>(given.value[1]);
    for (uint64_t i = 0; i < size; ++i)
      take(messages[i].msg_hdr.msg_iov, uint64_t{messages[i].msg_hdr.msg_iovlen},
           uint64_t{messages[i].msg_len});
  }
}

// The pieces of such a buffer that were used: take(address, bytes).
template <typename Take>
void ForEachPiece(const iovec* pieces, uint64_t count, uint64_t size, const Take& take) {
  for (uint64_t i = 0; i < count && size > 0; ++i) {
    const uint64_t part = pieces[i].iov_len < size ? pieces[i].iov_len : size;
    if (part > 0) take(reinterpret_cast<uint64_t>(pieces[i].iov_base), part);
    size -= part;
  }
}

inline uint16_t FlagsOf(Direction direction) { return direction == Direction::kOut ? kOutput : 0; }

// What was transferred: bytes [begin, end) of the channel.
struct Passage {
  uint16_t flags;  // TransferFlags
  long number;
  uint64_t begin, end;
  uint64_t address;
};
struct TransferRecord {
  Transfer transfer;
  char name[sizeof(Channel::name) + 8];
};
void FillTransfer(const Channel& channel, const Passage& passage, uint64_t time_ns,
                  TransferRecord* record);

// The bytes of a mapped file. False: it is not an input or output.
struct Mapping {
  uint64_t address, length;
  int protection, flags, fd;
  uint64_t offset;
};
bool DescribeMapping(const Mapping& mapping, Channel* channel, uint64_t* end);
inline bool MapsForWriting(const Mapping& mapping) {
  constexpr int kMapType = 0x0F, kMapPrivate = 0x02, kProtWrite = 0x02;
  return (mapping.flags & kMapType) != kMapPrivate && (mapping.protection & kProtWrite) != 0;
}

// Reads a whole small file, at most `room` bytes; returns how many.
uint64_t ReadWhole(const char* path, char* to, uint64_t room);

// The address range of the dynamic linker: what it reads is not the program's input.
struct LoaderPlace {
  uint64_t start = 0, end = 0;
};
LoaderPlace FindLoaderPlace();

}  // namespace wf::recorder::data
