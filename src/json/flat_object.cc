#include "json/flat_object.h"

#include <simdjson.h>

namespace wf {
namespace {

Error NotFlat(const std::string& why) {
  return BadInput("JSON object: " + why,
                  "give one object of texts, like {\"http.method\":\"GET\"}");
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> ParseFlatObject(std::string_view json) {
  // The DOM parser checks the whole text before it hands out the first member.
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::padded_string text(json);
  if (const auto error = parser.parse(text).get(root))
    return NotFlat(simdjson::error_message(error));
  simdjson::dom::object object;
  if (root.get_object().get(object)) return NotFlat("the text is another JSON value");
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto field : object) {
    std::string value;
    std::string_view string;
    if (!field.value.get_string().get(string)) {
      value = string;
    } else if (field.value.is_array() || field.value.is_object() || field.value.is_null()) {
      return NotFlat("member \"" + std::string(field.key) +
                     "\" is neither text, number nor boolean");
    } else {
      value = simdjson::minify(field.value);
    }
    members.emplace_back(field.key, std::move(value));
  }
  return members;
}

}  // namespace wf
