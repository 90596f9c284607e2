#include "import/pcap/capture_reader.h"

#include <pcap/pcap.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace wf::pcap {
namespace {

std::optional<LinkType> LinkTypeOf(int dlt) {
  switch (dlt) {
    case DLT_EN10MB:
      return LinkType::kEthernet;
    case DLT_RAW:
    case DLT_IPV4:
    case DLT_IPV6:
      return LinkType::kRawIp;
    case DLT_LINUX_SLL:
      return LinkType::kLinuxCooked;
    case DLT_NULL:
    case DLT_LOOP:
      return LinkType::kLoopback;
    case DLT_LINUX_SLL2:
      return LinkType::kLinuxCooked2;
    default:
      return std::nullopt;
  }
}

}  // namespace

struct CaptureReader::Impl {
  pcap_t* pcap = nullptr;
  LinkType link = LinkType::kEthernet;
  bool truncated = false;
  ~Impl() {
    if (pcap != nullptr) pcap_close(pcap);  // closes the file too
  }

  // Takes `file`.
  Status Start(std::FILE* file, const std::string& name) {
    char why[PCAP_ERRBUF_SIZE] = "";
    pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why);
    if (pcap == nullptr) {
      std::fclose(file);
      return BadInput(name + ": not a packet capture: " + why,
                      "pcap and pcapng are read; a compressed file must be unpacked first");
    }
    const int dlt = pcap_datalink(pcap);
    const std::optional<LinkType> known = LinkTypeOf(dlt);
    if (!known) {
      const char* text = pcap_datalink_val_to_name(dlt);
      return BadInput(
          name + ": link type " + (text != nullptr ? text : std::to_string(dlt)) + " is not read",
          "capture on an Ethernet interface, or on any (Linux cooked)");
    }
    link = *known;
    return {};
  }
};

CaptureReader::CaptureReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CaptureReader::~CaptureReader() = default;

Result<std::unique_ptr<CaptureReader>> CaptureReader::Open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    const std::string why = path + ": " + std::strerror(errno);
    if (errno == ENOENT || errno == ENOTDIR) return BadInput(why, "check the path");
    return EnvironmentError(why, "check its permissions");
  }
  auto impl = std::make_unique<Impl>();
  WF_TRY(impl->Start(file, path));
  return std::unique_ptr<CaptureReader>(new CaptureReader(std::move(impl)));
}

Result<std::unique_ptr<CaptureReader>> CaptureReader::OpenBytes(std::string_view bytes,
                                                                const std::string& name) {
  // fmemopen refuses size 0; one byte is no capture either.
  char nothing = 0;
  std::FILE* file = bytes.empty() ? ::fmemopen(&nothing, 1, "rb")
                                  : ::fmemopen(const_cast<char*>(bytes.data()), bytes.size(), "rb");
  if (file == nullptr) {
    return EnvironmentError(name + ": " + std::strerror(errno), "is memory short?");
  }
  auto impl = std::make_unique<Impl>();
  WF_TRY(impl->Start(file, name));
  return std::unique_ptr<CaptureReader>(new CaptureReader(std::move(impl)));
}

std::optional<CapturedPacket> CaptureReader::Next() {
  pcap_pkthdr* header = nullptr;
  const unsigned char* bytes = nullptr;
  const int got = pcap_next_ex(impl_->pcap, &header, &bytes);
  if (got != 1) {
    // libpcap reports a file that ends early, or is invalid from here on, as an error.
    if (got == PCAP_ERROR) impl_->truncated = true;
    return std::nullopt;
  }
  CapturedPacket packet;
  // A time that does not fit (seconds may have 32 or 64 bits) wraps around, as it would in the file.
  packet.time_ns =
      static_cast<Nanos>(static_cast<uint64_t>(header->ts.tv_sec) * static_cast<uint64_t>(kSecond) +
                         static_cast<uint64_t>(header->ts.tv_usec));  // nanoseconds, as requested
  packet.link = impl_->link;
  packet.wire_length = header->len;
  packet.bytes = {reinterpret_cast<const char*>(bytes), header->caplen};
  return packet;
}

LinkType CaptureReader::link() const { return impl_->link; }
uint32_t CaptureReader::snapshot_length() const {
  return static_cast<uint32_t>(pcap_snapshot(impl_->pcap));
}
bool CaptureReader::truncated() const { return impl_->truncated; }

}  // namespace wf::pcap
