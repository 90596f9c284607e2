#include "import/packets/packets_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "json/json_writer.h"

namespace wf::packets {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Error Failed(const std::string& path, int code) {
  return EnvironmentError(path + ": " + std::strerror(code),
                          "is the folder there, writable, and not full?");
}

constexpr size_t kBuffered = 1 << 20;

int64_t CountOf(const PacketPassages& passages, std::string_view name) {
  const auto found = passages.counts.find(std::string(name));
  return found == passages.counts.end() ? 0 : found->second;
}

// How many bytes of input one packet at one queue took, rounded. Zeno §7.4 has 106.
int64_t BytesPerPassage(const PacketPassages& passages) {
  const auto count = static_cast<int64_t>(passages.passages.size());
  return count == 0 ? 0 : (CountOf(passages, "bytes") + count / 2) / count;
}

}  // namespace

const std::vector<PacketCountName>& PacketCountNames() {
  static const std::vector<PacketCountName> names = {
      {"packets", "packets in the captures"},
      {"bytes", "of them as they lie in the files"},
      {"unreadable_files", "captures of a folder that could not be read"},
      {"truncated_files", "captures that end in the middle of a packet"},
      {"not_ip", "packets of other protocols than IP"},
      {"truncated_packets", "captured without their whole headers"},
      {"malformed_packets", "whose headers contradict themselves"},
      {"fragments", "parts of fragmented packets"},
      {"other_packets", "that are not telemetry reports"},
      {"other_direction", "left out: they went the other way"},
      {"matched", "packets seen on both sides of a queue"},
      {"unmatched_before", "seen only where they came in: dropped, or sent elsewhere"},
      {"unmatched_after", "seen only where they left: sent by the switch, or missed before"},
      {"report_packets", "datagrams of telemetry reports"},
      {"reports", "telemetry reports, one a packet"},
      {"malformed_reports", "datagrams that break off"},
      {"ioam_reports", "whose contents version 2.0 does not define"},
      {"reserved_reports", "of types that version 2.0 does not define"},
      {"sequence_gaps", "places where reports are missing"},
      {"sequence_missing", "datagrams missing there"},
      {"sequence_late", "datagrams out of order"},
      {"sequence_repeated", "duplicate datagrams"},
      {"hops", "of packets with a time of passage"},
      {"invalid_values", "fields that were all ones"},
      {"without_times", "hops without a time"},
      {"without_port", "hops without a port"},
      {"without_node", "hops of stacks without a switch"},
      {"without_flow", "reports without their packet"},
      {"egress_before_ingress", "hops whose times contradict each other"},
      {"hops_exceeded", "stacks full before the packet's last hop"},
      {"mtu_exceeded", "stacks that had no room for some hops"},
      {"stacks_cut", "stacks cut with their packet: the earliest hops are missing"},
      {"dropped_packets", "reported as dropped"},
      {"duplicates", "duplicate passages"},
      {"clocks_moved", "switches whose clock jumped forward"},
      {"clocks_contradict", "clocks could not be made to agree"},
      {"clocks_unsettled", "clocks left alone: too many switches that disagree"},
      {"chain_breaks", "hops that cannot have followed the one before"},
      {"not_fifo", "packets that were overtaken in their queue"},
      {"queues", "queues"},
      {"flows", "flows"},
      {"events", "events written"},
  };
  return names;
}

Status WritePacketEvents(const PacketEvents& events, const std::string& path,
                         const WriteProgress& progress) {
  const std::string part = path + ".part";
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(part.c_str(), "wb"));
  if (file == nullptr) return Failed(part, errno);
  std::string lines;
  const auto write = [&]() -> Status {
    const bool done = std::fwrite(lines.data(), 1, lines.size(), file.get()) == lines.size();
    lines.clear();
    if (done) return {};
    const int code = errno;
    std::remove(part.c_str());
    return Failed(part, code);
  };
  int64_t written = 0;
  for (const ProvenanceEvent& event : events.events) {
    AppendProvenanceLine(event, lines);
    ++written;
    if (lines.size() < kBuffered) continue;
    WF_TRY(write());
    if (progress && !progress(written)) {
      std::remove(part.c_str());
      return CaptureStopped();
    }
  }
  WF_TRY(write());
  if (std::fclose(file.release()) != 0 || std::rename(part.c_str(), path.c_str()) != 0) {
    const int code = errno;
    std::remove(part.c_str());
    return Failed(path, code);
  }
  return {};
}

std::string PacketCountsJson(const PacketPassages& passages) {
  JsonWriter json;
  json.BeginObject();
  json.Field("passages", static_cast<int64_t>(passages.passages.size()));
  json.Field("bytes_per_passage", BytesPerPassage(passages));
  for (const PacketCountName& known : PacketCountNames())
    json.Field(known.name, CountOf(passages, known.name));
  json.EndObject();
  return json.Take() + "\n";
}

std::string PacketCountsText(const PacketPassages& passages) {
  std::string text = fmt::format("{:>12} packets at queues, {} bytes of input each\n",
                                 passages.passages.size(), BytesPerPassage(passages));
  for (const PacketCountName& known : PacketCountNames()) {
    if (const int64_t count = CountOf(passages, known.name); count != 0)
      text += fmt::format("{:>12} {:<22} {}\n", count, known.name, known.meaning);
  }
  return text;
}

}  // namespace wf::packets
