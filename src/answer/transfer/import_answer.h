// An upload: one file's bytes into the store, with the report of `import`.
#pragma once

#include "answer/frame/answer.h"
#include "import/detect/file_splitter.h"

namespace wf::answer {

// The parameter `continues` of a file sent in pieces (import/detect/file_splitter.h): FORMAT:BYTE:LINE.
std::string FormatContinuation(const detect::FileContinuation& continuation);

// `model`: now (the default); later: keep only, report every trace id; only: the content is trace ids, one a line, of
// files uploaded before, to be modeled together.
Result<Answer> AnswerImport(const AnswerContext& context, const Params& params,
                            std::string_view content);

}  // namespace wf::answer
