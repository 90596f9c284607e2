// Any bytes as a program, and behind a zero byte as inputs: compiling and running must end, within bounds, and whatever
// compiles leaves provenance that keeps its contract.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "lang/ndlog/simulation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t zero = text.find('\0');
  const std::string_view program_text = text.substr(0, zero);
  const std::string_view input_text = zero == std::string_view::npos ? "" : text.substr(zero + 1);
  const wf::ndlog::Compiled compiled = wf::ndlog::Compile(program_text);
  WF_CHECK(compiled.program.has_value() == compiled.diagnostics.empty());
  if (!compiled.program) {
    for (const wf::lang::Diagnostic& d : compiled.diagnostics)
      WF_CHECK(d.line >= 1 && d.column >= 1 && d.length >= 1);
    wf::ndlog::ProgramError(program_text, "fuzz", compiled.diagnostics);
    return 0;
  }
  const auto network = wf::ndlog::ReadNetwork(
      "{\"node\":\"a\"}\n{\"node\":\"b\"}\n{\"node\":\"c\"}\n{\"link\":[\"a\",\"b\"],\"delay_ns\":"
      "5}\n"
      "{\"link\":[\"b\",\"c\"],\"bits_per_s\":1000000,\"jitter_ns\":3}\n{\"rule\":\"SND\",\"cost_"
      "ns\":2}\n",
      "topology", *compiled.program);
  WF_CHECK(network.ok());
  const auto inputs = wf::ndlog::ReadInputs(input_text, "inputs", *compiled.program, *network);
  if (!inputs.ok()) return 0;
  wf::ndlog::RunOptions options;
  options.most_events = 500;
  options.most_joins = 500;
  std::map<std::string, wf::Nanos> ends;
  options.provenance = [&](const wf::ProvenanceEvent& event) -> wf::Status {
    WF_CHECK(event.start_ns <= event.end_ns);
    for (const std::string& cause : event.causes) WF_CHECK(ends.at(cause) <= event.start_ns);
    ends.emplace(event.id, event.end_ns);
    return {};
  };
  (void)wf::ndlog::Run(*compiled.program, *network, *inputs, options).ok();
  return 0;
}
