#include "import/detect/format_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "import/decode/attribute_writer.h"
#include "import/detect/json_space.h"
#include "import/recording/recording_events.h"
#include "json/json_splitter.h"

namespace wf::detect {
namespace {

constexpr size_t kWindow = 64 * 1024;

struct Member {
  std::string_view key;
  std::string_view value;  // as it stands in the text, perhaps cut at the window's end
};

// The members of the object at text[open] == '{', as far as the window shows them. False when it is no object.
bool ReadMembers(std::string_view text, size_t open, std::vector<Member>& members) {
  size_t at = SkipSpace(text, open + 1);
  while (at < text.size() && text[at] != '}') {
    if (text[at] != '"') return false;
    const size_t key_end = JsonValueEnd(text, at);
    if (key_end >= text.size()) return true;
    const std::string_view key = text.substr(at + 1, key_end - at - 2);
    for (const char c : key) {
      if (static_cast<unsigned char>(c) < 0x20)
        return false;  // binary data that happens to begin like JSON
    }
    at = SkipSpace(text, key_end);
    if (at >= text.size()) return true;
    if (text[at] != ':') return false;
    at = SkipSpace(text, at + 1);
    const size_t value_end = at < text.size() ? JsonValueEnd(text, at) : at;
    members.push_back({key, text.substr(at, value_end - at)});
    at = SkipSpace(text, value_end);
    if (at >= text.size() || text[at] == '}') return true;
    if (text[at] != ',') return false;
    at = SkipSpace(text, at + 1);
  }
  return true;
}

class Members {
 public:
  explicit Members(const std::vector<Member>& list) : list_(list) {}
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  bool Any(std::initializer_list<std::string_view> keys) const {
    return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return Has(key); });
  }
  // The text between the quotes, or what stands there.
  std::string_view Text(std::string_view key) const {
    const Member* member = Find(key);
    if (member == nullptr) return {};
    std::string_view value = member->value;
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }
  bool empty() const { return list_.empty(); }

 private:
  const Member* Find(std::string_view key) const {
    for (const Member& member : list_) {
      if (member.key == key) return &member;
    }
    return nullptr;
  }
  const std::vector<Member>& list_;
};

Error Refused(std::string_view name, std::string_view what, std::string hint) {
  return BadInput(fmt::format("{}: {}", name, what), std::move(hint));
}

Error Unrecognised(std::string_view name) {
  return Refused(name, "not a format that import knows (byte 0)",
                 "import reads OTLP JSON and protobuf, Zipkin v2, Jaeger JSON, HTrace JSON, "
                 "wherefore events, message text, captures and mail, each plain or compressed with "
                 "gzip or zstd");
}

Result<ImportFormat> DetectObject(const Members& members, bool in_array, std::string_view name) {
  if (members.Any({"resourceSpans", "resource_spans", "resourceLogs", "resource_logs",
                   "resourceMetrics", "resource_metrics"})) {
    return ImportFormat::kOtlpJson;
  }
  const std::string_view type = members.Text("type");
  bool provenance = members.Has("resource") && members.Has("servers") && !members.Has("id");
  for (const std::string_view vertex : {"INS", "DEL", "DRV", "UDRV", "SND", "RCV"})
    provenance = provenance || (type == vertex && members.Has("node"));
  if (provenance) {
    return Refused(name, "provenance events, which import does not read",
                   fmt::format("wherefore explain --events {} --from ID --to ID", name));
  }
  if (members.Has("tracepoint") && members.Has("id")) {
    return Refused(name, "tracepoint events, which import does not read",
                   fmt::format("wherefore query --events {} 'From … Select …'", name));
  }
  if (members.Has("trace_id") && members.Has("type")) return ImportFormat::kEventsJson;
  if (members.Has("binaryAnnotations") ||
      (members.Has("traceId") &&
       members.Text("annotations").find("\"endpoint\"") != std::string_view::npos)) {
    return Refused(name, "Zipkin v1 spans; import reads Zipkin v2",
                   "export them again from Zipkin's /api/v2");
  }
  if (members.Has("traceId") && members.Has("id")) return ImportFormat::kZipkinJson;
  if (members.Has("data") && !in_array) return ImportFormat::kJaegerJson;
  if (members.Has("traceID") && members.Any({"spans", "processes", "spanID"}))
    return ImportFormat::kJaegerJson;
  if (members.Has("spans") && members.Has("processes")) return ImportFormat::kJaegerJson;
  if (members.Text("a").size() == 32 || (members.Has("i") && members.Has("s")))
    return ImportFormat::kHTraceJson;
  if (members.empty() && !in_array) return ImportFormat::kOtlpJson;  // {}: a request without spans
  return Refused(name, "JSON, but of no format that import knows (byte 0)",
                 Unrecognised(name).hint);
}

// A protobuf message whose first field is resource_spans: its length must lie inside the file, and the field inside
// it must be one of ResourceSpans.
bool LooksLikeOtlpProtobuf(std::string_view content) {
  if (content.size() < 2 || content[0] != 0x0A) return false;
  uint64_t length = 0;
  size_t at = 1;
  for (int shift = 0; at < content.size() && shift < 35; shift += 7) {
    const auto byte = static_cast<unsigned char>(content[at++]);
    length |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  if (length == 0) return at == content.size() || content[at] == 0x0A;
  if (length > content.size() - at) return false;
  return content[at] == 0x0A || content[at] == 0x12 || content[at] == 0x1A;
}

bool LooksLikeFramedProtobuf(std::string_view content) {
  if (content.size() < 6) return false;
  const uint64_t length =
      LoadBigEndian64((std::string(4, '\0') + std::string(content.substr(0, 4))).data());
  return length >= 2 && length <= content.size() - 4 && content[4] == 0x0A &&
         LooksLikeOtlpProtobuf(content.substr(4, length));
}

// Message text, as the black boxes' verbs read it: SECONDS KIND SENDER RECEIVER [ID].
bool LooksLikeMessageText(std::string_view content) {
  const std::string_view line = content.substr(0, content.find('\n'));
  size_t digits = 0;
  while (digits < line.size() &&
         (std::isdigit(static_cast<unsigned char>(line[digits])) != 0 || line[digits] == '.')) {
    ++digits;
  }
  if (digits == 0 || digits == line.size() || line[digits] != ' ') return false;
  for (const std::string_view kind : {"CALL", "RET", "MSG"}) {
    if (line.substr(digits + 1, kind.size()) == kind) return true;
  }
  return false;
}

bool LooksLikeCapture(std::string_view content) {
  for (const std::string_view magic : {"\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1",
                                       "\xa1\xb2\x3c\x4d", "\x0a\x0d\x0d\x0a"}) {
    if (content.substr(0, 4) == magic) return true;
  }
  return false;
}

}  // namespace

const char* ImportFormatName(ImportFormat format) {
  switch (format) {
    case ImportFormat::kOtlpJson:
      return "OTLP JSON";
    case ImportFormat::kOtlpProtobuf:
    case ImportFormat::kOtlpProtobufFile:
      return "OTLP protobuf";
    case ImportFormat::kZipkinJson:
      return "Zipkin v2 JSON";
    case ImportFormat::kJaegerJson:
      return "Jaeger JSON";
    case ImportFormat::kHTraceJson:
      return "HTrace JSON";
    case ImportFormat::kEventsJson:
    case ImportFormat::kEventsBinary:
      return "wherefore events";
    case ImportFormat::kRecording:
      return "recording";
  }
  return "unknown";
}

const char* ImportFormatKey(ImportFormat format) {
  switch (format) {
    case ImportFormat::kOtlpJson:
      return "otlp-json";
    case ImportFormat::kOtlpProtobuf:
      return "otlp-protobuf";
    case ImportFormat::kOtlpProtobufFile:
      return "otlp-protobuf-file";
    case ImportFormat::kZipkinJson:
      return "zipkin-json";
    case ImportFormat::kJaegerJson:
      return "jaeger-json";
    case ImportFormat::kHTraceJson:
      return "htrace-json";
    case ImportFormat::kEventsJson:
      return "events-json";
    case ImportFormat::kEventsBinary:
      return "events-binary";
    case ImportFormat::kRecording:
      return "recording";
  }
  return "unknown";
}

std::optional<ImportFormat> ImportFormatOfKey(std::string_view key) {
  for (auto f = ImportFormat::kOtlpJson;; f = static_cast<ImportFormat>(static_cast<int>(f) + 1)) {
    if (key == ImportFormatKey(f)) return f;
    if (f == ImportFormat::kRecording) return std::nullopt;
  }
}

Result<ImportFormat> DetectFormat(std::string_view content, std::string_view name) {
  if (LooksLikeCapture(content)) {
    return Refused(name, "a packet capture: its messages are imported whole, not in pieces",
                   fmt::format("wherefore import {}, or wherefore paths {}", name, name));
  }
  if (recording::IsRecording(content)) return ImportFormat::kRecording;
  if (content.substr(0, 4) == "WFEV") return ImportFormat::kEventsBinary;
  const std::string_view window = content.substr(0, kWindow);
  size_t at = SkipSpace(window, 0);
  if (window.substr(at, 3) == "\xEF\xBB\xBF") at = SkipSpace(window, at + 3);
  if (at == window.size())
    return Refused(name, "the file is empty (byte 0)", "give a file with traces");
  bool in_array = false;
  if (window[at] == '[') {
    in_array = true;
    at = SkipSpace(window, at + 1);
    if (at < window.size() && window[at] == ']')
      return ImportFormat::kZipkinJson;  // no spans at all
  }
  std::vector<Member> members;
  if (at < window.size() && window[at] == '{' && ReadMembers(window, at, members)) {
    auto found = DetectObject(Members(members), in_array, name);
    if (found.ok() || !members.empty()) return found;
  }
  if (LooksLikeOtlpProtobuf(content)) return ImportFormat::kOtlpProtobuf;
  if (LooksLikeFramedProtobuf(content)) return ImportFormat::kOtlpProtobufFile;
  if (LooksLikeMessageText(content)) {
    return Refused(name, "message text: it is imported whole, not in pieces",
                   fmt::format("wherefore import {}, or wherefore paths {}", name, name));
  }
  return Unrecognised(name);
}

size_t FindArrayMember(std::string_view object, std::string_view key) {
  // Unlike detection this may have to pass over much: members before the one asked for.
  const size_t open = object.find('{');
  size_t at = open == std::string_view::npos ? object.size() : SkipSpace(object, open + 1);
  while (at < object.size() && object[at] == '"') {
    const size_t key_end = JsonValueEnd(object, at);
    const std::string_view found = object.substr(at + 1, key_end - at - 2);
    at = SkipSpace(object, key_end);
    if (at >= object.size() || object[at] != ':') break;
    at = SkipSpace(object, at + 1);
    if (found == key) return at < object.size() && object[at] == '[' ? at : std::string_view::npos;
    if (at < object.size()) at = SkipSpace(object, JsonValueEnd(object, at));
    if (at >= object.size() || object[at] != ',') break;
    at = SkipSpace(object, at + 1);
  }
  return std::string_view::npos;
}

}  // namespace wf::detect
