// JSON lines → Execution. One parser for all lines; an event's texts go straight into the columns.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "analysis/provenance/execution_rows.h"
#include "json/json_reader.h"

namespace wf::provenance {
namespace {

// An estimate; lines are rarely shorter, and it only reserves memory.
constexpr size_t kBytesOfALine = 128;

// A line as it was read. `fault` names the first member that is not what it should be.
struct Line {
  EventView event;
  std::string_view type, resource;
  std::optional<int64_t> servers;
  bool has_id = false, has_type = false, has_node = false, has_tuple = false, has_start = false,
       has_end = false, has_resource = false, has_holds = false, has_servers = false;
  std::string fault;

  void Clear() {
    std::vector<std::string_view> causes = std::move(event.causes);
    std::vector<EventView::HoldView> holds = std::move(event.holds);
    *this = {};
    causes.clear();
    holds.clear();
    event.causes = std::move(causes);
    event.holds = std::move(holds);
  }
};

class LineReader {
 public:
  explicit LineReader(Line& line) : line_(line) {}

  void Read(const JsonValue& object) {
    line_.Clear();
    for (const auto& [key, value] : object.Members()) {
      if (!value.IsNull()) Member(key, value);  // null: not given
    }
  }

 private:
  void Member(std::string_view key, const JsonValue& value) {
    EventView& e = line_.event;
    if (key == "id") return Text(key, value, e.id, &line_.has_id);
    if (key == "type") return Text(key, value, line_.type, &line_.has_type);
    if (key == "node") return Text(key, value, e.node, &line_.has_node);
    if (key == "tuple") return Text(key, value, e.tuple, &line_.has_tuple);
    if (key == "start_ns") return Time(key, value, e.start_ns, &line_.has_start);
    if (key == "end_ns") return Time(key, value, e.end_ns, &line_.has_end);
    if (key == "causes") return Causes(value);
    if (key == "rule") return Text(key, value, e.rule);
    if (key == "peer") return Text(key, value, e.peer);
    if (key == "origin") return Text(key, value, e.origin);
    if (key == "ready_ns") return Time(key, value, e.ready_ns);
    if (key == "resource") return Text(key, value, line_.resource, &line_.has_resource);
    if (key == "holds") return Holds(value);
    if (key == "servers") {
      if (value.type() == JsonType::kInt) line_.servers = value.Int();
      line_.has_servers = true;
    }
  }

  void Fault(std::string_view key, std::string_view what) {
    if (line_.fault.empty()) line_.fault = fmt::format("\"{}\" is not a {}", key, what);
  }

  void Text(std::string_view key, const JsonValue& value, std::string_view& out,
            bool* has = nullptr) {
    if (!value.IsString()) return Fault(key, "text");
    out = value.String();
    if (has != nullptr) *has = true;
  }

  void Time(std::string_view key, const JsonValue& value, Nanos& out, bool* has = nullptr) {
    // 1.0 and 1e3 are rejected: floats are rounded, and nanoseconds since 1970 need all 64 bits.
    if (value.type() == JsonType::kUint) return Fault(key, "time: it is beyond 64 bits, signed");
    const std::optional<int64_t> time = value.Int();
    if (!time || value.type() != JsonType::kInt)
      return Fault(key, "time in nanoseconds, a 64-bit integer");
    if (*time == kNotTold) return Fault(key, "time: it is the minimum 64-bit integer");
    out = *time;
    if (has != nullptr) *has = true;
  }

  void Causes(const JsonValue& value) {
    if (!value.IsArray()) return Fault("causes", "list of ids");
    for (const JsonValue& cause : value.Elements()) {
      if (!cause.IsString() || cause.String().empty()) return Fault("causes", "list of ids");
      line_.event.causes.push_back(cause.String());
    }
  }

  void Holds(const JsonValue& value) {
    constexpr const char* kWhat = "list of {\"resource\",\"since_ns\"?}";
    if (!value.IsArray()) return Fault("holds", kWhat);
    line_.has_holds = true;
    for (const JsonValue& hold : value.Elements()) {
      const JsonValue resource = hold.Get("resource"), since = hold.Get("since_ns");
      if (!resource.IsString()) return Fault("holds", kWhat);
      EventView::HoldView& view = line_.event.holds.emplace_back();
      view.resource = resource.String();
      if (!since.missing() && !since.IsNull()) Time("since_ns", since, view.since_ns);
    }
  }

  Line& line_;
};

Status AddLine(Line& line, uint32_t number, ExecutionRows& rows) {
  const auto bad = [&](const std::string& why) {
    const std::string who = line.has_id ? fmt::format(", event {}", line.event.id) : "";
    return BadInput(fmt::format("line {}{}: {}", number, who, why),
                    "docs/concepts/temporal-provenance.md describes the format of events");
  };
  if (!line.fault.empty()) return bad(line.fault);
  if (!line.has_id) {
    if (!line.has_servers || !line.has_resource)
      return bad("neither an event, with an \"id\", nor a resource with \"servers\"");
    if (!line.servers) return bad("\"servers\" is not a whole number of 64 bits");
    return rows.Add(line.resource, *line.servers, fmt::format("line {}", number));
  }
  const struct {
    bool has;
    const char* key;
  } needed[] = {{line.has_type, "type"},
                {line.has_node, "node"},
                {line.has_tuple, "tuple"},
                {line.has_start, "start_ns"},
                {line.has_end, "end_ns"}};
  for (const auto& [has, key] : needed) {
    if (!has) return bad(fmt::format("\"{}\" is missing", key));
  }
  const std::optional<ProvenanceType> type = ProvenanceTypeOfName(line.type);
  if (!type) {
    return bad(
        fmt::format("\"{}\" is not a type; they are INS, DEL, DRV, UDRV, SND and RCV", line.type));
  }
  line.event.type = *type;
  if (line.has_resource && line.has_holds)
    return bad("\"resource\" is short for one of \"holds\"; give one of them");
  line.event.holds_told = line.has_resource || line.has_holds;
  if (line.has_resource) line.event.holds.push_back({line.resource});
  return rows.Add(line.event, number);
}

// A number beyond 64 bits makes the whole line unreadable; yet the error should name the event. So the line
// is read again with `null` in place of such numbers. Empty: there are none.
struct HugeNumbers {
  std::string without;  // the line
  std::string first;    // of them
};
HugeNumbers ReplaceHugeNumbers(std::string_view line) {
  HugeNumbers out;
  bool quoted = false;
  for (size_t i = 0; i < line.size();) {
    const char c = line[i];
    const bool digit = c >= '0' && c <= '9';
    if (quoted || (!digit && c != '-')) {
      out.without += c;
      if (c == '"') quoted = !quoted;
      if (quoted && c == '\\' && ++i < line.size()) out.without += line[i];
      ++i;
      continue;
    }
    const size_t end = std::min(line.find_first_not_of("+-.0123456789eE", i), line.size());
    const std::string_view number = line.substr(i, end - i);
    int64_t as_signed = 0;
    uint64_t as_unsigned = 0;
    const auto fits = [&](auto& value) {
      return std::from_chars(number.data(), number.data() + number.size(), value).ec !=
             std::errc::result_out_of_range;
    };
    const bool whole = number.find_first_of(".eE") == std::string_view::npos;
    if (whole && !fits(as_signed) && (c == '-' || !fits(as_unsigned))) {
      if (out.first.empty()) out.first = number;
      out.without += "null";
    } else {
      out.without += number;
    }
    i = end;
  }
  return out;
}

// The error for a line that is not JSON, or not an object.
Error NotAnEvent(std::string_view name, uint32_t number, std::string_view text, std::string why) {
  std::string place = fmt::format("line {}", number);
  if (const auto fault = FindJsonFault(text)) {
    place += fmt::format(", byte {}", fault->offset);
    why = "JSON: " + fault->reason;
  }
  return BadInput(
      fmt::format("{}: {}: {}", name, place, why),
      "give JSON lines, one event each; docs/concepts/temporal-provenance.md describes them");
}

Error Unreadable(std::string_view name, uint32_t number, std::string_view text, std::string why) {
  const HugeNumbers huge = ReplaceHugeNumbers(text);
  if (huge.first.empty()) return NotAnEvent(name, number, text, std::move(why));
  JsonParser parser;
  const auto value = parser.Parse(huge.without);
  if (!value.ok() || !value->IsObject()) return NotAnEvent(name, number, text, std::move(why));
  const std::string_view id = value->Get("id").String();
  return BadInput(fmt::format("{}: line {}{}{}: {} is beyond 64 bits", name, number,
                              id.empty() ? "" : ", event ", id, huge.first),
                  "times are signed 64-bit integers, nanoseconds");
}

}  // namespace

Result<Execution> ReadExecution(std::string_view text, std::string_view name,
                                std::optional<Nanos> retain_from) {
  const auto named = [&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", name, error.message), error.hint};
  };
  if (text.size() >= std::numeric_limits<uint32_t>::max()) {
    return BadInput(fmt::format("{}: {} bytes are too many to explain at once", name, text.size()),
                    "keep only the events of the time in question");
  }
  ExecutionRows rows;
  if (retain_from) rows.RetainFrom(*retain_from);
  rows.Reserve(text.size() / kBytesOfALine);
  JsonParser parser;
  Line line;
  uint32_t number = 0;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto value = parser.Parse(one);
    if (!value.ok() || !value->IsObject())
      return Unreadable(name, number, one, value.ok() ? "not an object" : value.error().message);
    LineReader(line).Read(*value);
    if (const Status added = AddLine(line, number, rows); !added.ok()) return named(added.error());
  }
  auto execution = rows.Finish();
  if (!execution.ok()) return named(execution.error());
  return execution;
}

}  // namespace wf::provenance
