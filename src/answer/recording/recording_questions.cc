#include "answer/recording/recording_questions.h"

#include <utility>

#include "answer/recording/recording_answer.h"
#include "answer/recording/recording_graph.h"

namespace wf::answer {
namespace {

RecordingFormat FormatOf(const Params& params) {
  const std::string name = params.Get("format").value_or("json");
  if (name == "text") return RecordingFormat::kText;
  if (name == "csv") return RecordingFormat::kCsv;
  return name == "svg" ? RecordingFormat::kSvg : RecordingFormat::kJson;
}

Result<GraphSelection> SelectionOf(const OpenedRecording& opened, const Params& params) {
  GraphSelection selection;
  for (const std::string& text : params.All("thread")) {
    WF_ASSIGN(const auto thread, Params({{"thread", text}}).Integer("thread", 0, UINT32_MAX));
    if (thread) selection.threads.push_back(static_cast<uint32_t>(*thread));
  }
  WF_ASSIGN(const auto from, params.Integer("from_ns"));
  WF_ASSIGN(const auto until, params.Integer("until_ns"));
  if (from || until) selection.window = std::make_pair(from.value_or(0), until.value_or(INT64_MAX));
  if (const auto around = params.Get("around")) {
    WF_ASSIGN(selection.around, opened.FindSub(*around));
  }
  return selection;
}

Status AnswerGraph(OpenedRecording& opened, const RecordingQuestion& question,
                   const PieceSink& sink) {
  const Params& params = question.params;
  WF_ASSIGN(const GraphSelection selection, SelectionOf(opened, params));
  WF_ASSIGN(const bool lists, params.Switch("pages"));
  if (lists) WF_TRY(opened.Require(recorder::kData));
  const std::string format = params.Get("format").value_or("json");
  if (format == "json") {
    return WriteGraphJson(opened, selection, lists ? GraphPages::kLists : GraphPages::kCounts,
                          sink);
  }
  WF_ASSIGN(const std::string text, format == "dot"   ? GraphDot(opened, selection)
                                    : format == "svg" ? GraphSvg(opened, selection)
                                                      : GraphText(opened, selection));
  return sink(text);
}

Status Give(Result<std::string> answer, const PieceSink& sink) {
  if (!answer.ok()) return answer.error();
  return sink(*answer);
}

Status AnswerLineageOf(OpenedRecording& opened, const RecordingQuestion& question,
                       const PieceSink& sink) {
  const Params& params = question.params;
  LineageQuestion asked;
  asked.of = params.Get("of");
  asked.address = params.Get("address");
  asked.from = params.Get("from");
  WF_ASSIGN(asked.crash, params.Switch("crash"));
  asked.at = params.Get("at").value_or("");
  WF_ASSIGN(const bool ordered, params.Switch("ordered"));
  if (ordered) asked.steps = lineage::Steps::kOrderedOnly;
  return Give(AnswerLineage(opened, asked, FormatOf(params)), sink);
}

Status AnswerOrderOf(OpenedRecording& opened, const RecordingQuestion& question,
                     const PieceSink& sink) {
  const Params& params = question.params;
  return Give(AnswerOrder(opened, params.Get("a").value_or(""), params.Get("b").value_or(""),
                          FormatOf(params)),
              sink);
}

Status AnswerLayoutOf(OpenedRecording& opened, const RecordingQuestion& question,
                      const PieceSink& sink) {
  WF_ASSIGN(const auto nodes, question.params.Integer("nodes"));
  return Give(AnswerLayout(opened, static_cast<uint32_t>(nodes.value_or(2)), question.distances,
                           question.distances_name, FormatOf(question.params)),
              sink);
}

template <Result<std::string> (*answer)(OpenedRecording&, RecordingFormat)>
Status AnswerWhole(OpenedRecording& opened, const RecordingQuestion& question,
                   const PieceSink& sink) {
  return Give(answer(opened, FormatOf(question.params)), sink);
}

constexpr struct {
  std::string_view action;
  Status (*answer)(OpenedRecording&, const RecordingQuestion&, const PieceSink&);
} kActions[] = {
    {"graph", AnswerGraph},
    {"lineage", AnswerLineageOf},
    {"order", AnswerOrderOf},
    {"races", AnswerWhole<AnswerRaces>},
    {"summary", AnswerWhole<AnswerSummary>},
    {"pages", AnswerWhole<AnswerPages>},
    {"layout", AnswerLayoutOf},
};

}  // namespace

Status AnswerRecording(OpenedRecording& opened, const RecordingQuestion& question,
                       const PieceSink& sink) {
  for (const auto& [action, answer] : kActions) {
    if (action == question.action) return answer(opened, question, sink);
  }
  return BadInput(question.action + ": no question about a recording");
}

}  // namespace wf::answer
