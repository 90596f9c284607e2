#include "client/queries/handed_event.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "advice/handed_events.h"

namespace wherefore::client {
namespace {

using wf::advice::Value;
using Form = HandedVariable::Form;

// Of places; a query with more is none that a person wrote.
constexpr size_t kMostPlaces = 1 << 16;
constexpr size_t kMostVariables = 60;
constexpr uint32_t kMostString = 256 + 8;

constexpr std::pair<std::string_view, Form> kForms[] = {
    {"integer", Form::kInteger}, {"bool", Form::kBool},     {"double", Form::kDouble},
    {"float", Form::kFloat},     {"string", Form::kString}, {"text", Form::kText},
    {"null", Form::kNull},
};

template <typename Number>
Number At(std::string_view bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

bool ReadVariable(const JsonNode& node, uint32_t string_bytes, uint32_t record_bytes,
                  HandedVariable& variable) {
  variable.name = node.Get("name").text;
  variable.text = node.Get("text").text;
  const auto* const form =
      std::find_if(std::begin(kForms), std::end(kForms),
                   [&](const auto& known) { return known.first == node.Get("form").text; });
  if (form == std::end(kForms)) return false;
  variable.form = form->second;
  if (variable.form == Form::kText || variable.form == Form::kNull) return true;
  const double offset = node.Get("offset").number;
  const uint32_t bytes = 8 + (variable.form == Form::kString ? string_bytes : 0);
  if (!(offset >= wf::advice::kHandedVariablesAt && offset + bytes <= record_bytes)) return false;
  variable.offset = static_cast<uint32_t>(offset);
  return true;
}

}  // namespace

bool ReadPlaces(const JsonNode& list, uint32_t record_bytes, std::vector<HandedPlace>& places) {
  if (list.type != JsonNode::Type::kArray) return false;
  for (const auto& [unused, node] : list.children) {
    const double number = node.Get("place").number, strings = node.Get("string_bytes").number;
    const JsonNode& variables = node.Get("variables");
    if (!(number >= 0 && number < kMostPlaces) || !(strings >= 0 && strings <= kMostString) ||
        variables.children.size() > kMostVariables)
      return false;
    HandedPlace place;
    place.tracepoint = node.Get("tracepoint").text;
    place.string_bytes = static_cast<uint32_t>(strings);
    for (const auto& [no_key, variable] : variables.children) {
      place.variables.emplace_back();
      if (!ReadVariable(variable, place.string_bytes, record_bytes, place.variables.back()))
        return false;
    }
    const auto index = static_cast<size_t>(number);
    if (index >= places.size()) places.resize(index + 1);
    places[index] = std::move(place);
  }
  return true;
}

HandedEvent::HandedEvent(std::string_view record, const HandedPlace& place,
                         const ProcessIdentity& process, uint64_t id)
    : record_(record), place_(place), process_(process) {
  time_ns_ = At<int64_t>(record, wf::advice::kHandedTimeAt);
  nulls_ = At<uint64_t>(record, wf::advice::kHandedNullsAt);
  std::memcpy(id_, &id, sizeof id_);
}

Value HandedEvent::Variable(std::string_view name) const {
  if (name == "time") return time_ns_;
  if (name == "host") return process_.host;
  if (name == "procName") return process_.name;
  if (name == "procId") return process_.pid;
  if (name == "tracepoint") return place_.tracepoint;
  for (size_t i = 0; i < place_.variables.size(); ++i) {
    if (place_.variables[i].name != name) continue;
    return (nulls_ >> i & 1) != 0 ? Value() : Read(place_.variables[i]);
  }
  return {};
}

Value HandedEvent::Read(const HandedVariable& variable) const {
  switch (variable.form) {
    case Form::kInteger:
      return At<int64_t>(record_, variable.offset);
    case Form::kBool:
      return At<uint64_t>(record_, variable.offset) != 0;
    case Form::kDouble:
      return At<double>(record_, variable.offset);
    case Form::kFloat:
      return static_cast<double>(At<float>(record_, variable.offset));
    case Form::kString: {
      const uint64_t length =
          std::min<uint64_t>(At<uint64_t>(record_, variable.offset), place_.string_bytes);
      return std::string(record_.substr(variable.offset + 8, length));
    }
    case Form::kText:
      return variable.text;
    case Form::kNull:
      break;
  }
  return {};
}

}  // namespace wherefore::client
