// Any bytes as the payload of a datagram: views stay inside, and what comes out are events.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "import/packets/int_passages.h"
#include "import/packets/int_report_decoder.h"
#include "import/packets/int_report_encoder.h"
#include "import/packets/packet_events.h"

namespace {

void CheckWithin(std::string_view part, std::string_view whole) {
  if (part.empty()) return;
  WF_CHECK(part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  wf::packets::IntGroup group;
  static_cast<void>(wf::packets::DecodeIntReports(input, group));
  for (const wf::packets::IntReport& report : group.reports) {
    CheckWithin(report.packet, input);
    CheckWithin(report.extension, input);
    CheckWithin(report.metadata.domain, input);
    for (const wf::packets::IntTlv& tlv : report.tlvs) CheckWithin(tlv.data, input);
    if (report.headers) CheckWithin(report.headers->payload, input);
    if (!report.stack) continue;
    for (const wf::packets::IntMetadata& hop : report.stack->hops) CheckWithin(hop.domain, input);
  }
  // What was read can be written, and reads the same.
  if (const auto bytes = wf::packets::EncodeIntReports(group);
      bytes.ok() && !group.reports.empty()) {
    wf::packets::IntGroup again;
    const wf::Status back = wf::packets::DecodeIntReports(*bytes, again);
    WF_CHECK(back.ok());
    WF_CHECK(again.reports.size() == group.reports.size());
    for (size_t i = 0; i < group.reports.size(); ++i) {
      WF_CHECK(again.reports[i].metadata.egress_time == group.reports[i].metadata.egress_time);
    }
  }
  wf::packets::PacketPassages passages;
  wf::packets::IntPassages reports(passages);
  reports.AddDatagram("fuzz", input);
  const wf::packets::PacketEvents events = wf::packets::MakePacketEvents(passages);
  for (const wf::ProvenanceEvent& event : events.events) WF_CHECK(event.start_ns <= event.end_ns);
  return 0;
}
