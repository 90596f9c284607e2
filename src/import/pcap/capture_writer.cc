#include "import/pcap/capture_writer.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace wf::pcap {
namespace {

int DltOf(LinkType link) {
  switch (link) {
    case LinkType::kEthernet:
      return DLT_EN10MB;
    case LinkType::kRawIp:
      return DLT_RAW;
    case LinkType::kLinuxCooked:
      return DLT_LINUX_SLL;
    case LinkType::kLinuxCooked2:
      return DLT_LINUX_SLL2;
    case LinkType::kLoopback:
      return DLT_NULL;
  }
  return DLT_RAW;
}

constexpr int64_t kFileHeader = 24, kPacketHeader = 16;

}  // namespace

struct CaptureWriter::Impl {
  std::string path;
  pcap_t* pcap = nullptr;
  pcap_dumper_t* dumper = nullptr;
  uint32_t snapshot_length = 0;
  int64_t size = kFileHeader;
  ~Impl() {
    if (dumper != nullptr) pcap_dump_close(dumper);
    if (pcap != nullptr) pcap_close(pcap);
  }
  Error Failed(int code) const {
    return EnvironmentError(path + ": " + std::strerror(code), "is the disk full?");
  }
};

CaptureWriter::CaptureWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CaptureWriter::~CaptureWriter() = default;

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::Create(const std::string& path, LinkType link,
                                                             uint32_t snapshot_length) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->snapshot_length = snapshot_length;
  impl->pcap = pcap_open_dead_with_tstamp_precision(DltOf(link), static_cast<int>(snapshot_length),
                                                    PCAP_TSTAMP_PRECISION_NANO);
  if (impl->pcap == nullptr) return EnvironmentError(path + ": no memory", "try again");
  impl->dumper = pcap_dump_open(impl->pcap, path.c_str());
  if (impl->dumper == nullptr) {
    return EnvironmentError(std::string("cannot write: ") + pcap_geterr(impl->pcap),
                            "is the folder there, and writable?");
  }
  return std::unique_ptr<CaptureWriter>(new CaptureWriter(std::move(impl)));
}

void CaptureWriter::Write(Nanos time_ns, std::string_view bytes, uint32_t wire_length) {
  pcap_pkthdr header = {};
  // Floor, so that nanoseconds stay positive before 1970 too; the format cannot tell such times, we merely do not crash.
  const Nanos seconds = time_ns >= 0 ? time_ns / kSecond : (time_ns - kSecond + 1) / kSecond;
  header.ts.tv_sec = seconds;
  header.ts.tv_usec = time_ns - seconds * kSecond;
  header.caplen = static_cast<uint32_t>(std::min<size_t>(bytes.size(), impl_->snapshot_length));
  header.len = wire_length != 0 ? wire_length : static_cast<uint32_t>(bytes.size());
  pcap_dump(reinterpret_cast<unsigned char*>(impl_->dumper), &header,
            reinterpret_cast<const unsigned char*>(bytes.data()));
  impl_->size += kPacketHeader + header.caplen;
}

Status CaptureWriter::Flush() {
  // Once a write has failed, all later ones do nothing, and a flush of nothing succeeds.
  if (pcap_dump_flush(impl_->dumper) != 0 || std::ferror(pcap_dump_file(impl_->dumper)) != 0)
    return impl_->Failed(errno != 0 ? errno : EIO);
  return {};
}

Status CaptureWriter::Close() {
  const Status flushed = Flush();
  pcap_dump_close(impl_->dumper);
  impl_->dumper = nullptr;
  return flushed;
}

int64_t CaptureWriter::size() const { return impl_->size; }

}  // namespace wf::pcap
