// A file's bytes, in whatever format, → batches of bounded size, handed to a sink one after another.
//
// What is refused and what is counted: a file in no known format, or whose first value is not what the format asks
// for, is an error. Behind a first good value (JSON lines) a malformed one is counted as rejected under
// "malformed_value", reading goes on at the next line that begins a value, and the first such place is kept in
// ImportResult::first_fault. Documents up to kWholeDocument are checked as a whole before their first span is handed
// on; of a larger one that is cut short, what came before the cut has reached the sink.
//
// Thread safety: none; one call per file, several files on several threads are fine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"
#include "import/decode/attribute_rules.h"
#include "import/decode/decode_report.h"
#include "import/detect/format_detector.h"
#include "model/event_batch.h"
#include "net/decoding_reader.h"

namespace wf::detect {

// For content that is not a file's beginning (file_splitter.h): what was found out there, and where this begins.
struct FileContinuation {
  ImportFormat format = ImportFormat::kOtlpJson;
  size_t byte = 0, line = 0;  // before it
};

struct ImportOptions {
  decode::DecodeOptions decode;
  std::string tenant = "default";
  Nanos received_ns = 0;   // receipt of every row; retention counts from it
  size_t max_rows = 4096;  // of a batch given to the sink
  // Keeps a recorded program beside its own trace: what a trace does not tell (pages, branches) is answered from it.
  std::function<Status(TraceId trace, std::string_view content)> keep_recording;
  // Then no format is looked for, places are counted from there, and a malformed first value is counted, not an error.
  std::optional<FileContinuation> continues;
};

struct ImportResult {
  ImportFormat format = ImportFormat::kOtlpJson;
  decode::DecodeReport report;
  // "FILE: value at byte N (line L): reason"; empty when every value was read.
  std::string first_fault;
};

// Takes a batch of at most max_rows rows, never empty. An error ends the import and is returned.
using BatchSink = std::function<Status(EventBatch&&)>;

// Documents up to this size are parsed at once; of larger ones (arrays of spans or traces) one element at a time.
constexpr size_t kWholeDocument = size_t{64} << 20;

// `content` may be compressed with gzip or zstd. `name` is for messages.
Result<ImportResult> ImportBytes(std::string_view content, std::string_view name,
                                 const ImportOptions& options, const BatchSink& sink);

// The same from a source read piece by piece, for compressed files larger than memory. JSON lines need memory for the
// longest line only; other formats are gathered first.
Result<ImportResult> ImportStream(net::ChunkSource source, std::string_view name,
                                  const ImportOptions& options, const BatchSink& sink);

}  // namespace wf::detect
