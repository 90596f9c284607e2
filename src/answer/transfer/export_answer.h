// `export`: stored events out again. Asked over HTTP it gives OTLP JSON lines, or serialized batches, from which the
// command line writes any format itself; the number of rows per answer is bounded, so a large store is fetched in
// windows of receipt time.
#pragma once

#include <functional>

#include "answer/frame/answer.h"

namespace wf::answer {

constexpr int64_t kExportRows = 100'000;  // about 50 MB of OTLP JSON

Result<Answer> AnswerExport(const AnswerContext& context, const Question& question);

// Reads the `batches` form. `complete` is false when the window held more rows than were asked for: nothing of it
// should be used, ask again for less.
struct ExportedBatches {
  std::vector<EventBatch> batches;
  bool complete = false;
};
Result<ExportedBatches> ParseExportedBatches(std::string_view body);

// One line of OTLP JSON per trace.
void AppendOtlpLines(const EventBatch& batch, std::string& out);

}  // namespace wf::answer
