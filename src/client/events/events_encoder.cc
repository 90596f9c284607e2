#include "client/events/events_encoder.h"

#include "client/runtime/protobuf_writer.h"  // AppendVarint
#include "client/runtime/stack_text.h"

namespace wherefore::client {
namespace {

constexpr char kMagic[] = {'W', 'F', 'E', 'V', 1};

// Flags of a record on the wire.
constexpr uint8_t kWireId2 = 1;
constexpr uint8_t kWireSequence = 2;
constexpr uint8_t kWireName = 4;
constexpr uint8_t kWireKind = 8;
constexpr uint8_t kWireStatus = 16;

void PutFixed64(uint64_t value, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

uint64_t ZigZag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}

std::string_view Prefix(AnnotationKind kind) {
  switch (kind) {
    case AnnotationKind::kMessage:
      return "message:";
    case AnnotationKind::kCounter:
      return "counter:";
    case AnnotationKind::kSet:
      return "set:";
    case AnnotationKind::kStack:
    case AnnotationKind::kFrames:
      return "stack:";
    default:
      return "label:";
  }
}

}  // namespace

EventsEncoder::EventsEncoder(const ProcessLabels& process, int64_t pid) {
  body_.assign(kMagic, sizeof kMagic);
  AppendVarint(process.size() + 1, body_);
  for (const auto& [key, value] : process) {
    PutText(key);
    PutValue(LabelValue(value));
  }
  PutText("process.pid");
  PutValue(LabelValue(pid));
  header_ = body_;
}

void EventsEncoder::PutText(std::string_view text) {
  AppendVarint(text.size(), body_);
  body_.append(text);
}

void EventsEncoder::PutTextRef(std::string_view text) {
  const auto known = text_refs_.find(text);
  if (known != text_refs_.end()) return AppendVarint(known->second, body_);
  texts_.emplace_back(text);
  text_refs_.emplace(texts_.back(), static_cast<uint32_t>(texts_.size()));
  AppendVarint(0, body_);
  PutText(text);
}

void EventsEncoder::PutTrace(uint64_t hi, uint64_t lo) {
  const auto known = trace_refs_.find(lo);
  if (known != trace_refs_.end() && traces_[known->second] == std::make_pair(hi, lo)) {
    return AppendVarint(known->second + 1, body_);
  }
  trace_refs_[lo] = static_cast<uint32_t>(traces_.size());
  traces_.emplace_back(hi, lo);
  AppendVarint(0, body_);
  PutFixed64(hi, body_);
  PutFixed64(lo, body_);
}

void EventsEncoder::PutKey(const Annotation& annotation) {
  key_.assign(Prefix(annotation.kind));
  key_.append(annotation.name);
  if (!annotation.unit.empty()) key_.append(":").append(annotation.unit);
  PutTextRef(key_);
}

void EventsEncoder::PutValue(const LabelValue& value) {
  switch (value.type()) {
    case LabelValue::Type::kString:
      body_.push_back(1);
      PutText(value.text());
      break;
    case LabelValue::Type::kBool:
      body_.push_back(2);
      body_.push_back(value.integer() != 0 ? 1 : 0);
      break;
    case LabelValue::Type::kInt:
      body_.push_back(3);
      AppendVarint(ZigZag(value.integer()), body_);
      break;
    case LabelValue::Type::kDouble: {
      body_.push_back(4);
      const double real = value.real();
      uint64_t bits;
      std::memcpy(&bits, &real, 8);
      PutFixed64(bits, body_);
      break;
    }
  }
}

void EventsEncoder::Append(const RecordHead& record, int64_t time_ns) {
  Annotation name{AnnotationKind::kName, {}, ""}, kind{AnnotationKind::kBlockKind, {}, 0},
      status{AnnotationKind::kStatus, {}, 0};
  uint8_t flags = 0;
  uint64_t others = 0;
  const char* at = AnnotationsOf(record);
  for (int i = 0; i < record.annotations; ++i) {
    const Annotation annotation = TakeAnnotation(at);
    switch (annotation.kind) {
      case AnnotationKind::kName:
        name = annotation;
        flags |= kWireName;
        break;
      case AnnotationKind::kBlockKind:
        kind = annotation;
        flags |= kWireKind;
        break;
      case AnnotationKind::kStatus:
        status = annotation;
        flags |= kWireStatus;
        break;
      default:
        ++others;
    }
  }
  if (record.id2 != 0) flags |= kWireId2;
  if (record.flags & kHasSequence) flags |= kWireSequence;

  body_.push_back(static_cast<char>(record.type));
  body_.push_back(static_cast<char>(flags));
  PutTrace(record.trace_hi, record.trace_lo);
  PutFixed64(record.id1, body_);
  if (flags & kWireId2) PutFixed64(record.id2, body_);
  if (flags & kWireSequence) AppendVarint(ZigZag(record.sequence), body_);
  AppendVarint(ZigZag(time_ns - last_time_ns_), body_);
  last_time_ns_ = time_ns;
  if (flags & kWireName) PutTextRef(name.value.text());
  if (flags & kWireKind) body_.push_back(static_cast<char>(kind.value.integer()));
  if (flags & kWireStatus) {
    body_.push_back(static_cast<char>(status.value.integer()));
    PutText(status.name);
  }
  AppendVarint(others, body_);
  at = AnnotationsOf(record);
  for (int i = 0; i < record.annotations; ++i) {
    const Annotation annotation = TakeAnnotation(at);
    if (annotation.kind >= AnnotationKind::kName && annotation.kind <= AnnotationKind::kStatus)
      continue;
    PutKey(annotation);
    if (annotation.kind == AnnotationKind::kFrames) {
      PutValue(LabelValue(StackText(annotation.value.text())));
    } else {
      PutValue(annotation.value);
    }
  }
  ++count_;
}

std::string EventsEncoder::Take() {
  std::string body = std::move(body_);
  body_ = header_;
  count_ = 0;
  last_time_ns_ = 0;
  text_refs_.clear();
  texts_.clear();
  traces_.clear();
  trace_refs_.clear();
  return body;
}

}  // namespace wherefore::client
