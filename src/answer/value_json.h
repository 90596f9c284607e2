// Typed attribute values as JSON, the same in every answer: texts, booleans, integers and doubles
// are JSON's own, bytes are {"bytes":"base64"}, arrays and maps nest, NaN and infinities are texts.
#pragma once

#include <string>
#include <string_view>

#include "json/json_writer.h"
#include "model/packed.h"

namespace wf {

void WriteTypedValue(const Value& value, JsonWriter& out);

// RFC 4648, padded.
std::string Base64(std::string_view bytes);

}  // namespace wf
