// The events of packets as a file for `explain --events`, and the account of how they came about.
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

// Told how many events were written so far; false: stop.
using WriteProgress = std::function<bool(int64_t events)>;

// JSON lines. The file does not appear before it is whole.
Status WritePacketEvents(const PacketEvents& events, const std::string& path,
                         const WriteProgress& progress = {});

// Every name that may be counted, with what it means; in the order of the report.
struct PacketCountName {
  std::string_view name, meaning;
};
const std::vector<PacketCountName>& PacketCountNames();

// {"events","passages",...}: each known name, zeros included.
std::string PacketCountsJson(const PacketPassages& passages);
// For people: what is not zero.
std::string PacketCountsText(const PacketPassages& passages);

}  // namespace wf::packets
