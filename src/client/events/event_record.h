// One event as it lies in a thread's buffer: a fixed head, then its annotations. Native byte order, aligned to eight:
// it never leaves the process in this form (events_encoder.h is what does).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "wherefore/annotation.h"
#include "wherefore/event.h"

namespace wherefore::client {

// A larger event loses annotations, from the end, which is counted. Bounds how much of the buffer one call
// site can use.
constexpr size_t kMaxRecordBytes = 16 << 10;

// Types beyond EventType: read by the drain, never sent.
enum ControlType : uint8_t {
  kDecidedKeep = 240,  // of an opportunistic trace
  kDecidedDrop = 241,
  kReleased = 242,  // the block that held its events has ended
  kPadding = 255,   // to the end of the buffer
};

enum RecordFlags : uint8_t {
  kUnixTime = 1,  // `time` is Unix ns, not ticks
  kHasSequence = 2,
  kHeldForDecision = 4,
  kHeldToEnd = 8,
};

struct RecordHead {
  uint32_t size;  // with annotations, a multiple of 8
  uint8_t type;
  uint8_t flags;
  uint16_t annotations;
  int64_t time;
  uint64_t trace_hi, trace_lo;
  uint64_t id1, id2;
  int64_t sequence;
};
static_assert(sizeof(RecordHead) == 56, "one cache line less eight");

struct AnnotationHead {
  AnnotationKind kind;
  LabelValue::Type type;
  uint16_t name_size;
  uint16_t unit_size;
  uint16_t value_size;  // numbers: 8
};

inline size_t ValueSize(const LabelValue& value) {
  return value.type() == LabelValue::Type::kString ? value.text().size() : 8;
}
inline size_t RecordSize(const Annotation& annotation) {
  return sizeof(AnnotationHead) + annotation.name.size() + annotation.unit.size() +
         ValueSize(annotation.value);
}

// Writes behind `at`; returns where the next goes.
inline char* PutAnnotation(const Annotation& annotation, char* at) {
  const auto put = [&at](std::string_view text) {
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  const AnnotationHead head{annotation.kind, annotation.value.type(),
                            static_cast<uint16_t>(annotation.name.size()),
                            static_cast<uint16_t>(annotation.unit.size()),
                            static_cast<uint16_t>(ValueSize(annotation.value))};
  std::memcpy(at, &head, sizeof head);
  at += sizeof head;
  put(annotation.name);
  put(annotation.unit);
  if (annotation.value.type() == LabelValue::Type::kString) {
    put(annotation.value.text());
  } else if (annotation.value.type() == LabelValue::Type::kDouble) {
    const double real = annotation.value.real();
    std::memcpy(at, &real, 8);
    at += 8;
  } else {
    const int64_t integer = annotation.value.integer();
    std::memcpy(at, &integer, 8);
    at += 8;
  }
  return at;
}

// Reads one behind `at` and moves it on. The texts point into the record.
inline Annotation TakeAnnotation(const char*& at) {
  AnnotationHead head;
  std::memcpy(&head, at, sizeof head);
  at += sizeof head;
  const auto take = [&at](size_t size) {
    const std::string_view text(at, size);
    at += size;
    return text;
  };
  const std::string_view name = take(head.name_size), unit = take(head.unit_size),
                         value = take(head.value_size);
  switch (head.type) {
    case LabelValue::Type::kString:
      break;
    case LabelValue::Type::kDouble: {
      double real;
      std::memcpy(&real, value.data(), 8);
      return {head.kind, name, real, unit};
    }
    case LabelValue::Type::kBool:
    case LabelValue::Type::kInt: {
      int64_t integer;
      std::memcpy(&integer, value.data(), 8);
      if (head.type == LabelValue::Type::kBool) return {head.kind, name, integer != 0, unit};
      return {head.kind, name, integer, unit};
    }
  }
  return {head.kind, name, value, unit};
}

inline const char* AnnotationsOf(const RecordHead& record) {
  return reinterpret_cast<const char*>(&record) + sizeof(RecordHead);
}

}  // namespace wherefore::client
