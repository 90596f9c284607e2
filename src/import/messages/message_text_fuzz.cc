// Any bytes: what is read prints as text that reads back as the same sightings.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "import/messages/message_text.h"
#include "import/messages/message_text_reader.h"

namespace {

struct Text {
  std::string printed;
  uint64_t sightings = 0, malformed = 0;
};

Text Read(std::string_view input, size_t piece) {
  Text out;
  wf::StringTable nodes;
  size_t at = 0;
  wf::messages::MessageTextOptions options;
  options.on_malformed = wf::messages::OnMalformed::kSkip;
  wf::messages::MessageTextReader reader(
      [&](char* buffer, size_t size) -> wf::Result<size_t> {
        const size_t n = std::min({size, piece, input.size() - at});
        std::memcpy(buffer, input.data() + at, n);
        at += n;
        return n;
      },
      "fuzz", options, nodes);
  wf::SightingLine line;
  while (*reader.Next(line)) {
    WF_CHECK(line.sighting.place.line > 0 && line.sighting.place.line <= reader.lines());
    ++out.sightings;
    wf::messages::AppendMessageLine(line, nodes.At(line.sighting.sender),
                                    nodes.At(line.sighting.receiver), out.printed);
  }
  out.malformed = reader.malformed();
  WF_CHECK(out.sightings + out.malformed <= reader.lines());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Text whole = Read(input, size + 1);
  const Text pieces = Read(input, 3);
  WF_CHECK(whole.printed == pieces.printed && whole.malformed == pieces.malformed);
  const Text again = Read(whole.printed, 1000);
  WF_CHECK(again.malformed == 0 && again.sightings == whole.sightings);
  WF_CHECK(again.printed == whole.printed);
  return 0;
}
