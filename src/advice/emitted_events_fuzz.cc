// Any bytes as events of the emit plan: decoding ends, and what is accepted encodes to events that encode the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/emitted_events.h"
#include "base/check.h"

namespace {

std::string Encoded(const std::vector<wf::advice::EmittedEvent>& events) {
  std::string bytes;
  for (const auto& event : events) AppendEvent(event, bytes);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wf::advice;
  const std::vector<EmittedPlace> places = {{"A", {}}, {"B", {"x"}}, {"C", {"x", "y", "z"}}};
  std::vector<EmittedEvent> events, again;
  if (!DecodeEvents({reinterpret_cast<const char*>(data), size}, places, events)) return 0;
  // One byte of each event at least was read.
  WF_CHECK(events.size() <= size);
  for (const EmittedEvent& event : events) {
    WF_CHECK(event.place <= places.size());
    WF_CHECK(event.id != kLostPast);
    WF_CHECK(event.values.size() ==
             (event.place == 0 ? 0 : places[event.place - 1].variables.size()));
  }
  const std::string encoded = Encoded(events);
  WF_CHECK(DecodeEvents(encoded, places, again));
  WF_CHECK(Encoded(again) == encoded);
  return 0;
}
