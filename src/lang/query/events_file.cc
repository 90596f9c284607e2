#include "lang/query/events_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "json/json_reader.h"
#include "json/json_writer.h"
#include "lang/query/rows_json.h"

namespace wf::query {
namespace {

const char* const kHint = "docs/reference/query-language.md describes the lines of an events file";

bool IsDecimalDigit(char c) { return c >= '0' && c <= '9'; }

// Integers that do not fit 64 bits are doubles; the JSON reader refuses them unless they look like one.
std::string WithWideIntegersAsDoubles(std::string_view line) {
  std::string out;
  char in_text = '\0';
  for (size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (in_text == '\0' && IsDecimalDigit(c)) {
      const size_t begin = at;
      while (at < line.size() && IsDecimalDigit(line[at])) ++at;
      out += line.substr(begin, at - begin);
      const bool integer =
          at == line.size() || (line[at] != '.' && line[at] != 'e' && line[at] != 'E');
      // Digits behind a point or in an exponent belong to a double already.
      const char before = begin == 0 ? '\0' : line[begin - 1];
      const bool starts = before != '.' && before != '+' && before != 'e' && before != 'E';
      if (integer && starts && at - begin > 18) out += ".0";
      continue;
    }
    if (in_text != '\0' && c == '\\' && at + 1 < line.size()) out += line[at++];
    if (c == '"') in_text = in_text == '\0' ? '"' : '\0';
    out += line[at++];
  }
  return out;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<EventsFile> Run() {
    while (!text_.empty()) {
      const size_t end = text_.find('\n');
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++line_;
      if (line_ == 1 && line.substr(0, 3) == "\xEF\xBB\xBF") line.remove_prefix(3);
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      WF_TRY(ReadLine(line));
    }
    WF_TRY(Connect());
    return std::move(out_);
  }

 private:
  Error Bad(uint64_t line, std::string message, std::string hint = kHint) const {
    return BadInput(fmt::format("{}:{}: {}", file_, line, message), std::move(hint));
  }
  Error Bad(std::string message) const { return Bad(line_, std::move(message)); }

  Status ReadLine(std::string_view line) {
    auto root = parser_.Parse(line);
    std::string widened;
    if (!root.ok()) {
      widened = WithWideIntegersAsDoubles(line);
      auto again = parser_.Parse(widened);
      if (!again.ok()) return Bad("not a line of JSON: " + root.error().message);
      root = std::move(again);
    }
    if (!root->IsObject()) return Bad("not a JSON object, which an event is");
    Event event;
    std::vector<std::string> after;
    bool has_time = false, has_id = false, has_tracepoint = false;
    for (const auto& [key, value] : root->Members()) {
      if (key == "id") {
        WF_TRY(Text(value, key, event.id));
        has_id = true;
      } else if (key == "tracepoint") {
        WF_TRY(Text(value, key, event.tracepoint));
        has_tracepoint = true;
      } else if (key == "time_ns") {
        if (value.type() != JsonType::kInt) return Bad("\"time_ns\" is not a 64-bit integer");
        event.time_ns = *value.Int();
        has_time = true;
      } else if (key == "host") {
        WF_TRY(OptionalText(value, key, event.host));
      } else if (key == "proc") {
        WF_TRY(OptionalText(value, key, event.proc));
      } else if (key == "pid") {
        if (value.type() != JsonType::kInt && !value.IsNull())
          return Bad("\"pid\" is not an integer");
        if (!value.IsNull()) event.pid = *value.Int();
      } else if (key == "after") {
        WF_TRY(After(value, after));
      } else if (key == "vars") {
        WF_TRY(Variables(value, event));
      } else {
        ++out_.ignored_members[std::string(key)];
      }
    }
    if (!has_id) return Bad("no \"id\"");
    if (!has_tracepoint) return Bad("no \"tracepoint\"");
    if (!has_time) return Bad("no \"time_ns\"");
    auto& events = out_.execution.events;
    if (events.size() == UINT32_MAX) return Bad("more than 2^32 events");
    const auto [known, fresh] = by_id_.emplace(event.id, static_cast<uint32_t>(events.size()));
    if (!fresh)
      return Bad(
          fmt::format("the id \"{}\" stands on line {} already", event.id, lines_[known->second]));
    events.push_back(std::move(event));
    lines_.push_back(line_);
    after_.push_back(std::move(after));
    return {};
  }

  Status Text(const JsonValue& value, std::string_view key, std::string& out) const {
    if (!value.IsString()) return Bad(fmt::format("\"{}\" is not a string", key));
    out = value.String();
    return {};
  }
  Status OptionalText(const JsonValue& value, std::string_view key, advice::Value& out) const {
    if (value.IsNull()) return {};
    std::string text;
    WF_TRY(Text(value, key, text));
    out = std::move(text);
    return {};
  }

  Status After(const JsonValue& value, std::vector<std::string>& out) const {
    if (!value.IsArray() && !value.IsNull()) return Bad("\"after\" is not a list of ids");
    for (const JsonValue id : value.Elements()) {
      if (!id.IsString()) return Bad("an id in \"after\" is not a string");
      out.emplace_back(id.String());
    }
    return {};
  }

  Status Variables(const JsonValue& value, Event& event) const {
    if (!value.IsObject() && !value.IsNull()) return Bad("\"vars\" is not an object");
    for (const auto& [name, variable] : value.Members()) {
      if (IsDefaultVariable(name))
        return Bad(fmt::format("\"vars\" redefines \"{}\", which every event has", name));
      advice::Value read;
      WF_TRY(Variable(name, variable, read));
      if (!event.variables.emplace(std::string(name), std::move(read)).second)
        return Bad(fmt::format("\"vars\" has \"{}\" twice", name));
    }
    return {};
  }

  Status Variable(std::string_view name, const JsonValue& value, advice::Value& out) const {
    if (!value.IsArray()) return Scalar(name, value, out);
    advice::List list;
    for (const JsonValue element : value.Elements()) {
      list.emplace_back();
      WF_TRY(Scalar(name, element, list.back()));
    }
    out = std::move(list);
    return {};
  }

  Status Scalar(std::string_view name, const JsonValue& value, advice::Value& out) const {
    switch (value.type()) {
      case JsonType::kNull:
        return {};
      case JsonType::kBool:
        out = value.Bool();
        return {};
      case JsonType::kInt:
        out = *value.Int();
        return {};
      case JsonType::kUint:
      case JsonType::kDouble:
        out = *value.Number();
        return {};
      case JsonType::kString:
        out = std::string(value.String());
        return {};
      default:
        return Bad(
            fmt::format("the variable \"{}\" is neither a scalar nor a list of scalars", name));
    }
  }

  Status Connect() {
    Execution& execution = out_.execution;
    for (size_t i = 0; i < execution.events.size(); ++i) {
      std::vector<uint32_t>& after = execution.events[i].after;
      for (const std::string& id : after_[i]) {
        const auto found = by_id_.find(id);
        if (found == by_id_.end()) {
          ++execution.unknown_after;
        } else {
          after.push_back(found->second);
        }
      }
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
    }
    uint32_t on_cycle = 0;
    if (Arrange(execution, on_cycle)) return {};
    return Bad(lines_[on_cycle],
               fmt::format("event \"{}\" happens before itself: its \"after\" goes in a circle",
                           execution.events[on_cycle].id));
  }

  std::string_view text_, file_;
  uint64_t line_ = 0;
  JsonParser parser_;
  EventsFile out_;
  std::unordered_map<std::string, uint32_t> by_id_;
  std::vector<uint64_t> lines_;                  // of each event
  std::vector<std::vector<std::string>> after_;  // of each event, as written
};

}  // namespace

Result<EventsFile> ReadEvents(std::string_view text, std::string_view file) {
  return Reader(text, file).Run();
}

std::string WriteEvents(const Execution& execution) {
  std::string out;
  JsonWriter json;
  for (const Event& event : execution.events) {
    json.BeginObject().Field("id", event.id).Field("tracepoint", event.tracepoint);
    json.Field("time_ns", event.time_ns);
    if (!event.host.null()) WriteValue(json.Key("host"), event.host);
    if (!event.proc.null()) WriteValue(json.Key("proc"), event.proc);
    if (!event.pid.null()) WriteValue(json.Key("pid"), event.pid);
    if (!event.after.empty()) {
      json.Key("after").BeginArray();
      for (const uint32_t before : event.after) json.String(execution.events[before].id);
      json.EndArray();
    }
    if (!event.variables.empty()) {
      json.Key("vars").BeginObject();
      for (const auto& [name, value] : event.variables) WriteValue(json.Key(name), value);
      json.EndObject();
    }
    json.EndObject();
    out += json.Take();
    out += '\n';
  }
  return out;
}

}  // namespace wf::query
