// Field numbers of OTLP's trace messages (opentelemetry-proto 1.x), for the decoder and the encoder.
#pragma once

#include <cstdint>

namespace wf::otlp {

enum : uint32_t {
  kRequestResourceSpans = 1,

  kResourceSpansResource = 1,
  kResourceSpansScopeSpans = 2,
  kResourceSpansSchemaUrl = 3,
  kResourceSpansLibrarySpans = 1000,  // before scopes had their name; the same layout as ScopeSpans

  kResourceAttributes = 1,
  kResourceDroppedAttributes = 2,

  kScopeSpansScope = 1,
  kScopeSpansSpans = 2,
  kScopeSpansSchemaUrl = 3,

  kScopeName = 1,
  kScopeVersion = 2,
  kScopeAttributes = 3,
  kScopeDroppedAttributes = 4,

  kSpanTraceId = 1,
  kSpanSpanId = 2,
  kSpanTraceState = 3,
  kSpanParentSpanId = 4,
  kSpanName = 5,
  kSpanKind = 6,
  kSpanStart = 7,
  kSpanEnd = 8,
  kSpanAttributes = 9,
  kSpanDroppedAttributes = 10,
  kSpanEvents = 11,
  kSpanDroppedEvents = 12,
  kSpanLinks = 13,
  kSpanDroppedLinks = 14,
  kSpanStatus = 15,
  kSpanFlags = 16,

  kEventTime = 1,
  kEventName = 2,
  kEventAttributes = 3,
  kEventDroppedAttributes = 4,

  kLinkTraceId = 1,
  kLinkSpanId = 2,
  kLinkTraceState = 3,
  kLinkAttributes = 4,
  kLinkDroppedAttributes = 5,
  kLinkFlags = 6,

  kStatusMessage = 2,
  kStatusCode = 3,

  kKeyValueKey = 1,
  kKeyValueValue = 2,

  kAnyString = 1,
  kAnyBool = 2,
  kAnyInt = 3,
  kAnyDouble = 4,
  kAnyArray = 5,
  kAnyMap = 6,
  kAnyBytes = 7,
  kListValues = 1,
};

}  // namespace wf::otlp
