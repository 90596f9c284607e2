// For fuzzing: any bytes → a batch of events of one trace, drawn from few ids, times and hosts so that they meet.
#pragma once

#include <string>
#include <string_view>

#include "model/event_batch.h"

namespace wf::testing {

inline EventBatch EventsFromBytes(std::string_view bytes) {
  EventBatch batch;
  batch.scopes.push_back({});
  batch.processes.push_back({batch.strings.Intern("a"), batch.strings.Intern("h1"), 0, 0});
  batch.processes.push_back({batch.strings.Intern("b"), batch.strings.Intern("h2"), 0, 0});
  batch.processes.push_back({batch.strings.Intern("a"), 0, 0, 0});
  batch.processes.push_back({0, 0, 0, 0});
  const uint32_t thread = batch.strings.Intern("thread.id"),
                 async = batch.strings.Intern("wherefore.async");
  const uint32_t lock = batch.strings.Intern("label:lock");
  // Eight bytes an event.
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
    batch.AddRow();
    batch.trace_lo.back() = 1;
    const int type = at(0) % 48;  // half of them spans
    batch.type.back() = type < 23   ? static_cast<EventType>(type)
                        : type < 24 ? EventType::kUnknown
                                    : EventType::kSpan;
    batch.id1.back() = at(1) % 16;
    batch.id2.back() = at(2) % 16;
    batch.parent_ref.back() = static_cast<ParentRef>(at(0) % 3);
    batch.start_ns.back() = at(3) == 255 ? INT64_MAX : at(3) == 254 ? INT64_MIN : at(3);
    batch.end_ns.back() = at(4) == 255 ? INT64_MAX : at(4) == 254 ? INT64_MIN : at(4);
    batch.marks.back() = at(5) & 8 ? (at(5) & (kHasStart | kHasEnd)) : (kHasStart | kHasEnd);
    batch.kind.back() = static_cast<SpanKind>(at(5) / 16 % 6);
    batch.process.back() = at(6) % 4;
    if (at(6) & 4) batch.SetSequence(at(6) / 16);
    if (at(6) & 8) batch.SetReceived(static_cast<Nanos>(at(6)) * kSecond);
    if (at(7) & 1) PutVarint(thread, batch.bytes), PutInt(at(7) / 64, batch.bytes);
    if (at(7) & 2) PutVarint(async, batch.bytes), PutBool(true, batch.bytes);
    if (at(7) & 4) PutVarint(lock, batch.bytes), PutString("l", batch.bytes);
    batch.EndAttributes();
    if (at(7) & 8) PutPoint({at(4), thread, {}}, batch.bytes);
    batch.EndPoints();
    if (at(7) & 16)
      PutLink({{0, 1}, {static_cast<uint64_t>(at(4) % 16)}, 0, 0, 0, {}}, batch.bytes);
    batch.EndLinks();
  }
  return batch;
}

}  // namespace wf::testing
