// The questions about a recording, whether it is a file (`wherefore cpg FILE ACTION`) or was imported
// (`GET /api/v1/cpg/ID?what=ACTION`): one list, from flags by name.
#pragma once

#include <optional>
#include <string>

#include "answer/frame/answer.h"
#include "answer/recording/opened_recording.h"

namespace wf::answer {

struct RecordingQuestion {
  std::string action;  // graph, lineage, order, races, summary, pages or layout
  Params params;       // `format` among them, JSON without it; checked
  std::optional<std::string> distances = {};  // of layout: the text of a file
  std::string distances_name = {};            // of that file, for errors
};

// BadInput if there is no such action.
Status AnswerRecording(OpenedRecording& opened, const RecordingQuestion& question,
                       const PieceSink& sink);

// About one that was imported; question.argument is the id of its trace, the parameter `what` the action (summary).
Result<Answer> AnswerStoredRecording(const AnswerContext& context, const Question& question);

}  // namespace wf::answer
