// The record of one event: what a woven program knows about it while it runs, and what it sends when the
// kernel cannot finish the advice. A header, then one slot for each variable that advice observes. Programs
// keep it in their frame, or directly in the ring if the frame is too small.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weaver/probe_site.h"

namespace wf::weaver {

// What a record in the ring contains.
enum class RecordKind : uint32_t {
  kEvent,
  kUnknownProcess,  // an event of a process that user space has not judged yet
  // A MessageRecord.
  kSendBegins,
  kSendEnds,
  kReceives,          // bytes that a followed request may have sent
  kReceivesUnmarked,  // other bytes, received by a thread that may be in a request
  kThreadEnds,
};

// From `entered` on, it is also what is kept for a call between its entry and its end.
struct RecordHeader {
  uint64_t time = 0;     // Unix ns
  uint64_t process = 0;  // in our namespace
  uint64_t thread = 0;   // the kernel's number
  uint32_t place = 0;    // index in Places
  uint32_t kind = 0;
  uint64_t context = 0;   // the request, as the kernel follows it; 0: none
  uint64_t entered = 0;   // monotonic ns
  uint64_t previous = 0;  // frame of the enclosing call that is also watched
  uint64_t nulls = 0;     // bit i: variable i is null
};
static_assert(sizeof(RecordHeader) == 64);
constexpr size_t kMaxVariables = 60;

enum class StreamKind : uint32_t { kTcp = 1, kUnix = 2 };

// One direction of a connection, the same for sender and receiver. TCP: addresses and ports; Unix: the
// receiving socket, in target[0].
struct StreamKey {
  uint64_t source[2] = {}, target[2] = {};
  uint16_t source_port = 0, target_port = 0;
  uint32_t kind = 0;
  auto operator<=>(const StreamKey&) const = default;
};
static_assert(sizeof(StreamKey) == 40);

struct MessageRecord {
  RecordHeader header;
  StreamKey stream;
  uint64_t own = 0;       // the thread's own socket
  uint64_t position = 0;  // of the first byte in the stream; TCP: 32 bits, which wrap around
  uint64_t bytes = 0;
};
static_assert(sizeof(MessageRecord) == 128);

enum class SlotForm : uint8_t {
  kInteger,
  kBool,
  kDouble,
  kFloat,
  kString,  // eight bytes of length, then the bytes, padded with zeros
  kText,    // the same for every event, so not in the record
  kNull,    // cannot be read here
};

struct VariableSlot {
  std::string name;
  uint32_t export_index = 0;  // of the definition
  SlotForm form = SlotForm::kNull;
  int16_t offset = 0;  // from the record's beginning
  bool maybe_null = true;
  bool narrow = false;  // kInteger: fits 32 bits with its sign
  std::string text;

  bool operator==(const VariableSlot&) const = default;
};

struct RecordLayout {
  std::vector<VariableSlot> variables;
  uint32_t string_bytes = 64;  // a multiple of eight
  uint32_t bytes = sizeof(RecordHeader);

  bool operator==(const RecordLayout&) const = default;
};

// A variable that advice observes, and how it is read where the event happens (kAtEntry: its value at the
// entry).
struct WantedVariable {
  std::string name;
  uint32_t export_index = 0;
  ValueRead read;
  bool from_entry = false;
};
RecordLayout LayOut(const std::vector<WantedVariable>& wanted, uint32_t string_bytes);

}  // namespace wf::weaver
