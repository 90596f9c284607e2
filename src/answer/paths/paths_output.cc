#include "answer/paths/paths_output.h"

#include <algorithm>

#include "answer/dataset/dataset_answer.h"
#include "answer/paths/convolution_json.h"
#include "answer/paths/convolution_text.h"
#include "answer/paths/kept_paths.h"
#include "answer/paths/paths_dot.h"
#include "answer/paths/paths_drawing.h"
#include "answer/paths/paths_json.h"
#include "answer/paths/paths_svg.h"
#include "answer/paths/paths_text.h"
#include "answer/paths/pattern_drawing.h"

namespace wf::answer {
namespace {

Answer Drawn(const PathsDrawing& drawing, const std::string& format) {
  if (format == "dot") return {"text/vnd.graphviz; charset=utf-8", PathsDot(drawing)};
  return {"image/svg+xml", PathsSvg(drawing)};
}

}  // namespace

Answer WritePaths(const paths::PathsFindings& findings, const StringTable& names,
                  const PathsOutput& output) {
  const bool draws = output.format == "dot" || output.format == "svg";
  if (findings.convolution) {
    const paths::ConvolutionResult& result = *findings.convolution;
    if (draws) return Drawn(DrawConvolution(result, names), output.format);
    return output.format == "text"
               ? TextAnswer(ConvolutionText(result, names, findings.why))
               : Answer{"application/json", ConvolutionJson(result, names, findings.why)};
  }
  PathsAnswer answer;
  answer.algorithm = paths::NameOf(findings.algorithm);
  answer.why = findings.why;
  answer.pairing = findings.pairing;
  answer.duplicates = findings.pairing.duplicates + output.duplicates;
  answer.parallelism = findings.parallelism;
  answer.skew_ns = findings.skew_ns;
  answer.table = findings.patterns.get();
  answer.names = &names;
  answer.order = output.order;
  answer.top = output.top;
  answer.distributions = output.distributions;
  answer.accuracy = findings.accuracy;
  answer.notes = output.notes;
  answer.notes.insert(answer.notes.end(), findings.notes.begin(), findings.notes.end());
  if (draws) return Drawn(DrawPatterns(answer), output.format);
  return output.format == "text" ? TextAnswer(PathsText(answer))
                                 : Answer{"application/json", PathsJson(answer)};
}

Result<Answer> AnswerPaths(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  WF_ASSIGN(const store::TimeRange time, ParseTimeRange(params, context.now));
  const auto algorithm = params.Get("algorithm"), sort = params.Get("sort");
  WF_ASSIGN(const auto top, params.Integer("top"));
  WF_ASSIGN(const bool histogram, params.Switch("histogram"));
  paths::PathsRequest request;
  for (const paths::PathAlgorithm one :
       {paths::PathAlgorithm::kNesting, paths::PathAlgorithm::kConvolution,
        paths::PathAlgorithm::kLinking})
    if (algorithm == paths::NameOf(one)) request.algorithm = one;
  if (histogram) request.distributions = paths::KeepDistributions::kYes;
  WF_ASSIGN(const std::shared_ptr<const InferredPaths> paths,
            InferStoredPaths(context, time, request));
  PathsOutput output;
  output.format = params.Get("format").value_or("json");
  output.order = sort == "count" ? paths::PatternOrder::kCount : paths::PatternOrder::kTotalLatency;
  output.distributions = request.distributions;
  if (top) output.top = static_cast<size_t>(*top);
  const std::lock_guard lock(paths->writing);
  return WritePaths(paths->findings, paths->names, output);
}

}  // namespace wf::answer
