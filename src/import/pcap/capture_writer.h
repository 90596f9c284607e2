// Writes capture files: pcap with nanoseconds, which every analyser of the last ten years reads. Thread
// safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/pcap/packet.h"

namespace wf::pcap {

constexpr uint32_t kWholePackets = 262144;  // libpcap's largest snapshot length

class CaptureWriter {
 public:
  // Packets are cut to `snapshot_length` bytes; their wire length is kept.
  static Result<std::unique_ptr<CaptureWriter>> Create(const std::string& path, LinkType link,
                                                       uint32_t snapshot_length = kWholePackets);
  ~CaptureWriter();  // unflushed bytes are lost if the disk is full; Close reports it
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  // wire_length 0: the length of `bytes`.
  void Write(Nanos time_ns, std::string_view bytes, uint32_t wire_length = 0);
  Status Flush();
  Status Close();
  int64_t size() const;  // of the file, flushed or not

 private:
  struct Impl;
  explicit CaptureWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::pcap
