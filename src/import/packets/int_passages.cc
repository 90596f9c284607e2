#include "import/packets/int_passages.h"

#include <fmt/format.h>

#include "import/packets/int_report_decoder.h"
#include "import/pcap/capture_reader.h"
#include "import/pcap/packet_decoder.h"

namespace wf::packets {
namespace {

struct HopTimes {
  Nanos ingress = 0, egress = 0;
};

// Both stamps, or one of them and the latency.
std::optional<HopTimes> TimesOf(const IntMetadata& hop) {
  std::optional<uint64_t> in = hop.ingress_time, out = hop.egress_time;
  if (in && !out && hop.hop_latency) out = *in + *hop.hop_latency;
  if (out && !in && hop.hop_latency && *out >= *hop.hop_latency) in = *out - *hop.hop_latency;
  constexpr uint64_t kMost = INT64_MAX;
  if (!in || !out || *in > kMost || *out > kMost) return std::nullopt;
  return HopTimes{static_cast<Nanos>(*in), static_cast<Nanos>(*out)};
}

}  // namespace

IntSequence::Step IntSequence::Take(uint32_t sequence, int64_t& missed) {
  missed = 0;
  if (!begun_) {
    begun_ = true;
    last_ = sequence;
    return Step::kFirst;
  }
  const uint32_t ahead = (sequence - last_) & (kIntSequences - 1);
  if (ahead == 0) return Step::kRepeated;
  // Numbers wrap: in the nearer half of the circle ahead it is new, else it comes late.
  if (ahead >= kIntSequences / 2) return Step::kLate;
  last_ = sequence;
  missed = ahead - 1;
  return ahead == 1 ? Step::kNext : Step::kGap;
}

void IntPassages::AddDatagram(std::string_view sender, std::string_view datagram) {
  IntGroup group;
  const Status decoded = DecodeIntReports(datagram, group);
  out_.Count("report_packets");
  if (!decoded.ok()) out_.Count("malformed_reports");
  if (!LooksLikeIntReports(datagram)) return;  // it has no sequence number either
  int64_t missed = 0;
  switch (sequences_[{std::string(sender), group.node_id, group.hardware_id}].Take(group.sequence,
                                                                                   missed)) {
    case IntSequence::Step::kGap:
      out_.Count("sequence_gaps");
      out_.Count("sequence_missing", missed);
      break;
    case IntSequence::Step::kLate:
      out_.Count("sequence_late");
      break;
    case IntSequence::Step::kRepeated:
      out_.Count("sequence_repeated");
      break;
    default:
      break;
  }
  for (const IntReport& report : group.reports) AddReport(group, report);
}

IntPassages::Packet IntPassages::PacketOf(const IntGroup& group, const IntReport& report) {
  if (!report.headers) {
    out_.Count("without_flow");
    Hasher128 hasher;
    hasher.Add("a packet not shown");
    hasher.Add(++unnamed_);
    return {hasher.Finish(), out_.UnknownFlow()};
  }
  // Of a packet cut short the payload cannot be compared; TCP's and UDP's checksum stands for it.
  const pcap::PacketHeaders& headers = *report.headers;
  Hasher128 place;
  place.Add(group.node_id);
  place.Add(report.metadata.egress_port.value_or(0));
  return {out_.PacketId(PacketContent(headers, headers.checksum), place.Finish()),
          out_.FlowIndex(headers.flow)};
}

bool IntPassages::AddHop(const IntMetadata& hop, uint32_t node_id, uint32_t position,
                         const Packet& packet) {
  out_.Count("invalid_values", hop.invalid);
  const auto times = TimesOf(hop);
  if (!times) return false;
  if (times->egress < times->ingress) {
    out_.Count("egress_before_ingress");
    return true;
  }
  QueueName queue;
  queue.node = std::to_string(node_id);
  if (hop.egress_port) {
    queue.port = std::to_string(*hop.egress_port);
  } else if (hop.logical_egress_port) {
    queue.port = fmt::format("logical-{}", *hop.logical_egress_port);
  } else {
    out_.Count("without_port");
    queue.port = "unknown";
  }
  queue.queue = std::to_string(hop.queue_id.value_or(0));
  out_.Count("hops");
  out_.passages.push_back(
      {out_.QueueIndex(queue), packet.flow, packet.id, times->ingress, times->egress, position});
  return true;
}

void IntPassages::AddReport(const IntGroup& group, const IntReport& report) {
  out_.Count("reports");
  if (report.type > static_cast<uint8_t>(IntReportType::kInt)) {
    out_.Count(report.type == static_cast<uint8_t>(IntReportType::kIoam) ? "ioam_reports"
                                                                         : "reserved_reports");
    return;
  }
  if (report.dropped) out_.Count("dropped_packets");
  const Packet packet = PacketOf(group, report);
  uint32_t position = 0;
  if (report.stack) {
    const IntStack& stack = *report.stack;
    if (stack.hops_exceeded) out_.Count("hops_exceeded");
    if (stack.mtu_exceeded) out_.Count("mtu_exceeded");
    if (stack.cut) out_.Count("stacks_cut");
    for (auto hop = stack.hops.rbegin(); hop != stack.hops.rend(); ++hop) {
      ++position;
      if (!hop->node_id) {
        out_.Count("without_node");
      } else if (!AddHop(*hop, *hop->node_id, position, packet)) {
        out_.Count("without_times");
      }
    }
  }
  if (report.type == static_cast<uint8_t>(IntReportType::kInnerOnly)) return;
  // The reporting node comes behind the hops that the packet brought along. A packet it dropped never left.
  const uint32_t own = report.stack ? position + 1 : 0;
  if (report.dropped && !report.metadata.egress_time) {
    out_.Count("invalid_values", report.metadata.invalid);
  } else if (!AddHop(report.metadata, group.node_id, own, packet)) {
    // With all metadata in the stack, the node need not say more; otherwise something is missing.
    if (position == 0 || report.metadata.bits != 0) out_.Count("without_times");
  }
}

Status IntPassages::AddCapture(const std::string& path, uint16_t port,
                               const CaptureProgress& progress) {
  WF_ASSIGN(const auto reader, pcap::CaptureReader::Open(path));
  size_t bytes = 0;
  while (const auto packet = reader->Next()) {
    bytes += packet->bytes.size() + kCaptureRecordHeader;
    if (progress && !progress(bytes)) return CaptureStopped();
    out_.Count("packets");
    out_.Count("bytes", static_cast<int64_t>(packet->bytes.size() + kCaptureRecordHeader));
    pcap::PacketHeaders headers;
    const pcap::PacketFault fault = pcap::DecodePacket(packet->link, packet->bytes, headers);
    if (fault != pcap::PacketFault::kNone) {
      out_.Count(pcap::PacketFaultName(fault));
      continue;
    }
    // A report in fragments is not put together again: the specification keeps reports small.
    if (headers.fragment) {
      out_.Count("fragments");
      continue;
    }
    const bool wanted = headers.flow.protocol == pcap::kProtocolUdp &&
                        (port == 0 || headers.flow.destination_port == port);
    if (!wanted || (port == 0 && !LooksLikeIntReports(headers.payload))) {
      out_.Count("other_packets");
      continue;
    }
    AddDatagram(pcap::ToString(headers.flow.source), headers.payload);
  }
  // A signal in the middle of reading looks like the file's end.
  if (progress && !progress(bytes)) return CaptureStopped();
  if (reader->truncated()) out_.Count("truncated_files");
  return {};
}

}  // namespace wf::packets
