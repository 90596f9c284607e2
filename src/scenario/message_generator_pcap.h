// Generated messages → a capture: calls as HTTP/1.1 over kept connections, which show nothing about causes.
//
// Node i of the config has the address 10.0.0.0 + i + 1 and serves on port 80. A call uses a free connection
// of its pair of nodes, the last one that became free, or opens one; it keeps it until its return. A message
// is one packet at the message's time; the three packets that open a connection come at the time of its first
// request. Packets that the sniffer lost are not written; their bytes are missing from the stream.
#pragma once

#include <string>

#include "import/pcap/capture_writer.h"
#include "scenario/message_generator.h"

namespace wf::scenario {

// Rejects what a capture of HTTP cannot express: own clocks, one-way messages, replies from third nodes.
// `progress` receives the number of packets written from time to time; its error ends the work. The capture
// is of LinkType::kRawIp; it is not closed.
Result<GeneratedTrace> GeneratePcap(const GeneratorConfig& config, const GeneratorRequest& request,
                                    pcap::CaptureWriter& capture, const TextSink& truth,
                                    const std::function<Status(uint64_t)>& progress);

// "10.0.0.1 client", one line per node: a names file for `wherefore messages --nodes`.
std::string GeneratedNodeNames(const GeneratorConfig& config);

}  // namespace wf::scenario
