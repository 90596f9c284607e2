// For tests: the binary form of events (docs/reference/events.md) read back, written apart from the encoder and the server.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/transport/test_receiver.h"
#include "wherefore/event.h"

namespace wherefore::client {

struct ReceivedEvent {
  EventType type = EventType::kUnknown;
  std::string trace;  // 32 digits
  uint64_t id1 = 0, id2 = 0;
  int64_t sequence = -1, time_ns = 0;
  std::string name, error;
  int kind = 0, status = 0;
  std::map<std::string, std::string> annotations;  // by whole key; numbers as digits
  std::map<std::string, std::string> process;
};

class EventsReader {
 public:
  explicit EventsReader(std::string_view body) : rest_(body) {}
  bool ok() const { return ok_; }

  std::vector<ReceivedEvent> All() {
    std::vector<ReceivedEvent> events;
    ok_ = Bytes(5) == std::string_view("WFEV\x01", 5);
    std::map<std::string, std::string> process;
    for (uint64_t n = Varint(); n > 0 && ok_; --n) {
      const std::string key(Bytes(Varint()));
      process[key] = Value();
    }
    while (ok_ && !rest_.empty()) {
      events.push_back(Event());
      events.back().process = process;
    }
    return events;
  }

 private:
  std::string_view Bytes(uint64_t n) {
    if (n > rest_.size()) ok_ = false, n = 0;
    const std::string_view bytes = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return bytes;
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = Bytes(1);
      if (byte.empty()) return 0;
      value |= (static_cast<uint64_t>(byte[0]) & 0x7F) << shift;
      if ((byte[0] & 0x80) == 0) break;
    }
    return value;
  }
  int64_t Signed() {
    const uint64_t v = Varint();
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
  }
  uint64_t Fixed() {
    uint64_t value = 0;
    const std::string_view bytes = Bytes(8);
    if (bytes.size() == 8) std::memcpy(&value, bytes.data(), 8);
    return value;
  }
  std::string Value() {
    const std::string_view type = Bytes(1);
    if (type == "\x01") return std::string(Bytes(Varint()));
    if (type == "\x02") return Bytes(1) == "\x01" ? "true" : "false";
    if (type == "\x03") return std::to_string(Signed());
    const uint64_t bits = Fixed();
    double real;
    std::memcpy(&real, &bits, 8);
    char text[32];
    std::snprintf(text, sizeof text, "%g", real);
    return text;
  }
  std::string Text() {
    const uint64_t reference = Varint();
    if (reference == 0) return texts_.emplace_back(Bytes(Varint()));
    if (reference <= texts_.size()) return texts_[reference - 1];
    ok_ = false;
    return {};
  }
  std::string Trace() {
    const uint64_t reference = Varint();
    if (reference == 0) {
      const uint64_t hi = Fixed(), lo = Fixed();
      char text[33];
      std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hi),
                    static_cast<unsigned long long>(lo));
      return traces_.emplace_back(text);
    }
    if (reference <= traces_.size()) return traces_[reference - 1];
    ok_ = false;
    return {};
  }
  ReceivedEvent Event() {
    ReceivedEvent event;
    const std::string_view head = Bytes(2);
    if (head.size() < 2) return event;
    event.type = EventTypeFromNumber(static_cast<uint8_t>(head[0]));
    const int flags = head[1];
    event.trace = Trace();
    event.id1 = Fixed();
    if (flags & 1) event.id2 = Fixed();
    if (flags & 2) event.sequence = Signed();
    event.time_ns = time_ns_ += Signed();
    if (flags & 4) event.name = Text();
    if (flags & 8) event.kind = Bytes(1)[0];
    if (flags & 16) {
      event.status = Bytes(1)[0];
      event.error = std::string(Bytes(Varint()));
    }
    for (uint64_t n = Varint(); n > 0 && ok_; --n) {
      const std::string key = Text();
      event.annotations[key] = Value();
    }
    return event;
  }

  std::string_view rest_;
  bool ok_ = true;
  int64_t time_ns_ = 0;
  std::vector<std::string> texts_, traces_;
};

// A receiver that takes every event.
class EventsReceiver : public TestReceiver {
 public:
  EventsReceiver()
      : TestReceiver([](int) {
          return Status("200 OK", "", R"({"accepted":1,"rejected":0,"reasons":{}})");
        }) {}

  std::vector<ReceivedEvent> Events() const {
    std::vector<ReceivedEvent> all;
    for (const HttpMessage& message : received()) {
      if (message.start_line.substr(0, 20) != "POST /api/v1/events ") continue;
      EventsReader reader(message.body);
      for (ReceivedEvent& event : reader.All()) all.push_back(std::move(event));
      if (!reader.ok()) std::abort();
    }
    return all;
  }
};

}  // namespace wherefore::client
