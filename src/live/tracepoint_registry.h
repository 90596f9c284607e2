// The tracepoints of a tenant: those that were defined (weaver/tracepoint_file.h; places in programs, kept as documents)
// and those compiled into linked processes. Agents are told the definitions over the control connection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/frame/answer.h"
#include "live/process_registry.h"
#include "weaver/tracepoint_file.h"

namespace wf::live {

// All definitions, by name. One that a newer program saved and this one cannot read is left out and logged.
Result<std::vector<weaver::TracepointDefinition>> ReadTracepoints(store::DocumentStore& store,
                                                                  const std::string& tenant);
// The same as a JSON array, as the file has them.
Result<std::string> ReadTracepointsJson(store::DocumentStore& store, const std::string& tenant);

// {"tracepoints":[as the file],"compiled_in":[{"name","exports","processes"}]}, or a table.
Result<answer::Answer> AnswerTracepoints(const answer::AnswerContext& context,
                                         ProcessRegistry& processes, const answer::Params& params);
// As the file; {"name","compiled_in":true,"exports"} of one that is compiled in only.
Result<answer::Answer> AnswerTracepoint(const answer::AnswerContext& context,
                                        ProcessRegistry& processes, const std::string& name);
// `json` is one definition; its name is `name`. The answer is the definition as it is kept.
Result<answer::Answer> PutTracepoint(const answer::AnswerContext& context, const std::string& name,
                                     std::string_view json);
// {"deleted":NAME}; NotFound when it is not defined.
Result<answer::Answer> DeleteTracepoint(const answer::AnswerContext& context,
                                        const std::string& name);

}  // namespace wf::live
