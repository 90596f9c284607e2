// Which format a file is in, by its content: names and extensions lie.
#pragma once

#include <optional>
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

// Looks at the first 64 KiB. Files that another verb reads, and formats we know but do not import, are BadInput with
// the verb or the way round; so is everything else. `name` is only for messages.
Result<ImportFormat> DetectFormat(std::string_view content, std::string_view name);

// For the importer: where the array that is the value of member `key` begins ('['), in an object that begins at the
// text's first '{'; npos when it is not among the members.
size_t FindArrayMember(std::string_view object, std::string_view key);

}  // namespace wf::detect
