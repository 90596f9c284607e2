#include "import/pcap/pcapng_capture.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <vector>

#include "import/pcap/classic_capture.h"

namespace wf::pcap {
namespace {

constexpr uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kOldPacket = 2, kSimplePacket = 3,
                   kNames = 4, kStatisticsBlock = 5, kPacket = 6;
constexpr uint32_t kByteOrder = 0x1a2b3c4d;
constexpr uint32_t kLongestPcapngBlock = 16 << 20;
constexpr uint32_t kShortestBlock = 12;
// Writers with several interfaces write one's batch after the other's; batches are shorter than these.
constexpr size_t kMostReordered = 4096;
constexpr Nanos kReorderWindow = kSecond;
constexpr size_t kPcapngMaxSearched = 64 << 20;
constexpr size_t kMostInterfaces = 65536;

struct Interface {
  LinkType link = LinkType::kEthernet;
  bool read = true;  // its link type is known
  uint8_t resolution = 6;
  int64_t offset_seconds = 0;
  int64_t dropped = 0;

  Nanos TimeOf(uint64_t ticks) const {
    const unsigned exponent = resolution & 0x7f;
    __int128 nanos = 0;
    if ((resolution & 0x80) != 0) {
      nanos = exponent < 64 ? (static_cast<__int128>(ticks) * kSecond) >> exponent : 0;
    } else if (exponent <= 9) {
      nanos = ticks;
      for (unsigned i = exponent; i < 9; ++i) nanos *= 10;
    } else {
      nanos = ticks;
      for (unsigned i = 9; i < exponent && nanos != 0; ++i) nanos /= 10;
    }
    nanos += static_cast<__int128>(offset_seconds) * kSecond;
    // Held where differences of two times cannot overflow.
    constexpr __int128 kFar = __int128{1} << 61;
    return static_cast<Nanos>(std::clamp<__int128>(nanos, -kFar, kFar));
  }
};

class PcapngCapture : public CaptureStream {
 public:
  explicit PcapngCapture(std::unique_ptr<BlockReader> bytes) : bytes_(std::move(bytes)) {}

  bool Next(CapturedPacket& packet) override {
    if (interfaces_.size() < 2 && waiting_.empty()) {
      if (!ReadPacket(packet)) return false;
      if (interfaces_.size() < 2) return true;
      Wait(packet);
    }
    // Several interfaces: in the order of time, as far as the window allows.
    while (!ended_ && (waiting_.size() < kMostReordered) &&
           (waiting_.empty() || latest_ - waiting_.top().time_ns < kReorderWindow)) {
      if (ReadPacket(packet)) {
        Wait(packet);
      } else {
        ended_ = true;
      }
    }
    if (waiting_.empty()) return false;
    current_ = std::move(const_cast<Waiting&>(waiting_.top()));  // popped at once
    waiting_.pop();
    packet.time_ns = current_.time_ns;
    packet.link = current_.link;
    packet.wire_length = current_.wire_length;
    packet.bytes = current_.bytes;
    return true;
  }

 private:
  struct Waiting {
    Nanos time_ns = 0;
    uint64_t order = 0;
    LinkType link = LinkType::kEthernet;
    uint32_t wire_length = 0;
    std::string bytes;
    bool operator<(const Waiting& other) const {  // the queue's top is its greatest
      return time_ns != other.time_ns ? time_ns > other.time_ns : order > other.order;
    }
  };

  void Wait(const CapturedPacket& packet) {
    latest_ = waiting_.empty() ? packet.time_ns : std::max(latest_, packet.time_ns);
    waiting_.push(
        {packet.time_ns, order_++, packet.link, packet.wire_length, std::string(packet.bytes)});
  }

  uint32_t Get32(const char* at) const {
    uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return swapped_ ? __builtin_bswap32(value) : value;
  }
  uint16_t Get16(const char* at) const {
    uint16_t value;
    std::memcpy(&value, at, sizeof value);
    return swapped_ ? __builtin_bswap16(value) : value;
  }

  // The next block's type and body; false at the end.
  bool ReadBlock(uint32_t& type, std::string_view& body) {
    for (;;) {
      const char* at = bytes_->Look(kShortestBlock);
      if (at == nullptr) {
        counts_.truncated = bytes_->there() != 0;
        return false;
      }
      if (Native(at) == kSection) FindByteOrder(at);
      type = Get32(at);
      const uint32_t length = Get32(at + 4);
      if (length >= kShortestBlock && length % 4 == 0 && length <= kLongestPcapngBlock) {
        at = bytes_->Look(length);
        if (at == nullptr) {
          counts_.truncated = true;
          return false;
        }
        if (Get32(at + length - 4) == length) {
          body = {at + 8, length - kShortestBlock};
          bytes_->Pass(length);
          return true;
        }
      }
      if (!Resynchronise()) return false;
    }
  }

  static uint32_t Native(const char* at) {
    uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  void FindByteOrder(const char* block) {
    swapped_ = Native(block + 8) == __builtin_bswap32(kByteOrder);
  }

  bool Resynchronise() {
    for (size_t passed = 0; passed < kPcapngMaxSearched; ++passed) {
      const char* at = bytes_->Look(1 + kShortestBlock);
      if (at == nullptr) break;
      bytes_->Pass(1);
      ++at;
      ++counts_.corrupt_bytes;
      const uint32_t type = Get32(at), length = Get32(at + 4);
      const bool known = (type >= kInterface && type <= kPacket) || Native(at) == kSection;
      if (!known || length < kShortestBlock || length % 4 != 0 || length > kLongestPcapngBlock)
        continue;
      at = bytes_->Look(length);
      if (at != nullptr && Get32(at + length - 4) == length) return true;
    }
    counts_.corrupt_bytes += static_cast<int64_t>(bytes_->there());
    bytes_->Pass(bytes_->there());
    return false;
  }

  bool ReadPacket(CapturedPacket& packet) {
    uint32_t type = 0;
    std::string_view body;
    while (ReadBlock(type, body)) {
      switch (type) {
        case kSection:
          interfaces_.clear();
          break;
        case kInterface:
          ReadInterface(body);
          break;
        case kStatisticsBlock:
          ReadStatistics(body);
          break;
        case kPacket:
          if (body.size() >= 20 && ReadPacketBody(Get32(body.data()), body.substr(4), packet))
            return true;
          break;
        case kOldPacket:
          if (body.size() >= 20 && ReadPacketBody(Get16(body.data()), body.substr(4), packet))
            return true;
          break;
        case kSimplePacket:
          if (ReadSimplePacket(body, packet)) return true;
          break;
        case kNames:
        default:
          break;
      }
    }
    return false;
  }

  // Time's upper and lower half, captured and original length, bytes.
  bool ReadPacketBody(uint32_t number, std::string_view body, CapturedPacket& packet) {
    const uint32_t captured = Get32(body.data() + 8);
    if (number >= interfaces_.size() || captured > body.size() - 16) {
      counts_.corrupt_bytes += static_cast<int64_t>(body.size());
      return false;
    }
    const Interface& interface = interfaces_[number];
    ++counts_.packets;
    if (!interface.read) {
      ++counts_.unread_links;
      return false;
    }
    packet.time_ns =
        interface.TimeOf(static_cast<uint64_t>(Get32(body.data())) << 32 | Get32(body.data() + 4));
    packet.link = interface.link;
    packet.wire_length = Get32(body.data() + 12);
    packet.bytes = body.substr(16, captured);
    last_time_ = packet.time_ns;
    return true;
  }

  bool ReadSimplePacket(std::string_view body, CapturedPacket& packet) {
    if (body.size() < 4 || interfaces_.empty()) return false;
    ++counts_.packets;
    ++counts_.without_time;
    if (!interfaces_[0].read) {
      ++counts_.unread_links;
      return false;
    }
    packet.time_ns = last_time_;
    packet.link = interfaces_[0].link;
    packet.wire_length = Get32(body.data());
    packet.bytes = body.substr(4, packet.wire_length);
    return true;
  }

  // Calls `use` with the code and value of every option.
  template <typename Use>
  void ForOptions(std::string_view options, Use use) {
    while (options.size() >= 4) {
      const uint16_t code = Get16(options.data()), size = Get16(options.data() + 2);
      if (code == 0 || options.size() < 4u + size) return;
      use(code, options.substr(4, size));
      options.remove_prefix(std::min<size_t>(options.size(), 4u + (size + 3u) / 4 * 4));
    }
  }

  void ReadInterface(std::string_view body) {
    Interface interface;
    if (body.size() < 8 || interfaces_.size() >= kMostInterfaces) return;
    const auto link = LinkTypeOfFile(Get16(body.data()));
    interface.read = link.has_value();
    if (link) interface.link = *link;
    ForOptions(body.substr(8), [&](uint16_t code, std::string_view value) {
      constexpr uint16_t kResolution = 9, kOffset = 14;
      if (code == kResolution && value.size() == 1)
        interface.resolution = static_cast<uint8_t>(value[0]);
      if (code == kOffset && value.size() == 8) {
        uint64_t seconds;
        std::memcpy(&seconds, value.data(), sizeof seconds);
        if (swapped_) seconds = __builtin_bswap64(seconds);
        // Beyond any date it is nonsense.
        interface.offset_seconds = std::clamp<int64_t>(static_cast<int64_t>(seconds),
                                                       -(int64_t{1} << 40), int64_t{1} << 40);
      }
    });
    interfaces_.push_back(interface);
  }

  void ReadStatistics(std::string_view body) {
    if (body.size() < 12) return;
    const uint32_t number = Get32(body.data());
    if (number >= interfaces_.size()) return;
    int64_t dropped = 0;
    ForOptions(body.substr(12), [&](uint16_t code, std::string_view value) {
      constexpr uint16_t kByInterface = 5, kBySystem = 7;
      if ((code != kByInterface && code != kBySystem) || value.size() != 8) return;
      uint64_t count;
      std::memcpy(&count, value.data(), sizeof count);
      if (swapped_) count = __builtin_bswap64(count);
      if (count < uint64_t{1} << 48) dropped += static_cast<int64_t>(count);
    });
    // The figures run on: the last block's count.
    counts_.dropped += dropped - interfaces_[number].dropped;
    interfaces_[number].dropped = dropped;
  }

  std::unique_ptr<BlockReader> bytes_;
  bool swapped_ = false, ended_ = false;
  std::vector<Interface> interfaces_;
  Nanos last_time_ = 0, latest_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Waiting> waiting_;
  Waiting current_;
};

}  // namespace

bool IsPcapng(std::string_view magic) { return magic == "\x0a\x0d\x0d\x0a"; }

Result<std::unique_ptr<CaptureStream>> OpenPcapng(std::unique_ptr<BlockReader> bytes) {
  const char* head = bytes->Look(kShortestBlock);
  uint32_t order = 0;
  if (head != nullptr) std::memcpy(&order, head + 8, sizeof order);
  if (order != kByteOrder && order != __builtin_bswap32(kByteOrder))
    return std::unique_ptr<CaptureStream>();  // none: libpcap says why
  return std::unique_ptr<CaptureStream>(new PcapngCapture(std::move(bytes)));
}

}  // namespace wf::pcap
