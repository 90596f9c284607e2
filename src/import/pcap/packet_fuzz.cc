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

void Decode(wf::pcap::LinkType link, std::string_view bytes) {
  wf::pcap::PacketHeaders headers;
  static_cast<void>(wf::pcap::DecodePacket(link, bytes, headers));
  CheckWithin(headers.network, bytes);
  CheckWithin(headers.transport, bytes);
  CheckWithin(headers.payload, bytes);
  static_cast<void>(wf::pcap::FlowName(headers.flow));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const wf::pcap::LinkType link :
       {wf::pcap::LinkType::kEthernet, wf::pcap::LinkType::kRawIp, wf::pcap::LinkType::kLinuxCooked,
        wf::pcap::LinkType::kLinuxCooked2, wf::pcap::LinkType::kLoopback}) {
    Decode(link, input);
  }
  const auto reader = wf::pcap::CaptureReader::OpenBytes(input, "fuzz");
  if (!reader.ok()) return 0;
  while (const auto packet = (*reader)->Next()) Decode(packet->link, packet->bytes);
  return 0;
}
