#include "import/events/events_binary_decoder.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "base/varint.h"

namespace wf::events {
namespace {

constexpr std::string_view kMagic = "WFEV";
constexpr uint8_t kVersion = 1;

constexpr uint8_t kHasId2 = 1;
constexpr uint8_t kHasSequenceFlag = 2;
constexpr uint8_t kHasName = 4;
constexpr uint8_t kHasKind = 8;
constexpr uint8_t kHasStatus = 16;
constexpr uint8_t kKnownRecordFlags = 31;
constexpr uint8_t kNamedType = 255;

// Reads off the front. Once something is malformed, everything reads as zero or empty and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view body) : body_(body), rest_(body) {}
  bool ok() const { return reason_ == nullptr; }
  bool AtEnd() const { return rest_.empty() || !ok(); }
  size_t offset() const { return body_.size() - rest_.size(); }
  const char* reason() const { return reason_; }
  void Fail(const char* reason) {
    if (reason_ == nullptr) reason_ = reason;
    rest_ = {};
  }

  uint8_t Byte() {
    const std::string_view bytes = Bytes(1);
    return bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]);
  }
  uint64_t Fixed64() {
    const std::string_view bytes = Bytes(8);
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  }
  uint64_t Varint() {
    const std::string_view before = rest_;
    uint64_t value = 0;
    const bool whole = TakeVarint(rest_, value);
    if (!whole && before.size() < kMaxVarintBytes) {
      Fail("the body ends inside a number");
      return 0;
    }
    // The tenth byte has room for one bit.
    const bool tenth = before.size() - rest_.size() == kMaxVarintBytes;
    if (!whole || (tenth && before[kMaxVarintBytes - 1] != 0 && before[kMaxVarintBytes - 1] != 1)) {
      Fail("a number of more than 64 bits");
      return 0;
    }
    return value;
  }
  std::string_view Text() { return Bytes(Varint()); }
  std::string_view Bytes(uint64_t size) {
    if (size > rest_.size()) {
      Fail("a length beyond the end of the body");
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

 private:
  std::string_view body_, rest_;
  const char* reason_ = nullptr;
};

class Decoder {
 public:
  Decoder(std::string_view body, decode::AttributeWriter& writer)
      : in_(body), writer_(writer), batch_(writer.batch()) {}

  Status Run() {
    if (in_.Bytes(kMagic.size()) != kMagic) {
      return BadInput("events: this is not the binary form of events, it does not begin with WFEV",
                      "send JSON lines with another Content-Type");
    }
    if (const uint8_t version = in_.Byte(); version != kVersion && in_.ok()) {
      return BadInput(fmt::format("events: version {} of the binary form is unknown", version),
                      "upgrade the server, or link an older libwherefore");
    }
    ReadProcess();
    while (!in_.AtEnd()) ReadEvent();
    if (in_.ok()) return {};
    return BadInput(
        fmt::format("events: {} is malformed: {}",
                    number_ == 0 ? std::string("the process") : fmt::format("event {}", number_),
                    in_.reason()),
        "docs/reference/events.md describes the form");
  }

 private:
  void ReadProcess() {
    const uint32_t begin = batch_.ArenaSize();
    writer_.StartList(decode::AttributePlace::kProcess);
    for (uint64_t left = in_.Varint(); left > 0 && in_.ok(); --left) {
      const std::string_view key = in_.Text();
      ReadAttribute(key);
    }
    process_ = decode::FinishProcess(batch_, begin);
    scope_ = decode::FinishScope(batch_, 0, 0, batch_.ArenaSize());
  }

  void ReadAttribute(std::string_view key) {
    const uint8_t type = in_.Byte();
    if (!in_.ok()) return;
    writer_.Begin(key);
    switch (type) {
      case 1:
        writer_.PutText(in_.Text());
        break;
      case 2:
        PutBool(in_.Byte() != 0, batch_.bytes);
        break;
      case 3:
        PutInt(UnZigZag(in_.Varint()), batch_.bytes);
        break;
      case 4: {
        const uint64_t bits = in_.Fixed64();
        double number;
        std::memcpy(&number, &bits, 8);
        PutDouble(number, batch_.bytes);
        break;
      }
      default:
        in_.Fail("a value of unknown type");
        writer_.PutNull();
    }
    writer_.End();
  }

  std::string_view TextRef() {
    const uint64_t reference = in_.Varint();
    if (reference == 0) {
      texts_.push_back(in_.Text());
      return texts_.back();
    }
    if (reference > texts_.size()) {
      in_.Fail("a reference to a missing text");
      return {};
    }
    return texts_[reference - 1];
  }

  TraceId TraceRef() {
    const uint64_t reference = in_.Varint();
    if (reference == 0) {
      const uint64_t hi = in_.Fixed64(), lo = in_.Fixed64();
      traces_.push_back({hi, lo});
      return traces_.back();
    }
    if (reference > traces_.size()) {
      in_.Fail("a reference to a missing trace");
      return {};
    }
    return traces_[reference - 1];
  }

  void ReadEvent() {
    ++number_;
    decode::DecodeReport& report = writer_.report();
    const uint8_t type_number = in_.Byte();
    const uint8_t flags = in_.Byte();
    if ((flags & ~kKnownRecordFlags) != 0) return in_.Fail("an unknown flag");
    std::string type_name(type_number == kNamedType ? in_.Text() : std::string_view());
    EventType type = wherefore::EventTypeFromNumber(type_number);
    if (type == EventType::kSpan)
      type = EventType::kUnknown;  // spans come in the formats made for them
    if (type == EventType::kUnknown && type_name.empty())
      type_name = fmt::format("type-{}", type_number);

    const TraceId trace = TraceRef();
    const uint64_t id1 = in_.Fixed64();
    const uint64_t id2 = flags & kHasId2 ? in_.Fixed64() : 0;
    const int64_t sequence = flags & kHasSequenceFlag ? UnZigZag(in_.Varint()) : kNoSequence;
    time_ns_ = static_cast<int64_t>(static_cast<uint64_t>(time_ns_) +
                                    static_cast<uint64_t>(UnZigZag(in_.Varint())));

    batch_.AddRow();
    batch_.process.back() = process_;
    batch_.scope.back() = scope_;
    batch_.trace_hi.back() = trace.hi;
    batch_.trace_lo.back() = trace.lo;
    batch_.id1.back() = id1;
    batch_.id2.back() = id2;
    batch_.type.back() = type;
    batch_.start_ns.back() = time_ns_;
    batch_.marks.back() = kHasStart;
    if (sequence != kNoSequence) batch_.SetSequence(sequence);
    if (flags & kHasName) batch_.name.back() = writer_.Intern(TextRef());
    if (flags & kHasKind) {
      const uint8_t kind = in_.Byte();
      if (kind > static_cast<uint8_t>(SpanKind::kConsumer))
        return Refuse("an unknown kind of block");
      batch_.kind.back() = static_cast<SpanKind>(kind);
    }
    if (flags & kHasStatus) {
      const uint8_t status = in_.Byte();
      if (status > static_cast<uint8_t>(SpanStatus::kError)) return Refuse("an unknown status");
      batch_.status.back() = static_cast<SpanStatus>(status);
      batch_.status_message.back() = writer_.Intern(in_.Text());
    }
    writer_.StartList(decode::AttributePlace::kSpan);
    for (uint64_t left = in_.Varint(); left > 0 && in_.ok(); --left) {
      const std::string_view key = TextRef();
      ReadAttribute(key);
    }
    if (type == EventType::kUnknown) writer_.Text("wherefore.type", type_name);
    batch_.EndAttributes();
    batch_.EndPoints();
    batch_.EndLinks();
    if (!in_.ok()) return;  // all is taken back
    if (trace.zero() || id1 == 0) {
      batch_.DropLastRow();
      return report.Reject(trace.zero() ? "trace_id_zero" : "id1_missing");
    }
    if (type == EventType::kUnknown) report.Repair("unknown_event_type");
    ++report.accepted;
  }

  void Refuse(const char* reason) {
    in_.Fail(reason);
    batch_.EndAttributes();
    batch_.EndPoints();
    batch_.EndLinks();
  }

  Reader in_;
  decode::AttributeWriter& writer_;
  EventBatch& batch_;
  uint32_t process_ = 0, scope_ = 0;
  uint64_t number_ = 0;
  int64_t time_ns_ = 0;
  std::vector<std::string_view> texts_;
  std::vector<TraceId> traces_;
};

}  // namespace

Status DecodeEventsBinary(std::string_view body, const decode::DecodeOptions& options,
                          EventBatch& out, decode::DecodeReport& report) {
  const decode::BatchMark mark(out);
  decode::DecodeReport own;
  decode::AttributeWriter writer(out, options, own);
  if (const Status status = Decoder(body, writer).Run(); !status.ok()) {
    mark.RollBack(out);
    return status;
  }
  report.Add(own);
  return {};
}

}  // namespace wf::events
