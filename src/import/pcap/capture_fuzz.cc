// Whole captures to messages, whatever the bytes; twice, for the same lines.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "import/pcap/capture_sightings.h"

namespace {

uint64_t ReadAll(std::string_view bytes) {
  wf::StringTable nodes;
  wf::pcap::CaptureSightingOptions options;
  options.most_connections = 16;
  options.dns_names = wf::pcap::CaptureSightingOptions::DnsNames::kUse;
  auto source = wf::pcap::CaptureSightings::OpenBytes(bytes, "fuzz", options, nodes);
  if (!source.ok()) return 0;
  wf::SightingLine line;
  uint64_t sum = 1, lines = 0;
  for (;;) {
    const auto more = (*source)->Next(line);
    WF_CHECK(more.ok());
    if (!*more) break;
    ++lines;
    WF_CHECK(line.sighting.sender < nodes.size() && line.sighting.receiver < nodes.size());
    WF_CHECK(line.id.find(' ') == std::string::npos);
    sum = sum * 31 + line.sighting.id + static_cast<uint64_t>(line.sighting.time_ns);
  }
  const wf::pcap::CaptureCounts counts = (*source)->counts();
  WF_CHECK(static_cast<uint64_t>(counts.calls + counts.returns + counts.messages) == lines);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  WF_CHECK(ReadAll(input) == ReadAll(input));
  return 0;
}
