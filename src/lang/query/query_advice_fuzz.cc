// Any text that is a query becomes advice or gets an error; the advice is valid and survives its trip as bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "advice/program.h"
#include "base/check.h"
#include "lang/query/compile.h"
#include "lang/query/count_form.h"
#include "lang/query/explain.h"
#include "lang/query/parser.h"
#include "lang/query/rewrite.h"

namespace {

void CheckProgram(const wf::Result<wf::query::Compiled>& compiled) {
  if (!compiled.ok()) {
    WF_CHECK(!compiled.error().message.empty());
    return;
  }
  WF_CHECK(wf::advice::Valid(compiled->program));
  WF_CHECK(compiled->aliases.size() == compiled->program.advice.size());
  const std::string bytes = wf::advice::Encode(compiled->program);
  wf::advice::Program read;
  // A program longer than the wire allows is refused where it is sent.
  if (bytes.size() > wf::advice::kMaxProgramBytes) return;
  WF_CHECK(wf::advice::Decode(bytes, read));
  WF_CHECK(wf::advice::Valid(read));
  WF_CHECK(wf::advice::Encode(read) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wf::query;
  const Parsed parsed = Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (parsed.query == nullptr) return 0;
  const auto plain = Compile(*parsed.query);
  const auto rewritten = Rewrite(*parsed.query);
  CheckProgram(plain);
  CheckProgram(rewritten);
  CheckProgram(Counting(*parsed.query));
  if (plain.ok() && rewritten.ok()) {
    const auto explanation = Explain(*parsed.query);
    WF_CHECK(explanation.ok());
    WF_CHECK(!ExplanationText(*explanation).empty() && !ExplanationJson(*explanation).empty());
  }
  return 0;
}
