// Which format a file is in, by its content: names and extensions lie. Whoever has to tell files apart asks here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::detect {

enum class ImportFormat {
  kOtlpJson,      // requests: one, or many as JSON lines or concatenated
  kOtlpProtobuf,  // one request, or many concatenated
  kOtlpProtobufFile,  // many, each behind its length in 4 bytes, big endian (the Collector's file exporter)
  kZipkinJson,
  kJaegerJson,
  kHTraceJson,
  kEventsJson,
  kEventsBinary,  // one body (docs/reference/events.md)
  kRecording,     // a recorded program (.cpg)
};

const char* ImportFormatName(ImportFormat format);  // "OTLP JSON", …
// For interfaces: "otlp-json", …; one for each.
const char* ImportFormatKey(ImportFormat format);
std::optional<ImportFormat> ImportFormatOfKey(std::string_view key);

enum class FileKind : uint8_t {
  kEmpty,
  kEvents,       // of traces, in an ImportFormat
  kMessageText,  // docs/reference/messages.md; any text that is nothing else is read as such
  kCapture,
  kMail,
  kOther,  // what another verb reads, what we know but do not import, and everything else
};

struct DetectedFile {
  FileKind kind = FileKind::kOther;
  ImportFormat format = ImportFormat::kOtlpJson;  // of kEvents
  enum class Syntax : uint8_t { kJson, kNotJson } syntax = Syntax::kNotJson;
  Error refusal{ErrorCode::kBadInput, "", ""};  // of kEmpty and kOther: what import says of it

  bool holds_messages() const {
    return kind == FileKind::kMessageText || kind == FileKind::kCapture || kind == FileKind::kMail;
  }
};

// Looks at the first 64 KiB. `head` is decoded already; kBeginning: more follows. `name` is only for messages.
enum class HeadExtent : uint8_t { kWholeFile, kBeginning };
DetectedFile DetectFile(std::string_view head, HeadExtent extent, std::string_view name);

// The same of a file, or of its bytes, compressed or not. What cannot be read is an error.
Result<DetectedFile> DetectFileAt(const std::string& path);
Result<DetectedFile> DetectContent(std::string_view content, std::string_view name);

// For the importer of events: everything but kEvents is BadInput, with the verb or the way round.
Result<ImportFormat> DetectFormat(std::string_view content, std::string_view name);

// For the importer: where the array that is the value of member `key` begins ('['), in an object that begins at the
// text's first '{'; npos when it is not among the members.
size_t FindArrayMember(std::string_view object, std::string_view key);

}  // namespace wf::detect
