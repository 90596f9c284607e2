#include "import/decode/json_value_packer.h"

namespace wf::decode {

void PackJsonValue(JsonValue value, AttributeWriter& writer, int depth) {
  std::string& bytes = writer.batch().bytes;
  switch (value.type()) {
    case JsonType::kMissing:
    case JsonType::kNull:
      return writer.PutNull();
    case JsonType::kBool:
      return PutBool(value.Bool(), bytes);
    case JsonType::kInt:
      return PutInt(*value.Int(), bytes);
    case JsonType::kUint:
      return writer.PutText(std::to_string(*value.UintOrText()));
    case JsonType::kDouble:
      return PutDouble(*value.Number(), bytes);
    case JsonType::kString:
      return writer.PutText(value.String());
    case JsonType::kArray:
    case JsonType::kObject:
      break;
  }
  if (depth >= writer.options().max_value_depth) {
    writer.report().Repair("deep_value");
    return writer.PutNull();
  }
  const size_t begin = writer.OpenNested(value.IsArray() ? ValueType::kArray : ValueType::kMap);
  for (const JsonValue element : value.Elements()) PackJsonValue(element, writer, depth + 1);
  for (const auto& [key, member] : value.Members()) {
    writer.PutMapKey(key);
    PackJsonValue(member, writer, depth + 1);
  }
  writer.CloseNested(begin);
}

}  // namespace wf::decode
