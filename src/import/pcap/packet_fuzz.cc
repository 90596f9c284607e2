// Whole captures through libpcap and, whatever they are, the bytes as a packet of each link type.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "import/pcap/capture_reader.h"
#include "import/pcap/packet_decoder.h"

namespace {

void CheckWithin(std::string_view part, std::string_view whole) {
  if (part.empty()) return;
  WF_CHECK(part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void Decode(wf::LinkType link, std::string_view bytes) {
  wf::PacketHeaders headers;
  static_cast<void>(wf::DecodePacket(link, bytes, headers));
  CheckWithin(headers.network, bytes);
  CheckWithin(headers.transport, bytes);
  CheckWithin(headers.payload, bytes);
  static_cast<void>(wf::FlowName(headers.flow));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const wf::LinkType link :
       {wf::LinkType::kEthernet, wf::LinkType::kRawIp, wf::LinkType::kLinuxCooked,
        wf::LinkType::kLinuxCooked2, wf::LinkType::kLoopback}) {
    Decode(link, input);
  }
  const auto reader = wf::CaptureReader::OpenBytes(input, "fuzz");
  if (!reader.ok()) return 0;
  while (const auto packet = (*reader)->Next()) Decode(packet->link, packet->bytes);
  return 0;
}
