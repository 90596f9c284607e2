// What somebody knows about resources and spans do not tell: a YAML text.
//
//   resources:
//     - name: table            # of the resource
//       service: storage       # spans of this service (any)
//       operation: PUT /put    # … of this name (any)
//       attribute: db.collection.name   # … that have it; each value is one resource
//       servers: 1             # how many may hold it at once (as many as were seen)
//   workers:
//     - service: compute
//       workers: 8             # of each process (as many as were seen)
//       kind: synchronous      # or asynchronous (as the data tell)
#pragma once

#include <string>
#include <string_view>

#include "analysis/provenance/trace_execution.h"
#include "base/result.h"

namespace wf::answer {

// `name` stands in errors.
Result<provenance::TraceExecutionOptions> ReadExplainConfig(std::string_view text,
                                                            const std::string& name);

}  // namespace wf::answer
