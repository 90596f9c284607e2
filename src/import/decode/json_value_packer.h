// Any JSON value → a packed value with its type: for formats whose attribute values are plain JSON.
#pragma once

#include "import/decode/attribute_writer.h"
#include "json/json_reader.h"

namespace wf::decode {

// Integers beyond int64 are kept as their decimal text. Nesting beyond options.max_value_depth becomes null, counted.
void PackJsonValue(JsonValue value, AttributeWriter& writer, int depth = 0);

inline void PackJsonAttribute(std::string_view key, JsonValue value, AttributeWriter& writer) {
  writer.Begin(key);
  PackJsonValue(value, writer);
  writer.End();
}

}  // namespace wf::decode
