#include "answer/transfer/import_answer.h"

#include <algorithm>
#include <charconv>

#include "import/detect/format_detector.h"
#include "pipeline/finish_import.h"
#include "pipeline/message_import.h"
#include "pipeline/pipeline.h"

namespace wf::answer {
namespace {

Result<std::vector<TraceId>> ParseIdLines(std::string_view text) {
  std::vector<TraceId> ids;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    WF_ASSIGN(const TraceId id, ParseTraceId(text.substr(0, end)));
    ids.push_back(id);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ids;
}

Result<detect::FileContinuation> ParseContinuation(std::string_view text) {
  detect::FileContinuation out;
  const size_t second = text.rfind(':');
  const size_t first = second == 0 || second == std::string_view::npos
                           ? std::string_view::npos
                           : text.rfind(':', second - 1);
  const auto number = [](std::string_view digits, size_t& value) {
    const auto end = digits.data() + digits.size();
    return !digits.empty() && std::from_chars(digits.data(), end, value).ptr == end;
  };
  const auto format = first == std::string_view::npos
                          ? std::nullopt
                          : detect::ImportFormatOfKey(text.substr(0, first));
  if (!format || !number(text.substr(first + 1, second - first - 1), out.byte) ||
      !number(text.substr(second + 1), out.line)) {
    return BadInput(
        "continues: \"" + std::string(text.substr(0, 64)) + "\" is not a place in a file",
        "FORMAT:BYTE:LINE, as in otlp-json:16777216:20480");
  }
  out.format = *format;
  return out;
}

}  // namespace

std::string FormatContinuation(const detect::FileContinuation& c) {
  return std::string(detect::ImportFormatKey(c.format)) + ":" + std::to_string(c.byte) + ":" +
         std::to_string(c.line);
}

Result<Answer> AnswerImport(const AnswerContext& context, const Params& params,
                            std::string_view content) {
  WF_TRY(params.Check({"name", "model", "continues"}));
  WF_ASSIGN(const std::optional<std::string> model,
            params.Choice("model", {"now", "later", "only"}));
  pipeline::ImportJob job(
      context.store, context.tenant, context.decode,
      context.tailer == nullptr ? pipeline::TraceLimits{} : context.tailer->Limits());
  if (model == "only") {
    WF_ASSIGN(const auto ids, ParseIdLines(content));
    job.AddTraces(ids);
  } else {
    std::optional<detect::FileContinuation> continues;
    if (const auto text = params.Get("continues")) {
      WF_ASSIGN(continues, ParseContinuation(*text));
    }
    const std::string name = params.Get("name").value_or("upload");
    // What cannot be decoded is no messages: the importer of events says why.
    const auto found = detect::DetectContent(content, name);
    WF_TRY(found.ok() && found->holds_messages() && !continues
               ? pipeline::ImportMessageContent(name, content, context.tenant, context.store, job)
               : job.AddContent(name, content, continues));
  }
  if (model == "later") {
    // Clocks, too: once for all files, by the request that models their traces.
    WF_ASSIGN(const pipeline::ImportReport report,
              job.Finish(pipeline::ImportJob::Modeling::kLater));
    return Answer{"application/json", pipeline::ImportReportJson(report)};
  }
  WF_ASSIGN(const pipeline::ImportReport report,
            pipeline::FinishImport(job, context.store, context.tenant, context.tailer));
  return Answer{"application/json", pipeline::ImportReportJson(report)};
}

}  // namespace wf::answer
