#include "answer/transfer/export_answer.h"

#include "import/otlp/otlp_encoder.h"
#include "model/packed.h"

namespace wf::answer {
namespace {

// Frames of the `batches` form: varint length, bytes; a last frame of length 0 says that the window was complete.
void AppendFrame(const EventBatch& batch, std::string& out) {
  std::string bytes;
  SerializeBatch(batch, bytes);
  PutVarint(bytes.size(), out);
  out += bytes;
}

class FrameReader : public PackedReader {
 public:
  using PackedReader::PackedReader;
  bool Next(std::string_view& frame) {
    uint64_t length;
    return !done() && Varint(length) && Bytes(length, frame);
  }
};

}  // namespace

void AppendOtlpLines(const EventBatch& batch, std::string& out) {
  for (size_t begin = 0; begin < batch.size();) {
    std::vector<uint32_t> rows;
    size_t end = begin;
    for (; end < batch.size() && batch.trace_id(end) == batch.trace_id(begin); ++end) {
      rows.push_back(static_cast<uint32_t>(end));
    }
    out += otlp::EncodeOtlpJson(batch, rows);
    out.push_back('\n');
    begin = end;
  }
}

Result<Answer> AnswerExport(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  WF_TRY(params.Check({"to", "since", "until", "received_since", "received_until", "max_rows"}));
  WF_ASSIGN(const auto to, params.Choice("to", {"otlp-json", "batches"}));
  store::ScanOptions scan;
  const auto range = [&](const char* since_name, const char* until_name,
                         store::TimeRange& out) -> Status {
    WF_ASSIGN(const auto since, params.Instant(since_name, context.now));
    WF_ASSIGN(const auto until, params.Instant(until_name, context.now));
    if (since) out.from = *since;
    if (until) out.until = *until;
    return {};
  };
  WF_TRY(range("since", "until", scan.time));
  WF_TRY(range("received_since", "received_until", scan.received));
  WF_ASSIGN(const auto max_rows, params.Integer("max_rows", 1, kExportRows));
  const int64_t limit = max_rows.value_or(kExportRows);

  const bool batches = to == "batches";
  std::string body;
  int64_t rows = 0;
  WF_TRY(context.store.Scan(context.tenant, scan, [&](EventBatch batch) {
    rows += static_cast<int64_t>(batch.size());
    if (rows > limit) return false;
    if (batches) {
      AppendFrame(batch, body);
    } else {
      AppendOtlpLines(batch, body);
    }
    return true;
  }));
  if (batches) {
    if (rows > limit) body.clear();  // of no use to anybody
    if (rows <= limit) PutVarint(0, body);
    return Answer{"application/octet-stream", std::move(body)};
  }
  if (rows > limit) {
    return BadInput("export: more than " + std::to_string(limit) + " events in this window",
                    "narrow --since and --until, or use wherefore export, which fetches in pieces");
  }
  return Answer{"application/x-ndjson", std::move(body)};
}

Result<ExportedBatches> ParseExportedBatches(std::string_view body) {
  ExportedBatches out;
  FrameReader reader(body);
  for (std::string_view frame; reader.Next(frame);) {
    if (frame.empty()) {
      out.complete = true;
      return out;
    }
    WF_ASSIGN(auto batch, DeserializeBatch(frame));
    out.batches.push_back(std::move(batch));
  }
  if (reader.bad())
    return EnvironmentError("export: the server's answer was cut short", "try again");
  return out;
}

}  // namespace wf::answer
