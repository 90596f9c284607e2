// A recording that was imported: the file was kept beside the recording's own trace, whose id is asked for.
#include <utility>

#include "answer/recording/recording_questions.h"
#include "base/ids.h"

namespace wf::answer {
namespace {

Result<recorder::Recording> ReadStored(const AnswerContext& context, const std::string& id) {
  WF_ASSIGN(const TraceId trace, ParseTraceId(id));
  WF_ASSIGN(const auto attachments, context.store.ReadAttachments(context.tenant, trace));
  for (const store::Attachment& attachment : attachments) {
    if (attachment.kind != "recording") continue;
    std::string bytes;
    for (const std::string& chunk : attachment.chunks) bytes += chunk;
    return recorder::ReadRecording(recorder::FromMemory(bytes), id);
  }
  return NotFound(id + ": no such recording in the store",
                  "wherefore import F.cpg stores one; a server takes up to 32 MB");
}

std::string_view ContentTypeOf(const std::string& format) {
  if (format == "json") return "application/json";
  if (format == "svg") return "image/svg+xml";
  if (format == "dot") return "text/vnd.graphviz";
  return format == "csv" ? "text/csv; charset=utf-8" : "text/plain; charset=utf-8";
}

}  // namespace

Result<Answer> AnswerStoredRecording(const AnswerContext& context, const Question& question) {
  WF_ASSIGN(recorder::Recording recording, ReadStored(context, question.argument));
  OpenedRecording opened(std::move(recording));
  Answer answer;
  answer.content_type = ContentTypeOf(question.params.Get("format").value_or("json"));
  WF_TRY(AnswerRecording(opened, {question.params.Get("what").value_or("summary"), question.params},
                         [&](std::string_view piece) -> Status {
                           answer.body += piece;
                           return {};
                         }));
  if (answer.body.empty() || answer.body.back() != '\n') answer.body.push_back('\n');
  return answer;
}

}  // namespace wf::answer
