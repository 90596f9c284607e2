// EventsBody writes the binary form of events (docs/reference/events.md), for data that was not sent as
// events: watched locks, recordings. First the process (Count, then a Text and a value each), then events,
// each followed by the number of annotations that it declared (a TextRef and a value each).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/ids.h"
#include "base/nanos.h"
#include "wherefore/event.h"

namespace wf::decode {

class EventsBody {
 public:
  EventsBody() { body_.assign("WFEV\1", 5); }

  void Count(uint64_t count);
  void Text(std::string_view text);
  void TextValue(std::string_view text);
  void IntValue(int64_t value);
  void TextRef(std::string_view text);
  static constexpr int64_t kNoSequence = -1;
  // id2 0 and an empty name are left out. Sequence numbers order the events of a unit where times are equal.
  void Event(wherefore::EventType type, TraceId trace, uint64_t id1, uint64_t id2, Nanos time,
             std::string_view name, uint64_t annotations, int64_t sequence = kNoSequence);

  int64_t events() const { return events_; }
  size_t size() const { return body_.size(); }
  std::string Take() { return std::move(body_); }

 private:
  void PutFixed64(uint64_t value);

  std::string body_;
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<TraceId, uint32_t> traces_;
  Nanos last_time_ = 0;
  int64_t events_ = 0;
};

}  // namespace wf::decode
