#include "weaver/tracepoint_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::weaver {
namespace {

// Limits of a definition: far above what a person writes, low enough that weaving cannot bring a program to a
// halt.
constexpr size_t kMaxDefinitions = 10'000;
constexpr size_t kMaxLocations = 256;
constexpr size_t kMaxExports = 32;
constexpr size_t kMaxName = 500;

constexpr std::array<std::string_view, 4> kAtNames{"entry", "exit", "throw", "leave"};
// Every event has these (issue of the query language); an export must not hide them.
constexpr std::array<std::string_view, 5> kDefaultVariables{"host", "time", "procName", "procId",
                                                            "tracepoint"};

template <size_t N>
Status OnlyKeys(const JsonValue& object, const std::array<std::string_view, N>& known,
                std::string_view place) {
  std::vector<std::string_view> seen;
  for (const auto& [key, value] : object.Members()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return BadInput(fmt::format("{}: unknown key '{}'", place, key),
                      fmt::format("known are: {}", fmt::join(known, ", ")));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return BadInput(fmt::format("{}: key '{}' twice", place, key));
    seen.push_back(key);
  }
  return {};
}

// A text member, empty when it is missing. What stands there must be a text, not empty unless `empty_too`.
enum class EmptyText : uint8_t { kRefused, kFine };
Result<std::string> Text(const JsonValue& object, std::string_view key, std::string_view place,
                         EmptyText empty = EmptyText::kRefused) {
  const JsonValue value = object.Get(key);
  if (value.missing()) return std::string();
  if (!value.IsString()) return BadInput(fmt::format("{}.{}: expected a string", place, key));
  const std::string_view text = value.String();
  if (text.empty() && empty == EmptyText::kRefused)
    return BadInput(fmt::format("{}.{}: is empty", place, key));
  if (text.size() > kMaxName)
    return BadInput(fmt::format("{}.{}: longer than {} bytes", place, key, kMaxName));
  if (text.find('\0') != std::string_view::npos)
    return BadInput(fmt::format("{}.{}: holds a zero byte", place, key));
  return std::string(text);
}

Status ReadPlace(const JsonValue& object, std::string_view place, Location& out) {
  WF_ASSIGN(out.function, Text(object, "function", place));
  WF_ASSIGN(out.file, Text(object, "file", place));
  const JsonValue line = object.Get("line");
  if (out.function.empty() == out.file.empty()) {
    return BadInput(fmt::format("{}: needs either function, or file and line", place));
  }
  if (!out.function.empty()) {
    if (!line.missing())
      return BadInput(fmt::format("{}.line: goes with file, not function", place));
    return {};
  }
  const auto number = line.Int();
  if (!number || *number < 1 || *number > std::numeric_limits<int32_t>::max())
    return BadInput(fmt::format("{}.line: expected a line number, from 1", place));
  out.line = static_cast<uint32_t>(*number);
  return {};
}

Result<Location> ReadLocation(const JsonValue& object, const std::string& place) {
  if (!object.IsObject()) return BadInput(fmt::format("{}: expected an object", place));
  static constexpr std::array<std::string_view, 8> kKeys{
      "exe", "library", "function", "file", "line", "signature", "at", "overriders"};
  WF_TRY(OnlyKeys(object, kKeys, place));
  Location out;
  WF_ASSIGN(out.exe, Text(object, "exe", place));
  WF_ASSIGN(out.library, Text(object, "library", place));
  if (out.exe.empty() && out.library.empty())
    return BadInput(fmt::format("{}: needs exe or library", place));
  WF_TRY(ReadPlace(object, place, out));
  WF_ASSIGN(out.signature, Text(object, "signature", place, EmptyText::kFine));
  out.has_signature = !object.Get("signature").missing();
  if (out.has_signature && out.function.empty())
    return BadInput(fmt::format("{}.signature: goes with function", place));
  const JsonValue overriders = object.Get("overriders");
  if (!overriders.missing()) {
    if (!overriders.IsBool())
      return BadInput(fmt::format("{}.overriders: expected true or false", place));
    if (out.function.empty())
      return BadInput(fmt::format("{}.overriders: goes with function", place));
    out.overriders = overriders.Bool();
  }
  const JsonValue at = object.Get("at");
  if (at.missing()) return out;
  const auto* const found = std::find(kAtNames.begin(), kAtNames.end(), at.String());
  if (!at.IsString() || found == kAtNames.end())
    return BadInput(fmt::format("{}.at: expected entry, exit, throw or leave", place));
  out.at = static_cast<At>(found - kAtNames.begin());
  if (out.function.empty() && out.at != At::kEntry)
    return BadInput(fmt::format("{}.at: a line has no {}", place, Name(out.at)));
  return out;
}

// What an export needs of every location it stands for.
Status CheckSource(const ExportExpression& expression, const Location& location,
                   std::string_view place) {
  const bool line = location.function.empty();
  switch (expression.source) {
    case ExportSource::kReturnValue:
      if (line || (location.at != At::kExit && location.at != At::kLeave))
        return BadInput(fmt::format("{}: retval is only known at exit or leave", place));
      break;
    case ExportSource::kElapsed:
      if (line || location.at == At::kEntry)
        return BadInput(fmt::format("{}: elapsed is only known at exit, throw or leave", place));
      break;
    case ExportSource::kLocal:
      if (!line)
        return BadInput(fmt::format("{}: locals are only known at a line (file and line)", place));
      break;
    case ExportSource::kArgumentNumber:
      if (line)
        return BadInput(fmt::format("{}: arg{} is only known where a function begins", place,
                                    expression.number));
      break;
    default:
      break;
  }
  for (const ExportExpression& length : expression.length)
    WF_TRY(CheckSource(length, location, place));
  return {};
}

bool IsVariableName(std::string_view name) {
  const auto part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), part);
}

Status ReadExports(const JsonValue& object, const std::string& place, TracepointDefinition& out) {
  const JsonValue exports = object.Get("exports");
  if (exports.missing()) return {};
  if (!exports.IsObject()) return BadInput(fmt::format("{}: exports: expected an object", place));
  for (const auto& [name, value] : exports.Members()) {
    const std::string where = fmt::format("{}: exports.{}", place, name.substr(0, kMaxName));
    if (!IsVariableName(name)) return BadInput(where + ": a name is letters, digits, '_' and '.'");
    if (std::find(kDefaultVariables.begin(), kDefaultVariables.end(), name) !=
        kDefaultVariables.end())
      return BadInput(where + ": every event has this already", "choose another name");
    for (const Export& other : out.exports) {
      if (other.name == name) return BadInput(where + ": twice");
    }
    if (!value.IsString()) return BadInput(where + ": expected a string such as \"arg delta\"");
    auto expression = ParseExport(value.String());
    if (!expression.ok())
      return BadInput(fmt::format("{}: {}", where, expression.error().message),
                      expression.error().hint);
    for (size_t i = 0; i < out.locations.size(); ++i) {
      WF_TRY(
          CheckSource(*expression, out.locations[i], fmt::format("{} at locations[{}]", where, i)));
    }
    if (out.exports.size() == kMaxExports)
      return BadInput(fmt::format("{}: more than {} exports", place, kMaxExports));
    out.exports.push_back(
        {std::string(name), std::string(value.String()), std::move(expression).value()});
  }
  return {};
}

Status ReadHandoff(const JsonValue& object, const std::string& place, TracepointDefinition& out) {
  const JsonValue handoff = object.Get("handoff");
  if (handoff.missing()) return {};
  if (handoff.String() != "give" && handoff.String() != "take")
    return BadInput(place + ": handoff: expected \"give\" or \"take\"");
  out.handoff = handoff.String() == "give" ? Handoff::kGive : Handoff::kTake;
  const bool key = std::any_of(out.exports.begin(), out.exports.end(),
                               [](const Export& e) { return e.name == "key"; });
  if (!key) {
    return BadInput(place + ": handoff: needs an export named key",
                    "the object that passes from thread to thread: \"key\":\"arg task\"");
  }
  return {};
}

}  // namespace

std::string_view Name(At at) { return kAtNames[static_cast<size_t>(at)]; }

Result<TracepointDefinition> ReadTracepoint(const JsonValue& object) {
  if (!object.IsObject()) return BadInput("tracepoint: expected an object");
  TracepointDefinition out;
  WF_ASSIGN(out.name, Text(object, "name", "tracepoint"));
  if (out.name.empty()) return BadInput("tracepoint.name: is missing");
  const std::string place = fmt::format("tracepoint '{}'", out.name);
  static constexpr std::array<std::string_view, 5> kKeys{"version", "name", "locations", "exports",
                                                         "handoff"};
  const JsonValue version = object.Get("version");
  if (!version.missing()) {
    const auto number = version.Int();
    if (!number || *number < 1) return BadInput(place + ": version: expected a number, from 1");
    if (*number > kTracepointFileVersion) {
      return BadInput(fmt::format("{}: version: {} is newer than this program reads, which is {}",
                                  place, *number, kTracepointFileVersion),
                      "use a newer wherefore");
    }
  }
  WF_TRY(OnlyKeys(object, kKeys, place));
  const JsonValue locations = object.Get("locations");
  if (!locations.IsArray() || locations.size() == 0)
    return BadInput(place + ": locations: expected an array of at least one");
  if (locations.size() > kMaxLocations)
    return BadInput(fmt::format("{}: more than {} locations", place, kMaxLocations));
  for (const JsonValue location : locations.Elements()) {
    WF_ASSIGN(Location read, ReadLocation(location, fmt::format("{}: locations[{}]", place,
                                                                out.locations.size())));
    out.locations.push_back(std::move(read));
  }
  WF_TRY(ReadExports(object, place, out));
  WF_TRY(ReadHandoff(object, place, out));
  return out;
}

Result<std::vector<TracepointDefinition>> ParseTracepointFile(std::string_view text) {
  JsonParser parser;
  JsonLimits limits;
  limits.max_bytes = size_t{16} << 20;
  WF_ASSIGN(const JsonValue root, parser.Parse(text, limits));
  std::vector<TracepointDefinition> out;
  if (!root.IsArray()) {
    WF_ASSIGN(TracepointDefinition one, ReadTracepoint(root));
    out.push_back(std::move(one));
    return out;
  }
  if (root.size() > kMaxDefinitions)
    return BadInput(fmt::format("more than {} tracepoints in one file", kMaxDefinitions));
  for (const JsonValue object : root.Elements()) {
    auto one = ReadTracepoint(object);
    if (!one.ok()) {
      return BadInput(fmt::format("[{}]: {}", out.size(), one.error().message), one.error().hint);
    }
    for (const TracepointDefinition& other : out) {
      if (other.name == one->name)
        return BadInput(fmt::format("[{}]: tracepoint '{}' twice", out.size(), one->name));
    }
    out.push_back(std::move(one).value());
  }
  return out;
}

void WriteTracepoint(const TracepointDefinition& definition, JsonWriter& writer) {
  writer.BeginObject().Field("version", definition.version).Field("name", definition.name);
  writer.Key("locations").BeginArray();
  for (const Location& location : definition.locations) {
    writer.BeginObject();
    if (!location.exe.empty()) writer.Field("exe", location.exe);
    if (!location.library.empty()) writer.Field("library", location.library);
    if (!location.function.empty()) {
      writer.Field("function", location.function);
      if (location.has_signature) writer.Field("signature", location.signature);
      if (!location.overriders) writer.Field("overriders", false);
      writer.Field("at", Name(location.at));
    } else {
      writer.Field("file", location.file).Field("line", int64_t{location.line});
    }
    writer.EndObject();
  }
  writer.EndArray().Key("exports").BeginObject();
  for (const Export& one : definition.exports) writer.Field(one.name, one.text);
  writer.EndObject();
  if (definition.handoff != Handoff::kNone)
    writer.Field("handoff", definition.handoff == Handoff::kGive ? "give" : "take");
  writer.EndObject();
}

std::string ToJson(const TracepointDefinition& definition) {
  JsonWriter writer;
  WriteTracepoint(definition, writer);
  return writer.Take();
}

}  // namespace wf::weaver
