// The pcap format: a file header, then packets, each after its own header: seconds, fraction, captured and
// original length.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "import/pcap/block_reader.h"
#include "import/pcap/capture_stream.h"

namespace wf::pcap {

bool IsClassicCapture(std::string_view magic);
// `bytes` begin with one of its magic numbers.
Result<std::unique_ptr<CaptureStream>> OpenClassicCapture(std::unique_ptr<BlockReader> bytes,
                                                          const std::string& name);

// The link type for a file's LINKTYPE_ number.
std::optional<LinkType> LinkTypeOfFile(uint32_t number);

}  // namespace wf::pcap
