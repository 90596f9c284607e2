// Reads capture files: pcap (microseconds and nanoseconds, either byte order) and pcapng, by libpcap, which
// appears in this folder only.
//
// If the capturing program was killed, the file ends in the middle of a packet: everything before is read,
// and truncated() returns true. Thread safety: none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/pcap/packet.h"

namespace wf::pcap {

class CaptureReader {
 public:
  // kEnvironment: cannot be read; kBadInput: not a capture, or of an unknown link type.
  static Result<std::unique_ptr<CaptureReader>> Open(const std::string& path);
  // `bytes` must outlive the reader; `name` is for errors.
  static Result<std::unique_ptr<CaptureReader>> OpenBytes(std::string_view bytes,
                                                          const std::string& name);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  // Empty at the end. The packet is valid until the next call.
  std::optional<CapturedPacket> Next();

  LinkType link() const;
  uint32_t snapshot_length() const;  // packets were cut to this length when captured
  bool truncated() const;            // the file ended early; known at the end

 private:
  struct Impl;
  explicit CaptureReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::pcap
