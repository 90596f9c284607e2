// What a descriptor is to the recording: a file, a pipe, a socket, one of the standard streams; and where in it a
// transfer lies.
#pragma once

#include <cstdint>

#include "recorder/format/records.h"
#include "recorder/preload/data/handler_lock.h"

namespace wf::recorder::data {

// A pipe, socket or terminal: how many bytes went which way.
struct StreamCount {
  uint64_t device;
  uint64_t inode;
  uint64_t in;
  uint64_t out;
  uint64_t pair;  // of a socket pair: the name of the stream that both ends are
};

constexpr int kMaxStreams = 4096;

struct Streams {
  HandlerLock lock;
  int count;
  StreamCount all[kMaxStreams];
  uint64_t standard_device[3];  // what the standard streams were at the start
  uint64_t standard_inode[3];
};
// Of the recorded program: whoever watches its calls has them.
Streams& ProgramStreams();
void NoteStandardStreams();

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
