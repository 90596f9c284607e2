// Sighting: one message seen at one place, all that a black box shows: when, what kind, from whom to whom, which id.
// Message text (docs/reference/messages.md), captures, mail headers and `watch` all become sightings; pairing makes calls of them
// (analysis/paths/call.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/nanos.h"
#include "base/result.h"
#include "model/string_table.h"

namespace wf {

enum class MessageKind : uint8_t { kCall, kReturn, kMessage };

// Whose clock a sighting's time is by.
enum class SightedBy : uint8_t { kCommon, kSender, kReceiver };  // CALL, CALL_SENT, CALL_RCVD

using NodeId = uint32_t;  // of a StringTable of node names that all sources of one run share

// Where a sighting stands: the input's place on the command line and the line in it, both from 1.
struct Place {
  uint32_t input = 0;
  uint64_t line = 0;
  bool operator==(const Place&) const = default;
  bool operator<(const Place& other) const {
    return input != other.input ? input < other.input : line < other.line;
  }
};

struct Sighting {
  Nanos time_ns = 0;
  Place place;
  NodeId sender = 0, receiver = 0;
  MessageKind kind = MessageKind::kMessage;
  SightedBy by = SightedBy::kCommon;
  uint64_t id = 0;                // KeyOf its text; 0: unknown (`-`)
  uint64_t thread = 0, conn = 0;  // KeyOf their texts, at the end that sighted it; 0: not given
  int64_t bytes = -1;             // -1: not given
  uint64_t path = 0;              // KeyOf the truth; inference never uses it. 0: not given
};

// Texts are compared by a 64-bit key: a hundred million ids need not be kept.
inline uint64_t KeyOf(std::string_view text) {
  const uint64_t key = HashBytes(text);
  return key == 0 ? 1 : key;
}

// A sighting with the texts that only printing needs.
struct SightingLine {
  Sighting sighting;
  std::string id = "-";
  std::string keys;  // `thread=7 conn=a`, as written; no blank before or behind
};

// Sightings of one input, one after another, in the order they stand there (which may differ from time's).
class SightingSource {
 public:
  virtual ~SightingSource() = default;
  // False at the end. `line` is reused, so that its texts keep their memory.
  virtual Result<bool> Next(SightingLine& line) = 0;
};

}  // namespace wf
