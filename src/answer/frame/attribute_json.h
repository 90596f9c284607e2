// Parts of a trace's JSON that its several forms share: typed attributes, annotations, clocks, what is missing.
#pragma once

#include <string_view>

#include "json/json_writer.h"
#include "model/trace.h"

namespace wf::answer {

// Packed attributes as an object of typed values; bytes are {"bytes":"base64"}; of a key that stands twice the last
// value counts.
void WriteAttributes(const Trace& trace, std::string_view packed, JsonWriter& json);
void WriteValue(const Value& value, JsonWriter& json);
// "annotations": [...], left out when the element has none.
void WriteAnnotations(const Trace& trace, ElementKind element, uint32_t index, JsonWriter& json);

// Whole keys with their arrays.
void WriteMissing(const Trace& trace, JsonWriter& json);
void WriteClocks(const Trace& trace, JsonWriter& json);
void WriteViolations(const Trace& trace, JsonWriter& json);

}  // namespace wf::answer
