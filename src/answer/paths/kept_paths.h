// Paths inferred of stored messages, and the last of them kept: a view that is visited again, sorted otherwise or saved as
// a picture does not infer anew.
#pragma once

#include <memory>
#include <mutex>

#include "analysis/paths/paths_inference.h"
#include "answer/frame/answer.h"
#include "base/kept_results.h"
#include "model/string_table.h"

namespace wf::answer {

struct InferredPaths {
  StringTable names;
  paths::PathsFindings findings;
  mutable std::mutex writing;  // held while an answer is written of them (paths_output.h)
};

class KeptPaths : public KeptResults<InferredPaths> {
 public:
  // A view compares two windows; several people look. Findings of a thousand requests take some 100 kB, of millions
  // with their exact latencies some 10 MB.
  KeptPaths() : KeptResults({32, 128 << 20}) {}
};

// Of the tenant's messages of that time; kNotFound when there are none. `request` is all that the findings depend on
// besides: it may have what questions about stored messages can ask for, the algorithm and distributions.
Result<std::shared_ptr<const InferredPaths>> InferStoredPaths(const AnswerContext& context,
                                                              store::TimeRange time,
                                                              const paths::PathsRequest& request);

}  // namespace wf::answer
