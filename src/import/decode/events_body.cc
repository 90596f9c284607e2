#include "import/decode/events_body.h"

#include "model/packed.h"

namespace wf::decode {
namespace {

constexpr uint8_t kHasId2 = 1, kHasSequence = 2, kHasName = 4;  // flags of an event

}  // namespace

void EventsBody::Count(uint64_t count) { PutVarint(count, body_); }

void EventsBody::Text(std::string_view text) {
  PutVarint(text.size(), body_);
  body_.append(text);
}

void EventsBody::TextValue(std::string_view text) {
  body_.push_back(1);
  Text(text);
}

void EventsBody::IntValue(int64_t value) {
  body_.push_back(3);
  PutVarint(ZigZag(value), body_);
}

void EventsBody::TextRef(std::string_view text) {
  const auto [known, added] =
      texts_.emplace(std::string(text), static_cast<uint32_t>(texts_.size() + 1));
  PutVarint(added ? 0 : known->second, body_);
  if (added) Text(text);
}

void EventsBody::Event(wherefore::EventType type, TraceId trace, uint64_t id1, uint64_t id2,
                       Nanos time, std::string_view name, uint64_t annotations, int64_t sequence) {
  body_.push_back(static_cast<char>(type));
  body_.push_back(static_cast<char>((id2 != 0 ? kHasId2 : 0) |
                                    (sequence != kNoSequence ? kHasSequence : 0) |
                                    (name.empty() ? 0 : kHasName)));
  const auto [known, added] = traces_.emplace(trace, static_cast<uint32_t>(traces_.size() + 1));
  PutVarint(added ? 0 : known->second, body_);
  if (added) {
    PutFixed64(trace.hi);
    PutFixed64(trace.lo);
  }
  PutFixed64(id1);
  if (id2 != 0) PutFixed64(id2);
  if (sequence != kNoSequence) PutVarint(ZigZag(sequence), body_);
  PutVarint(ZigZag(time - last_time_), body_);
  last_time_ = time;
  if (!name.empty()) TextRef(name);
  PutVarint(annotations, body_);
  ++events_;
}

void EventsBody::PutFixed64(uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) body_.push_back(static_cast<char>(value >> shift));
}

}  // namespace wf::decode
