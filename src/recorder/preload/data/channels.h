// What a descriptor is to the recording: a file, a pipe, a socket, one of the standard streams; and where in it a
// transfer lies.
#pragma once

#include <cstdint>

#include "recorder/format/records.h"

namespace wf::recorder::data {

enum class Direction { kIn, kOut };

struct Channel {
  TransferKind kind;
  bool counted;     // no offsets of its own: bytes are counted
  bool carries;     // what is written to it can be read from it
  uint64_t stream;  // Transfer::stream
  uint64_t device, inode;
  uint32_t name_length;
  char name[1024];
};

// False if it is nothing that data comes in or goes out by (an event, a timer, a closed descriptor).
bool DescribeChannel(int fd, Direction direction, Channel* channel);
// Where `size` bytes that just went through lie; `offset` is that of the call or -1 for the file's own.
uint64_t PlaceOf(int fd, const Channel& channel, Direction direction, uint64_t size,
                 int64_t offset);
void PairStreams(int a, int b);

}  // namespace wf::recorder::data
