// `GET /api/v1/cpg/ID?what=…`: the questions of `wherefore cpg` about a recording that was imported. The file was kept
// beside the recording's own trace, whose id is ID.
#include <utility>

#include "answer/frame/answer.h"
#include "answer/recording/recording_answer.h"
#include "answer/recording/recording_graph.h"
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

Result<GraphSelection> SelectionOf(const OpenedRecording& opened, const Params& params) {
  GraphSelection selection;
  for (const std::string& text : params.All("thread")) {
    WF_ASSIGN(const auto thread, Params({{"thread", text}}).Integer("thread", 0, UINT32_MAX));
    if (thread) selection.threads.push_back(static_cast<uint32_t>(*thread));
  }
  WF_ASSIGN(const auto from, params.Integer("from_ns", 0, INT64_MAX));
  WF_ASSIGN(const auto until, params.Integer("until_ns", 0, INT64_MAX));
  if (from || until) selection.window = std::make_pair(from.value_or(0), until.value_or(INT64_MAX));
  if (const auto around = params.Get("around"); around && !around->empty()) {
    WF_ASSIGN(selection.around, opened.FindSub(*around));
  }
  return selection;
}

Result<Answer> AnswerGraph(OpenedRecording& opened, const Params& params) {
  WF_ASSIGN(const GraphSelection selection, SelectionOf(opened, params));
  const std::string format = params.Get("format").value_or("json");
  if (format == "text") {
    WF_ASSIGN(std::string text, GraphText(opened, selection));
    return TextAnswer(std::move(text));
  }
  if (format == "dot") {
    WF_ASSIGN(std::string text, GraphDot(opened, selection));
    return Answer{"text/vnd.graphviz", std::move(text)};
  }
  if (format == "svg") {
    WF_ASSIGN(std::string text, GraphSvg(opened, selection));
    return Answer{"image/svg+xml", std::move(text)};
  }
  const bool pages = params.Get("pages") == "true";
  if (pages) WF_TRY(opened.Require(recorder::kData));
  std::string json;
  WF_TRY(WriteGraphJson(opened, selection, pages ? GraphPages::kLists : GraphPages::kCounts,
                        [&](std::string_view piece) -> Status {
                          json += piece;
                          return {};
                        }));
  return Answer{"application/json", std::move(json)};
}

LineageQuestion LineageOf(const Params& params) {
  const auto given = [&](const char* name) {
    auto value = params.Get(name);
    return value && value->empty() ? std::nullopt : value;
  };
  LineageQuestion question;
  question.of = given("of");
  question.address = given("address");
  question.from = given("from");
  question.crash = params.Get("crash") == "true";
  question.at = given("at").value_or("");
  if (params.Get("ordered") == "true") question.steps = lineage::Steps::kOrderedOnly;
  return question;
}

}  // namespace

Result<Answer> AnswerStoredRecording(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  WF_TRY(params.Check({"what", "format", "from_ns", "until_ns", "around", "pages", "of", "address",
                       "from", "crash", "at", "ordered", "a", "b", "nodes"},
                      {"thread"}));
  WF_ASSIGN(const auto what, params.Choice("what", {"graph", "lineage", "order", "races", "summary",
                                                    "pages", "layout"}));
  WF_ASSIGN(recorder::Recording recording, ReadStored(context, question.argument));
  OpenedRecording opened(std::move(recording));
  const std::string action = what.value_or("summary");
  if (action == "graph") return AnswerGraph(opened, params);
  const std::string name = params.Get("format").value_or("json");
  const RecordingFormat format = name == "text"  ? RecordingFormat::kText
                                 : name == "csv" ? RecordingFormat::kCsv
                                 : name == "svg" ? RecordingFormat::kSvg
                                                 : RecordingFormat::kJson;
  if (format != RecordingFormat::kText && format != RecordingFormat::kJson && action != "pages")
    return BadInput(action + ": has no format " + name, "it has json and text");
  const auto answered = [&]() -> Result<std::string> {
    if (action == "lineage") return AnswerLineage(opened, LineageOf(params), format);
    if (action == "order")
      return AnswerOrder(opened, params.Get("a").value_or(""), params.Get("b").value_or(""),
                         format);
    if (action == "races") return AnswerRaces(opened, format);
    if (action == "pages") return AnswerPages(opened, format);
    if (action == "layout") {
      WF_ASSIGN(const auto nodes, params.Integer("nodes", 1, 1024));
      return AnswerLayout(opened, static_cast<uint32_t>(nodes.value_or(2)), std::nullopt, "",
                          format);
    }
    return AnswerSummary(opened, format);
  };
  WF_ASSIGN(std::string body, answered());
  if (body.empty() || body.back() != '\n') body.push_back('\n');
  return Answer{format == RecordingFormat::kJson  ? "application/json"
                : format == RecordingFormat::kSvg ? "image/svg+xml"
                : format == RecordingFormat::kCsv ? "text/csv; charset=utf-8"
                                                  : "text/plain; charset=utf-8",
                std::move(body)};
}

}  // namespace wf::answer
