#include "import/pcap/classic_capture.h"

#include <cstring>

namespace wf::pcap {
namespace {

constexpr size_t kFileHead = 24, kPacketHead = 16;
// libpcap's MAXIMUM_SNAPLEN; no packet is longer.
constexpr uint32_t kLongestPacket = 262144;
// Behind nonsense a record is believed only near the time of the last one, and if another follows it.
constexpr int64_t kTimeNear = 24 * 3600;
constexpr size_t kMostSearched = 64 << 20;

uint32_t Swap(uint32_t value) { return __builtin_bswap32(value); }
uint32_t Native32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

constexpr uint32_t kMicros = 0xa1b2c3d4, kNanos = 0xa1b23c4d;

class ClassicCapture : public CaptureStream {
 public:
  ClassicCapture(std::unique_ptr<BlockReader> bytes, bool swapped, bool nanos, LinkType link)
      : bytes_(std::move(bytes)), swapped_(swapped), nanos_(nanos), link_(link) {}

  bool Next(CapturedPacket& packet) override {
    for (;;) {
      const char* at = bytes_->Look(kPacketHead);
      if (at == nullptr) {
        counts_.truncated = bytes_->there() != 0;
        return false;
      }
      Record record = Read(at);
      if (!Plausible(record)) {
        if (!Resynchronise()) return false;
        continue;
      }
      at = bytes_->Look(kPacketHead + record.captured);
      if (at == nullptr) {
        counts_.truncated = true;
        return false;
      }
      packet.time_ns = static_cast<Nanos>(record.seconds) * kSecond +
                       static_cast<Nanos>(record.fraction) * (nanos_ ? 1 : kMicro);
      packet.link = link_;
      packet.wire_length = record.original;
      packet.bytes = {at + kPacketHead, record.captured};
      bytes_->Pass(kPacketHead + record.captured);
      last_seconds_ = record.seconds;
      ++counts_.packets;
      return true;
    }
  }

 private:
  struct Record {
    uint32_t seconds, fraction, captured, original;
  };
  Record Read(const char* at) const {
    Record record;
    std::memcpy(&record, at, sizeof record);
    if (swapped_) {
      record = {Swap(record.seconds), Swap(record.fraction), Swap(record.captured),
                Swap(record.original)};
    }
    return record;
  }
  bool Plausible(const Record& record) const {
    return record.captured <= kLongestPacket &&
           record.fraction < (nanos_ ? 1'000'000'000u : 1'000'000u);
  }
  bool PlausibleNear(const Record& record) const {
    const int64_t apart =
        static_cast<int64_t>(record.seconds) - static_cast<int64_t>(last_seconds_);
    return Plausible(record) && apart <= kTimeNear && apart >= -kTimeNear && record.captured > 0 &&
           record.captured <= record.original && record.original <= kLongestPacket;
  }

  bool Resynchronise() {
    for (size_t passed = 0; passed < kMostSearched; ++passed) {
      const char* at = bytes_->Look(1 + kPacketHead);
      if (at == nullptr) break;
      bytes_->Pass(1);
      ++counts_.corrupt_bytes;
      const Record record = Read(at + 1);
      if (!PlausibleNear(record)) continue;
      at = bytes_->Look(kPacketHead + record.captured + kPacketHead);
      if (at != nullptr) {
        if (PlausibleNear(Read(at + kPacketHead + record.captured))) return true;
      } else if (bytes_->there() == kPacketHead + record.captured) {
        return true;  // the last of the file
      }
    }
    counts_.corrupt_bytes += static_cast<int64_t>(bytes_->there());
    bytes_->Pass(bytes_->there());
    return false;
  }

  std::unique_ptr<BlockReader> bytes_;
  bool swapped_, nanos_;
  LinkType link_;
  uint32_t last_seconds_ = 0;
};

}  // namespace

std::optional<LinkType> LinkTypeOfFile(uint32_t number) {
  switch (number & 0xffff) {  // above: length of a frame check sequence
    case 1:
      return LinkType::kEthernet;
    case 12:  // DLT_RAW of several systems, which old files hold
    case 14:
    case 101:
    case 228:
    case 229:
      return LinkType::kRawIp;
    case 113:
      return LinkType::kLinuxCooked;
    case 0:
    case 108:
      return LinkType::kLoopback;
    case 276:
      return LinkType::kLinuxCooked2;
    default:
      return std::nullopt;
  }
}

bool IsClassicCapture(std::string_view magic) {
  const uint32_t number = Native32(magic.data());
  return number == kMicros || number == kNanos || number == Swap(kMicros) || number == Swap(kNanos);
}

Result<std::unique_ptr<CaptureStream>> OpenClassicCapture(std::unique_ptr<BlockReader> bytes,
                                                          const std::string& name) {
  const char* at = bytes->Look(kFileHead);
  if (at == nullptr) {
    return BadInput(name + ": a packet capture that ends in its header",
                    "was it copied completely?");
  }
  const uint32_t magic = Native32(at);
  const bool swapped = magic == Swap(kMicros) || magic == Swap(kNanos);
  const bool nanos = magic == kNanos || magic == Swap(kNanos);
  const uint32_t number = swapped ? Swap(Native32(at + 20)) : Native32(at + 20);
  const std::optional<LinkType> link = LinkTypeOfFile(number);
  if (!link) return std::unique_ptr<CaptureStream>();  // libpcap knows its name
  bytes->Pass(kFileHead);
  return std::unique_ptr<CaptureStream>(
      new ClassicCapture(std::move(bytes), swapped, nanos, *link));
}

}  // namespace wf::pcap
