#include "import/detect/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/ids.h"
#include "base/varint.h"
#include "import/decode/attribute_writer.h"
#include "import/events/events_binary_decoder.h"
#include "import/events/events_decoder.h"
#include "import/htrace/htrace_decoder.h"
#include "import/jaeger/jaeger_decoder.h"
#include "import/otlp/otlp_decoder.h"
#include "import/recording/recording_events.h"
#include "import/zipkin/zipkin_decoder.h"
#include "json/json_splitter.h"

namespace wf::detect {
namespace {

// A batch is handed on before its arena grows past this, however few its rows.
constexpr size_t kMaxArena = size_t{32} << 20;
constexpr size_t kImportReadBytes = size_t{1} << 20;

// The batch being filled, and its way to the sink.
class BatchFeeder {
 public:
  BatchFeeder(const ImportOptions& options, const BatchSink& sink, decode::DecodeReport& report)
      : options_(options), sink_(sink), report_(report) {
    Renew();
  }

  EventBatch& batch() { return batch_; }
  decode::AttributeWriter& writer() { return *writer_; }

  // Hands the batch on when it is full.
  Status Offer() {
    const size_t bytes = batch_.bytes.size() + batch_.strings.bytes().size();
    if (batch_.size() < options_.max_rows && bytes < kMaxArena) return {};
    return Flush();
  }

  Status Flush() {
    if (batch_.empty()) return {};
    EventBatch full = std::move(batch_);
    Renew();
    if (full.size() <= options_.max_rows) return sink_(std::move(full));
    for (size_t row = 0; row < full.size();) {
      EventBatch part = Empty();
      RowCopier copier(full, part);
      for (; row < full.size() && part.size() < options_.max_rows; ++row) copier.Copy(row);
      WF_TRY(sink_(std::move(part)));
    }
    return {};
  }

 private:
  EventBatch Empty() const {
    EventBatch batch;
    batch.tenant = options_.tenant;
    batch.received_ns = options_.received_ns;
    return batch;
  }
  void Renew() {
    batch_ = Empty();
    writer_.emplace(batch_, options_.decode, report_);
  }

  const ImportOptions& options_;
  const BatchSink& sink_;
  decode::DecodeReport& report_;
  EventBatch batch_;
  std::optional<decode::AttributeWriter> writer_;  // remembers codes of batch_: renewed with it
};

class Import {
 public:
  Import(std::string_view name, const ImportOptions& options, const BatchSink& sink)
      : name_(name), options_(options), feeder_(options, sink, result_.report) {
    limits_.repair_utf8 = true;
    limits_.max_depth = 1024;  // OTLP's values take three levels a level
    if (!options.continues) return;
    consumed_bytes_ = options.continues->byte;
    consumed_lines_ = options.continues->line;
    values_read_ = 1;
  }

  Result<ImportResult> Run(std::string_view content) {
    if (options_.continues) {
      result_.format = options_.continues->format;
    } else {
      WF_ASSIGN(result_.format, DetectFormat(content, name_));
    }
    if (result_.format == ImportFormat::kOtlpProtobuf) {
      WF_TRY(Protobuf(content, 0));
    } else if (result_.format == ImportFormat::kOtlpProtobufFile) {
      WF_TRY(FramedProtobuf(content));
    } else if (result_.format == ImportFormat::kEventsBinary) {
      WF_TRY(Events(content));
    } else if (result_.format == ImportFormat::kRecording) {
      WF_ASSIGN(const recorder::Recording recording,
                recorder::ReadRecording(recorder::FromMemory(content), std::string(name_)));
      WF_TRY(recording::RecordingToEvents(
          recording, [this](const std::string& body) { return Events(body); }));
      if (options_.keep_recording)
        WF_TRY(options_.keep_recording(recording::RecordingTraceId(recording), content));
    } else {
      WF_ASSIGN([[maybe_unused]] const size_t consumed, Values(content, Tail::kEnd));
    }
    return Finish();
  }

  // JSON only. Reads the values that are whole and returns how many bytes they took; with Tail::kEnd all of them.
  enum class Tail { kEnd, kMore };
  Result<size_t> Values(std::string_view text, Tail tail);

  Result<ImportResult> Finish() {
    WF_TRY(feeder_.Flush());
    return std::move(result_);
  }

  void Detected(ImportFormat format) { result_.format = format; }

 private:
  std::string Place(std::string_view text, size_t offset) const {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
    return fmt::format(
        "{}: value at byte {} (line {})", name_, consumed_bytes_ + offset,
        consumed_lines_ + 1 + static_cast<size_t>(std::count(text.begin(), end, '\n')));
  }

  void Fault(std::string_view text, size_t offset, const Error& error) {
    result_.report.Reject("malformed_value");
    if (result_.first_fault.empty())
      result_.first_fault = Place(text, offset) + ": " + error.message;
  }

  Status Value(std::string_view value);
  Status ParsedValue(JsonValue value);
  Status Element(JsonValue element);
  Status LargeArray(std::string_view text, size_t open);
  Status OtlpValue(std::string_view value);
  Status Protobuf(std::string_view request, size_t offset);
  Status FramedProtobuf(std::string_view content);
  Status Events(std::string_view body);

  std::string_view name_;
  const ImportOptions& options_;
  ImportResult result_;
  BatchFeeder feeder_;
  JsonParser parser_;
  JsonLimits limits_;
  int64_t values_read_ = 0;
  size_t consumed_bytes_ = 0, consumed_lines_ = 0;  // before the text being read
  bool sink_failed_ = false;
};

// A span, trace or event of the format.
Status Import::Element(JsonValue element) {
  switch (result_.format) {
    case ImportFormat::kZipkinJson:
      zipkin::DecodeZipkinSpan(element, feeder_.writer());
      break;
    case ImportFormat::kJaegerJson:
      jaeger::DecodeJaegerTrace(element, feeder_.writer());
      break;
    case ImportFormat::kHTraceJson:
      htrace::DecodeHTraceSpan(element, feeder_.writer());
      break;
    default:
      events::DecodeEvent(element, feeder_.writer());
  }
  const Status status = feeder_.Offer();
  sink_failed_ = sink_failed_ || !status.ok();
  return status;
}

Status Import::ParsedValue(JsonValue value) {
  if (parser_.repaired_utf8()) result_.report.Repair("bad_utf8");
  JsonValue elements = value;
  if (result_.format == ImportFormat::kJaegerJson && value.Get("data").IsArray())
    elements = value.Get("data");
  if (!elements.IsArray()) return Element(value);
  for (const JsonValue element : elements.Elements()) WF_TRY(Element(element));
  return {};
}

Status Import::OtlpValue(std::string_view value) {
  // A file of the Collector may hold logs and metrics beside traces.
  if (FindArrayMember(value, "resourceLogs") != std::string_view::npos) {
    WF_ASSIGN(const int64_t records, otlp::CountOtlpLogsJson(value));
    if (records > 0) result_.report.Reject("otlp_log_record", records);
    return {};
  }
  if (FindArrayMember(value, "resourceMetrics") != std::string_view::npos) {
    WF_ASSIGN(const int64_t points, otlp::CountOtlpMetricsJson(value));
    if (points > 0) result_.report.Reject("otlp_metric_point", points);
    return {};
  }
  WF_TRY(otlp::DecodeOtlpJson(value, options_.decode, feeder_.batch(), result_.report));
  const Status status = feeder_.Offer();
  sink_failed_ = !status.ok();
  return status;
}

// Elements of an array too large to parse at once.
Status Import::LargeArray(std::string_view text, size_t open) {
  JsonSplitter elements = JsonSplitter::Array(text, open);
  std::string_view element;
  while (elements.Next(element)) {
    const auto parsed = parser_.Parse(element, limits_);
    if (!parsed.ok()) {
      return BadInput(
          fmt::format("element at byte {}: {}", elements.offset(), parsed.error().message),
          parsed.error().hint);
    }
    if (parser_.repaired_utf8()) result_.report.Repair("bad_utf8");
    WF_TRY(Element(*parsed));
  }
  if (!elements.malformed()) return {};
  return BadInput(fmt::format("JSON: expected ',' or ']' at byte {}", elements.offset()),
                  "check that the file is whole");
}

Status Import::Value(std::string_view value) {
  if (result_.format == ImportFormat::kOtlpJson) return OtlpValue(value);
  if (value.size() > kWholeDocument) {
    const size_t open = value[0] == '[' ? 0 : FindArrayMember(value, "data");
    if (open != std::string_view::npos) return LargeArray(value, open);
  }
  WF_ASSIGN(const JsonValue parsed, parser_.Parse(value, limits_));
  return ParsedValue(parsed);
}

Result<size_t> Import::Values(std::string_view text, Tail tail) {
  JsonSplitter values = JsonSplitter::Sequence(text);
  std::string_view value;
  size_t resume = 0;  // after a fault the splitter begins anew behind it
  size_t consumed = 0;
  while (values.Next(value)) {
    const size_t begin = resume + values.offset();
    const size_t end = resume + values.position();
    if (tail == Tail::kMore && end == text.size()) break;  // may go on in what is not read yet
    const Status status = Value(value);
    consumed = end;
    if (status.ok()) {
      ++values_read_;
      continue;
    }
    if (sink_failed_) return status.error();
    Fault(text, begin, status.error());
    if (values_read_ == 0) return BadInput(result_.first_fault, status.error().hint);
    // Go on where a line begins like a value. A line in the middle of a pretty-printed value is indented.
    size_t next = text.find('\n', begin);
    while (next != std::string_view::npos && next + 1 < text.size() && text[next + 1] != '{' &&
           text[next + 1] != '[') {
      next = text.find('\n', next + 1);
    }
    if (next == std::string_view::npos) break;
    resume = consumed = next + 1;
    values = JsonSplitter::Sequence(text.substr(resume));
  }
  if (tail == Tail::kEnd) consumed = text.size();
  consumed_lines_ += static_cast<size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(consumed), '\n'));
  consumed_bytes_ += consumed;
  return consumed;
}

Status Import::Protobuf(std::string_view request, size_t offset) {
  // Each ResourceSpans of a large request is a request of its own, so memory stays bounded by the largest of them.
  const auto decode = [&](std::string_view part, size_t at) -> Status {
    const Status status =
        otlp::DecodeOtlpProtobuf(part, options_.decode, feeder_.batch(), result_.report);
    if (!status.ok()) {
      return BadInput(fmt::format("{}: byte {}: {}", name_, consumed_bytes_ + offset + at,
                                  status.error().message),
                      status.error().hint);
    }
    return feeder_.Offer();
  };
  if (request.size() <= kWholeDocument) return decode(request, 0);
  for (size_t at = 0; at < request.size();) {
    std::string_view behind = request.substr(at + 1);
    uint64_t length = 0;
    if (request[at] != 0x0A || !TakeVarint(behind, length) || length > behind.size())
      return decode(request.substr(at), at);
    const size_t body = request.size() - behind.size();
    WF_TRY(decode(request.substr(at, body + length - at), at));
    at = body + length;
  }
  return {};
}

Status Import::FramedProtobuf(std::string_view content) {
  for (size_t at = 0; at < content.size();) {
    if (content.size() - at < 4) {
      return BadInput(
          fmt::format("{}: byte {}: the file ends inside a length", name_, consumed_bytes_ + at),
          "check that the file is whole");
    }
    char prefix[8] = {0, 0, 0, 0, content[at], content[at + 1], content[at + 2], content[at + 3]};
    const uint64_t length = LoadBigEndian64(prefix);
    at += 4;
    if (length > content.size() - at) {
      return BadInput(fmt::format("{}: byte {}: a request of {} bytes, of which {} are there",
                                  name_, consumed_bytes_ + at, length, content.size() - at),
                      "check that the file is whole");
    }
    WF_TRY(Protobuf(content.substr(at, length), at));
    at += length;
  }
  return {};
}

Status Import::Events(std::string_view body) {
  const Status status =
      events::DecodeEventsBinary(body, options_.decode, feeder_.batch(), result_.report);
  if (!status.ok())
    return BadInput(fmt::format("{}: {}", name_, status.error().message), status.error().hint);
  return feeder_.Offer();
}

// Formats that are read as a whole.
bool TakenWhole(ImportFormat format) {
  return format == ImportFormat::kOtlpProtobuf || format == ImportFormat::kOtlpProtobufFile ||
         format == ImportFormat::kEventsBinary || format == ImportFormat::kRecording;
}

Error Named(std::string_view name, const Error& error) {
  return {error.code, fmt::format("{}: {}", name, error.message), error.hint};
}

}  // namespace

Result<ImportResult> ImportBytes(std::string_view content, std::string_view name,
                                 const ImportOptions& options, const BatchSink& sink) {
  if (net::DetectCompression(content) == net::Compression::kIdentity)
    return Import(name, options, sink).Run(content);
  size_t at = 0;
  return ImportStream(
      [&](char* buffer, size_t size) -> Result<size_t> {
        const size_t n = std::min(size, content.size() - at);
        std::copy_n(content.data() + at, n, buffer);
        at += n;
        return n;
      },
      name, options, sink);
}

Result<ImportResult> ImportStream(net::ChunkSource source, std::string_view name,
                                  const ImportOptions& options, const BatchSink& sink) {
  net::DecodingReader reader(std::move(source));
  Import import(name, options, sink);
  std::string pending;
  std::optional<ImportFormat> format;
  // Gather that much before reading values, so that usual files are checked whole.
  size_t next_try = kWholeDocument;
  while (true) {
    const size_t had = pending.size();
    pending.resize(had + kImportReadBytes);
    const auto got = reader.Read(pending.data() + had, kImportReadBytes);
    if (!got.ok()) return Named(name, got.error());
    pending.resize(had + *got);
    if (*got == 0) break;
    if (pending.size() < next_try) continue;
    if (!format) {
      WF_ASSIGN(format, DetectFormat(pending, name));
      import.Detected(*format);
    }
    if (TakenWhole(*format)) continue;
    WF_ASSIGN(const size_t consumed, import.Values(pending, Import::Tail::kMore));
    pending.erase(0, consumed);
    // A value that has not ended is looked at again only when there is twice as much of it.
    next_try = std::max(kWholeDocument / 8, pending.size() * 2);
  }
  if (!format || TakenWhole(*format)) return import.Run(pending);
  WF_ASSIGN([[maybe_unused]] const size_t consumed, import.Values(pending, Import::Tail::kEnd));
  return import.Finish();
}

}  // namespace wf::detect
