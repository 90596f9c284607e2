// CaptureStream: the packets of a capture: fast, with several interfaces, and from damaged files.
//
// libpcap (CaptureReader) copies every packet twice, stops at the first invalid record and rejects files
// whose interfaces differ in link type. Here the two common formats, pcap and pcapng, are read in large
// blocks, and packets are views into them. After invalid bytes the next plausible record is searched, and the
// skipped bytes are counted. Each interface of a pcapng file has its own link type, time resolution and
// offset; packets of several interfaces, which are written in batches, are sorted by time within a window.
// Other formats that libpcap knows are left to it.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/pcap/packet.h"

namespace wf::pcap {

struct CaptureStreamCounts {
  int64_t packets = 0;
  int64_t corrupt_bytes = 0;  // skipped
  int64_t unread_links = 0;   // packets of an interface with an unsupported link type
  int64_t without_time = 0;   // packets without a time; they get the previous one
  int64_t dropped = 0;        // by the capturing program, as it reports
  bool truncated = false;     // ends in the middle of a packet
};

// Whether a file that begins with these bytes (at least 4) looks like a capture.
bool LooksLikeCapture(std::string_view head);

class CaptureStream {
 public:
  // kEnvironment: cannot be read; kBadInput: not a capture, or of an unknown link type.
  static Result<std::unique_ptr<CaptureStream>> Open(const std::string& path);
  // `bytes` must outlive the stream; `name` is for errors.
  static Result<std::unique_ptr<CaptureStream>> OpenBytes(std::string_view bytes,
                                                          const std::string& name);
  virtual ~CaptureStream() = default;
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;

  // False at the end. The packet is valid until the next call.
  virtual bool Next(CapturedPacket& packet) = 0;
  const CaptureStreamCounts& counts() const { return counts_; }

 protected:
  CaptureStream() = default;
  CaptureStreamCounts counts_;
};

}  // namespace wf::pcap
