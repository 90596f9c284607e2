// What was inferred, in the form that was asked for: one writer for `wherefore paths` of files and for stored messages.
#pragma once

#include <string>
#include <vector>

#include "analysis/paths/paths_inference.h"
#include "answer/frame/answer.h"
#include "answer/paths/paths_answer.h"

namespace wf::answer {

struct PathsOutput {
  std::string format = "json";  // text, json, dot or svg
  paths::PatternOrder order = paths::PatternOrder::kTotalLatency;
  size_t top = 20;  // 0: all
  // As they were asked of InferPaths.
  paths::KeepDistributions distributions = paths::KeepDistributions::kNo;
  uint64_t duplicates = 0;         // sightings of one message in several inputs
  std::vector<std::string> notes;  // of the input
};

// `names` is the table that the findings were made with. Not of the same findings on two threads: quantiles move what
// they are taken of.
Answer WritePaths(const paths::PathsFindings& findings, const StringTable& names,
                  const PathsOutput& output);

// `GET /api/v1/paths`: of the messages that `import` kept.
Result<Answer> AnswerPaths(const AnswerContext& context, const Question& question);

}  // namespace wf::answer
