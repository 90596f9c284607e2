#include "live/compile_live.h"

#include "lang/query/count_form.h"
#include "lang/query/parser.h"
#include "lang/query/rewrite.h"

namespace wf::live {

Result<std::shared_ptr<const advice::Program>> CompileLive(const LiveQuerySpec& spec, uint64_t id) {
  WF_ASSIGN(const auto query, query::ParseQuery(spec.text));
  WF_ASSIGN(query::Compiled compiled,
            spec.count ? query::Counting(*query) : query::Rewrite(*query));
  const auto program = std::make_shared<advice::Program>(std::move(compiled.program));
  program->query = id;
  return std::shared_ptr<const advice::Program>(program);
}

}  // namespace wf::live
