#include "lang/ndlog/recording.h"

#include <fmt/format.h>

#include <iterator>

#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::ndlog {
namespace {

constexpr int64_t kVersion = 1;
constexpr ProvenanceType kTypes[] = {ProvenanceType::kInsert, ProvenanceType::kDelete,
                                     ProvenanceType::kDerive, ProvenanceType::kUnderive,
                                     ProvenanceType::kSend,   ProvenanceType::kReceive};

Status ReadHeader(const JsonValue& line, const std::string& place, Recording& out) {
  const auto version = line.Get("ndlog_recording").Int();
  if (!version)
    return BadInput(place + ": no recording of an ndlog run",
                    "wherefore ndlog run --record FILE writes one");
  if (*version != kVersion)
    return BadInput(fmt::format("{}: a recording of version {}", place, *version),
                    fmt::format("this program reads version {}", kVersion));
  out.program = line.Get("program").String();
  out.topology = line.Get("topology").String();
  out.inputs = line.Get("inputs").String();
  out.seed = line.Get("seed").UintOrText().value_or(1);
  out.until = line.Get("until_ns").Int();
  return {};
}

}  // namespace

std::string WriteRecording(const Recording& recording) {
  JsonWriter json;
  json.BeginObject().Field("ndlog_recording", kVersion).Field("seed", recording.seed);
  if (recording.until) json.Field("until_ns", int64_t{*recording.until});
  json.Field("program", recording.program).Field("topology", recording.topology);
  json.Field("inputs", recording.inputs).EndObject();
  std::string out = json.Take() + "\n";
  Nanos before = 0;  // starts are stored as differences between events, which halves the bytes
  for (const RecordedEvent& event : recording.events) {
    fmt::format_to(std::back_inserter(out), "[{},{},{},{},{}", event.node,
                   static_cast<int>(event.type), event.tuple, SaturatingSub(event.start, before),
                   event.duration);
    before = event.start;
    if (event.transit != 0) fmt::format_to(std::back_inserter(out), ",{}", event.transit);
    out += "]\n";
  }
  return out;
}

Result<Recording> ReadRecording(std::string_view text, std::string_view file) {
  Recording out;
  JsonParser parser;
  Nanos start = 0;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string place = fmt::format("{}:{}", file, number);
    const auto value = parser.Parse(line);
    if (!value.ok()) return BadInput(place + ": " + value.error().message, "is the file whole?");
    if (number == 1) {
      WF_TRY(ReadHeader(*value, place, out));
      continue;
    }
    std::vector<int64_t> numbers;
    for (const JsonValue element : value->Elements())
      if (const auto one = element.Int()) numbers.push_back(*one);
    const bool right = value->IsArray() && numbers.size() == value->size() &&
                       (numbers.size() == 5 || numbers.size() == 6) && numbers[0] >= 0 &&
                       numbers[0] <= UINT32_MAX && numbers[1] >= 0 &&
                       numbers[1] < static_cast<int64_t>(std::size(kTypes)) && numbers[2] >= 0 &&
                       numbers[2] <= UINT32_MAX && numbers[4] >= 0 &&
                       (numbers.size() == 5 || numbers[5] >= 0);
    if (!right) return BadInput(place + ": no recorded event", "is the file whole?");
    start = SaturatingAdd(start, numbers[3]);
    out.events.push_back({static_cast<uint32_t>(numbers[0]), kTypes[numbers[1]],
                          static_cast<uint32_t>(numbers[2]), start, numbers[4],
                          numbers.size() == 6 ? numbers[5] : 0});
  }
  if (out.program.empty())
    return BadInput(fmt::format("{}: no recording of an ndlog run", file),
                    "wherefore ndlog run --record FILE writes one");
  return out;
}

}  // namespace wf::ndlog
