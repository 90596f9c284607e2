// The events of packets as a file for `explain --events`, and the counts of how they were made.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/packets/packet_events.h"
#include "import/packets/queue_passage.h"

namespace wf::packets {

// Receives the number of events written so far; returns false to stop.
using WriteProgress = std::function<bool(int64_t events)>;

// JSON lines. The file appears only when it is complete.
Status WritePacketEvents(const PacketEvents& events, const std::string& path,
                         const WriteProgress& progress = {});

// Every counter name with its meaning, in the order of the report.
struct PacketCountName {
  std::string_view name, meaning;
};
const std::vector<PacketCountName>& PacketCountNames();

// {"events","passages",...}: each known name, zeros included.
std::string PacketCountsJson(const PacketPassages& passages);
// For people: counters that are not zero.
std::string PacketCountsText(const PacketPassages& passages);

}  // namespace wf::packets
