// What a descriptor is to the recording: a file, a pipe, a socket, one of the standard streams; and the
// position of a transfer in it.
#pragma once

#include <cstdint>

#include "recorder/format/records.h"
#include "recorder/preload/data/handler_lock.h"

namespace wf::recorder::data {

// A pipe, socket or terminal: how many bytes went in each direction.
struct StreamCount {
  uint64_t device;
  uint64_t inode;
  uint64_t in;
  uint64_t out;
  uint64_t pair;  // for a socket pair: the name of the stream that both ends share
};

constexpr int kMaxStreams = 4096;

struct Streams {
  HandlerLock lock;
  int count;
  StreamCount all[kMaxStreams];
  uint64_t standard_device[3];  // what the standard streams were at the start
  uint64_t standard_inode[3];
};
// The streams of the recorded program, for the code that watches its calls.
Streams& ProgramStreams();
void NoteStandardStreams();

enum class Direction { kIn, kOut };

struct Channel {
  TransferKind kind;
  bool counted;     // it has no offsets: bytes are counted
  bool carries;     // what is written to it can be read from it
  uint64_t stream;  // Transfer::stream
  uint64_t device, inode;
  uint32_t name_length;
  char name[1024];
};

// False if no data comes in or goes out through it (an event, a timer, a closed descriptor).
bool DescribeChannel(int fd, Direction direction, Channel* channel);
// The position of the last `size` bytes transferred; `offset` is that of the call, or -1 for the file's own.
uint64_t PlaceOf(int fd, const Channel& channel, Direction direction, uint64_t size,
                 int64_t offset);
void PairStreams(int a, int b);

}  // namespace wf::recorder::data
