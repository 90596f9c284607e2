#include "answer/paths_output.h"

#include <algorithm>

#include "answer/convolution_json.h"
#include "answer/convolution_text.h"
#include "answer/dataset_answer.h"
#include "answer/paths_dot.h"
#include "answer/paths_drawing.h"
#include "answer/paths_json.h"
#include "answer/paths_svg.h"
#include "answer/paths_text.h"
#include "answer/pattern_drawing.h"
#include "import/messages/message_text.h"

namespace wf {
namespace {

Answer Drawn(const PathsDrawing& drawing, const std::string& format) {
  if (format == "dot") return {"text/vnd.graphviz; charset=utf-8", PathsDot(drawing)};
  return {"image/svg+xml", PathsSvg(drawing)};
}

// Messages of the store as sightings, in order of time.
class StoredSightings : public SightingSource {
 public:
  StoredSightings(std::vector<Message> messages, StringTable& nodes)
      : messages_(std::move(messages)), nodes_(nodes) {}

  Result<bool> Next(SightingLine& line) override {
    if (next_ == messages_.size()) return false;
    const Message& m = messages_[next_++];
    Sighting& s = line.sighting;
    s = Sighting();
    s.time_ns = m.time_ns;
    s.place = {1, next_};
    s.sender = nodes_.Intern(m.sender);
    s.receiver = nodes_.Intern(m.receiver);
    ReadOp(m.kind, s);
    s.id = m.id == "-" ? 0 : KeyOf(m.id);
    ReadMessageKeys(m.keys, s);
    return true;
  }

 private:
  static void ReadOp(const std::string& op, Sighting& s) {
    for (const MessageKind kind :
         {MessageKind::kCall, MessageKind::kReturn, MessageKind::kMessage}) {
      for (const SightedBy by : {SightedBy::kCommon, SightedBy::kSender, SightedBy::kReceiver}) {
        if (OpName(kind, by) == op) s.kind = kind, s.by = by;
      }
    }
  }
  const std::vector<Message> messages_;
  StringTable& nodes_;
  size_t next_ = 0;
};

}  // namespace

Answer WritePaths(PathsFindings& findings, const StringTable& names, const PathsOutput& output) {
  const bool draws = output.format == "dot" || output.format == "svg";
  if (findings.convolution) {
    const ConvolutionResult& result = *findings.convolution;
    if (draws) return Drawn(DrawConvolution(result, names), output.format);
    return output.format == "text"
               ? TextAnswer(ConvolutionText(result, names, findings.why))
               : Answer{"application/json", ConvolutionJson(result, names, findings.why)};
  }
  PathsAnswer answer;
  answer.algorithm = NameOf(findings.algorithm);
  answer.why = findings.why;
  answer.pairing = findings.pairing;
  answer.duplicates = findings.pairing.duplicates + output.duplicates;
  answer.parallelism = findings.parallelism;
  answer.skew_ns = std::move(findings.skew_ns);
  answer.table = findings.patterns.get();
  answer.names = &names;
  answer.order = output.order;
  answer.top = output.top;
  answer.distributions = output.distributions;
  answer.accuracy = std::move(findings.accuracy);
  answer.notes = output.notes;
  answer.notes.insert(answer.notes.end(), findings.notes.begin(), findings.notes.end());
  if (draws) return Drawn(DrawPatterns(answer), output.format);
  return output.format == "text" ? TextAnswer(PathsText(answer))
                                 : Answer{"application/json", PathsJson(answer)};
}

Result<Answer> AnswerPaths(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  WF_TRY(params.Check({"since", "until", "algorithm", "top", "sort", "histogram", "format"}));
  WF_ASSIGN(const TimeRange time, ParseTimeRange(params, context.now));
  WF_ASSIGN(const auto algorithm,
            params.Choice("algorithm", {"auto", "nesting", "convolution", "linking"}));
  WF_ASSIGN(const auto sort, params.Choice("sort", {"total", "count"}));
  WF_ASSIGN(const auto top, params.Integer("top", 0, INT32_MAX));
  WF_ASSIGN(const auto histogram, params.Choice("histogram", {"true", "false"}));
  PathsRequest request;
  for (const PathAlgorithm one :
       {PathAlgorithm::kNesting, PathAlgorithm::kConvolution, PathAlgorithm::kLinking})
    if (algorithm == NameOf(one)) request.algorithm = one;
  if (histogram == "true") request.distributions = KeepDistributions::kYes;
  WF_ASSIGN(std::vector<Message> messages, context.store.ReadMessages(context.tenant, time));
  if (messages.empty())
    return NotFound("there are no messages of that time",
                    "wherefore import FILE keeps them; --since reaches further back");
  StringTable names;
  StoredSightings source(std::move(messages), names);
  WF_ASSIGN(PathsFindings findings, InferPaths(source, names, request));
  PathsOutput output;
  output.format = params.Get("format").value_or("json");
  output.order = sort == "count" ? PatternOrder::kCount : PatternOrder::kTotalLatency;
  output.distributions = request.distributions;
  if (top) output.top = static_cast<size_t>(*top);
  return WritePaths(findings, names, output);
}

}  // namespace wf
