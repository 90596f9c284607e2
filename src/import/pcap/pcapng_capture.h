// The pcapng format (draft-ietf-opsawg-pcapng): blocks; sections, interfaces, packets, statistics.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "import/pcap/block_reader.h"
#include "import/pcap/capture_stream.h"

namespace wf::pcap {

bool IsPcapng(std::string_view magic);
Result<std::unique_ptr<CaptureStream>> OpenPcapng(std::unique_ptr<BlockReader> bytes);

}  // namespace wf::pcap
