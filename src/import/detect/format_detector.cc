#include "import/detect/format_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/varint.h"
#include "import/decode/attribute_writer.h"
#include "import/detect/json_space.h"
#include "import/recording/recording_events.h"
#include "json/json_splitter.h"
#include "net/decoding_reader.h"

namespace wf::detect {
namespace {

constexpr size_t kWindow = 64 * 1024;
constexpr size_t kTextWindow = 512;  // binary data shows itself in it
constexpr size_t kHead = 4096;       // of a file, enough to tell its kind

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
  return Refused(name, "unknown format (byte 0)",
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
    return Refused(name, "provenance events, which cannot be imported",
                   fmt::format("wherefore explain --events {} --from ID --to ID", name));
  }
  if (members.Has("tracepoint") && members.Has("id")) {
    return Refused(name, "tracepoint events, which cannot be imported",
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
  return Refused(name, "JSON of an unknown format (byte 0)", Unrecognised(name).hint);
}

// A protobuf message whose first field is resource_spans: its length must lie inside the file, and the field inside
// it must be one of ResourceSpans.
bool LooksLikeOtlpProtobuf(std::string_view content, HeadExtent extent) {
  if (content.size() < 2 || content[0] != 0x0A) return false;
  std::string_view behind = content.substr(1);
  uint64_t length = 0;
  if (!TakeVarint(behind, length)) return false;
  if (length == 0) return behind.empty() || behind[0] == 0x0A;
  if (behind.empty()) return false;
  if (extent == HeadExtent::kWholeFile && length > behind.size()) return false;
  return behind[0] == 0x0A || behind[0] == 0x12 || behind[0] == 0x1A;
}

bool LooksLikeFramedProtobuf(std::string_view content, HeadExtent extent) {
  if (content.size() < 6) return false;
  const uint64_t length =
      LoadBigEndian64((std::string(4, '\0') + std::string(content.substr(0, 4))).data());
  const bool inside = length <= content.size() - 4;
  return length >= 2 && (inside || extent == HeadExtent::kBeginning) && content[4] == 0x0A &&
         LooksLikeOtlpProtobuf(content.substr(4, length), inside ? HeadExtent::kWholeFile : extent);
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

bool IsCapture(std::string_view bytes) {
  static constexpr std::string_view kMagics[] = {"\xA1\xB2\xC3\xD4", "\xD4\xC3\xB2\xA1",
                                                 "\xA1\xB2\x3C\x4D", "\x4D\x3C\xB2\xA1",
                                                 "\x0A\x0D\x0D\x0A"};
  return std::any_of(std::begin(kMagics), std::end(kMagics),
                     [&](std::string_view magic) { return bytes.substr(0, 4) == magic; });
}

// mbox begins with `From `; a single mail with a header that mails begin with.
bool IsMail(std::string_view bytes) {
  while (!bytes.empty() && (bytes[0] == '\n' || bytes[0] == '\r')) bytes.remove_prefix(1);
  if (bytes.substr(0, 5) == "From ") return true;
  static constexpr std::string_view kHeaders[] = {
      "received",     "return-path", "delivered-to", "envelope-to", "from",
      "to",           "subject",     "date",         "message-id",  "reply-to",
      "mime-version", "x-",          "arc-",         "dkim-",       "authentication-results",
      "received-spf"};
  const size_t colon = bytes.find_first_of(": \n");
  if (colon == std::string_view::npos || bytes[colon] != ':') return false;
  std::string name(bytes.substr(0, colon));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::any_of(std::begin(kHeaders), std::end(kHeaders), [&](std::string_view header) {
    return header.back() == '-' ? name.compare(0, header.size(), header) == 0 : name == header;
  });
}

// No character that text does not have: a newline and a letter are the beginning of some protobuf messages too.
bool IsPlainText(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && !(c >= '\t' && c <= '\r');
  });
}

DetectedFile EventsOf(ImportFormat format) {
  DetectedFile found;
  found.kind = FileKind::kEvents;
  found.format = format;
  return found;
}

DetectedFile OfKind(FileKind kind) {
  DetectedFile found;
  found.kind = kind;
  return found;
}

DetectedFile RefusedAs(FileKind kind, Error refusal) {
  DetectedFile found = OfKind(kind);
  found.refusal = std::move(refusal);
  return found;
}

// Of text that begins as JSON does, at `at`. None: it is not JSON.
std::optional<DetectedFile> DetectJson(std::string_view window, size_t at, std::string_view name) {
  const bool in_array = window[at] == '[';
  if (in_array) {
    at = SkipSpace(window, at + 1);
    if (at < window.size() && window[at] == ']')
      return EventsOf(ImportFormat::kZipkinJson);  // no spans at all
  }
  std::vector<Member> members;
  if (at >= window.size() || window[at] != '{' || !ReadMembers(window, at, members)) return {};
  const auto found = DetectObject(Members(members), in_array, name);
  if (found.ok()) return EventsOf(*found);
  if (members.empty()) return {};
  return RefusedAs(FileKind::kOther, found.error());
}

// Reads the head of what a source gives.
Result<DetectedFile> DetectSource(net::ChunkSource source, std::string_view name) {
  net::DecodingReader reader(std::move(source));
  std::string head(kHead, '\0');
  size_t have = 0;
  while (have < kHead) {
    WF_ASSIGN(const size_t got, reader.Read(head.data() + have, kHead - have));
    if (got == 0) break;
    have += got;
  }
  head.resize(have);
  return DetectFile(head, have < kHead ? HeadExtent::kWholeFile : HeadExtent::kBeginning, name);
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

DetectedFile DetectFile(std::string_view head, HeadExtent extent, std::string_view name) {
  if (IsCapture(head)) return OfKind(FileKind::kCapture);
  if (recording::IsRecording(head)) return EventsOf(ImportFormat::kRecording);
  if (head.substr(0, 4) == "WFEV") return EventsOf(ImportFormat::kEventsBinary);
  const std::string_view window = head.substr(0, kWindow);
  size_t at = SkipSpace(window, 0);
  if (window.substr(at, 3) == "\xEF\xBB\xBF") at = SkipSpace(window, at + 3);
  if (at == window.size())
    return RefusedAs(FileKind::kEmpty,
                     Refused(name, "the file is empty (byte 0)", "give a file with traces"));
  const bool json = window[at] == '{' || window[at] == '[';
  if (json) {
    if (auto found = DetectJson(window, at, name)) {
      found->syntax = DetectedFile::Syntax::kJson;
      return *found;
    }
  }
  const std::string_view beginning = head.substr(0, kTextWindow);
  if (!IsPlainText(beginning)) {
    if (LooksLikeOtlpProtobuf(head, extent)) return EventsOf(ImportFormat::kOtlpProtobuf);
    if (LooksLikeFramedProtobuf(head, extent)) return EventsOf(ImportFormat::kOtlpProtobufFile);
  }
  DetectedFile other = RefusedAs(FileKind::kOther, Unrecognised(name));
  if (beginning.find('\0') != std::string_view::npos) return other;
  if (json) {
    other.syntax = DetectedFile::Syntax::kJson;
    return other;
  }
  return OfKind(IsMail(head) ? FileKind::kMail : FileKind::kMessageText);
}

Result<DetectedFile> DetectFileAt(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return EnvironmentError(path + ": " + std::strerror(errno), "may it be read?");
  return DetectSource(
      [&](char* buffer, size_t size) -> Result<size_t> {
        in.read(buffer, static_cast<std::streamsize>(size));
        if (in.bad()) return EnvironmentError(path + ": cannot be read", "is it a file?");
        return static_cast<size_t>(in.gcount());
      },
      path);
}

Result<DetectedFile> DetectContent(std::string_view content, std::string_view name) {
  return DetectSource(
      [&](char* buffer, size_t size) -> Result<size_t> {
        const size_t n = std::min(size, content.size());
        std::copy_n(content.data(), n, buffer);
        content.remove_prefix(n);
        return n;
      },
      name);
}

Result<ImportFormat> DetectFormat(std::string_view content, std::string_view name) {
  const DetectedFile found = DetectFile(content, HeadExtent::kWholeFile, name);
  const auto whole = [&](std::string_view what) {
    return Refused(name, what,
                   fmt::format("wherefore import {}, or wherefore paths {}", name, name));
  };
  switch (found.kind) {
    case FileKind::kEvents:
      return found.format;
    case FileKind::kCapture:
      return whole("a packet capture: its messages are imported whole, not in pieces");
    case FileKind::kMessageText:
      if (LooksLikeMessageText(content))
        return whole("message text: it is imported whole, not in pieces");
      return Unrecognised(name);
    case FileKind::kMail:
      return Unrecognised(name);
    case FileKind::kEmpty:
    case FileKind::kOther:
      break;
  }
  return found.refusal;
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
