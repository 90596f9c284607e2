// Any events give a trace that is sound: only the senders' clocks may contradict each other.
#include <cstdint>

#include "base/check.h"
#include "model/event_bytes.h"
#include "model/trace_builder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const wf::EventBatch batch =
      wf::testing::EventsFromBytes(std::string_view(reinterpret_cast<const char*>(data), size));
  const wf::Trace trace = wf::BuildTrace(batch);
  for (const wf::Violation& violation : trace.violations) {
    WF_CHECK(violation.invariant == wf::Invariant::kReceiveAfterSend);
  }
  wf::OwnTimes(trace);
  return 0;
}
