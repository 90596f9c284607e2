#include "import/pcap/capture_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>

#include "import/pcap/capture_builder_test.h"
#include "import/pcap/capture_writer.h"

namespace wf::pcap {
namespace {

// Blocks of pcapng in this machine's byte order, or the other.
class PcapngBuilder {
 public:
  explicit PcapngBuilder(bool swapped = false) : swapped_(swapped) {
    std::string body;
    Number32(0x1a2b3c4d, body);
    Number16(1, body);
    Number16(0, body);
    Number32(0xffffffff, body);
    Number32(0xffffffff, body);
    Block(0x0a0d0d0a, body);
  }
  PcapngBuilder& Interface(uint16_t link, int resolution = -1) {
    std::string body;
    Number16(link, body);
    Number16(0, body);
    Number32(0, body);
    if (resolution >= 0) {
      Number16(9, body);
      Number16(1, body);
      body += static_cast<char>(resolution);
      body += std::string(3, '\0');
      Number32(0, body);
    }
    Block(1, body);
    return *this;
  }
  PcapngBuilder& Packet(uint32_t interface, uint64_t ticks, std::string_view bytes) {
    std::string body;
    Number32(interface, body);
    Number32(static_cast<uint32_t>(ticks >> 32), body);
    Number32(static_cast<uint32_t>(ticks), body);
    Number32(static_cast<uint32_t>(bytes.size()), body);
    Number32(static_cast<uint32_t>(bytes.size()), body);
    body += bytes;
    Block(6, body);
    return *this;
  }
  PcapngBuilder& Statistics(uint32_t interface, uint64_t dropped) {
    std::string body;
    Number32(interface, body);
    Number32(0, body);
    Number32(0, body);
    Number16(5, body);
    Number16(8, body);
    if (swapped_) dropped = __builtin_bswap64(dropped);
    body.append(reinterpret_cast<const char*>(&dropped), 8);
    Number32(0, body);
    Block(5, body);
    return *this;
  }
  PcapngBuilder& Raw(std::string_view bytes) {
    file_ += bytes;
    return *this;
  }
  const std::string& file() const { return file_; }

 private:
  void Number32(uint32_t value, std::string& out) const {
    if (swapped_) value = __builtin_bswap32(value);
    out.append(reinterpret_cast<const char*>(&value), 4);
  }
  void Number16(uint16_t value, std::string& out) const {
    if (swapped_) value = __builtin_bswap16(value);
    out.append(reinterpret_cast<const char*>(&value), 2);
  }
  void Block(uint32_t type, std::string body) {
    while (body.size() % 4 != 0) body += '\0';
    const auto length = static_cast<uint32_t>(body.size() + 12);
    Number32(type, file_);
    Number32(length, file_);
    file_ += body;
    Number32(length, file_);
  }

  bool swapped_;
  std::string file_;
};

struct Got {
  std::vector<std::string> packets;  // "time:bytes"
  std::vector<LinkType> links;
  CaptureStreamCounts counts;
  std::string error;
};

Got ReadAll(Result<std::unique_ptr<CaptureStream>> stream) {
  Got got;
  if (!stream.ok()) {
    got.error = stream.error().message;
    return got;
  }
  CapturedPacket packet;
  while ((*stream)->Next(packet)) {
    got.packets.push_back(std::to_string(packet.time_ns) + ":" + std::string(packet.bytes));
    got.links.push_back(packet.link);
  }
  got.counts = (*stream)->counts();
  return got;
}

Got ReadAll(const std::string& file) { return ReadAll(CaptureStream::OpenBytes(file, "test")); }

TEST(CaptureStream, InterfacesOfSeveralLinksAndResolutions) {
  for (const bool swapped : {false, true}) {
    PcapngBuilder file(swapped);
    file.Interface(1).Interface(101, 9).Interface(113, 0x80 | 10).Interface(105);
    file.Packet(0, 5'000'000, "five")
        .Packet(1, 6'000'000'007, "six")
        .Packet(2, 7 * 1024 + 512, "seven");
    file.Packet(3, 0, "wireless").Statistics(0, 10).Statistics(0, 12).Statistics(1, 3);
    const Got got = ReadAll(file.file());
    EXPECT_EQ(got.packets,
              (std::vector<std::string>{"5000000000:five", "6000000007:six", "7500000000:seven"}));
    EXPECT_EQ(got.links, (std::vector<LinkType>{LinkType::kEthernet, LinkType::kRawIp,
                                                LinkType::kLinuxCooked}));
    EXPECT_EQ(got.counts.unread_links, 1);
    EXPECT_EQ(got.counts.dropped, 15);
    EXPECT_EQ(got.counts.packets, 4);
    EXPECT_FALSE(got.counts.truncated);
  }
}

TEST(CaptureStream, InterfacesWrittenInBatchesAreMerged) {
  PcapngBuilder file;
  file.Interface(101, 9).Interface(101, 9);
  file.Packet(0, 10, "a").Packet(0, 30, "c").Packet(0, 50, "e");
  file.Packet(1, 20, "b").Packet(1, 40, "d").Packet(1, 50, "f");
  EXPECT_EQ(ReadAll(file.file()).packets,
            (std::vector<std::string>{"10:a", "20:b", "30:c", "40:d", "50:e", "50:f"}));
}

TEST(CaptureStream, ASecondSectionHasItsOwnInterfaces) {
  PcapngBuilder first, second(true);
  first.Interface(101, 9).Packet(0, 1, "one");
  second.Interface(1).Packet(0, 2, "two");
  const Got got = ReadAll(first.file() + second.file());
  EXPECT_EQ(got.packets, (std::vector<std::string>{"1:one", "2000:two"}));
  EXPECT_EQ(got.links[1], LinkType::kEthernet);
}

TEST(CaptureStream, PacketsBehindNonsenseAreFound) {
  PcapngBuilder file;
  file.Interface(101, 9)
      .Packet(0, 1, "one")
      .Raw("some other bytes got here")
      .Packet(0, 2, "two")
      .Packet(0, 3, "three");
  const Got got = ReadAll(file.file());
  EXPECT_EQ(got.packets, (std::vector<std::string>{"1:one", "2:two", "3:three"}));
  EXPECT_EQ(got.counts.corrupt_bytes, 25);

  std::vector<BuiltPacket> packets;
  for (int i = 0; i < 5; ++i)
    packets.push_back({kTestStart + i, "packet " + std::to_string(i), true, 0});
  std::string classic = CaptureFile(packets);
  const size_t record = 16 + 8;
  // The second's length is destroyed: the second is lost, the others are not.
  classic.replace(24 + record + 8, 4, "\xff\xff\xff\xff");
  const Got found = ReadAll(classic);
  ASSERT_EQ(found.packets.size(), 4u);
  EXPECT_NE(found.packets[1].find("packet 2"), std::string::npos);
  EXPECT_EQ(found.counts.corrupt_bytes, static_cast<int64_t>(record));
}

TEST(CaptureStream, FilesThatBreakOffGiveWhatTheyHave) {
  const std::string classic =
      CaptureFile({{kTestStart, "first", true, 0}, {kTestStart + 1, "second", true, 0}});
  PcapngBuilder pcapng;
  pcapng.Interface(101, 9).Packet(0, 1, "one").Packet(0, 2, "two");
  for (const std::string& whole : {classic, pcapng.file()}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      const Got got = ReadAll(whole.substr(0, size));
      EXPECT_LE(got.packets.size(), 1u);
      if (size + 1 == whole.size()) {
        EXPECT_TRUE(got.counts.truncated);
      }
      if (size < 12) {
        EXPECT_FALSE(got.error.empty()) << size;
      }
    }
    EXPECT_EQ(ReadAll(whole).packets.size(), 2u);
    EXPECT_FALSE(ReadAll(whole).counts.truncated);
  }
}

TEST(CaptureStream, FromAFileAsFromMemory) {
  const std::string path =
      ::testing::TempDir() + "capture_stream_test." + std::to_string(::getpid()) + ".pcap";
  // More than one block of the reader, and packets as long as they come.
  std::vector<BuiltPacket> packets;
  for (int i = 0; i < 60; ++i)
    packets.push_back({kTestStart + i,
                       std::string(static_cast<size_t>(i) * 4369, static_cast<char>('a' + i % 26)),
                       true, 0});
  const std::string file = CaptureFile(packets);
  std::ofstream(path, std::ios::binary) << file;
  const Got from_file = ReadAll(CaptureStream::Open(path));
  EXPECT_EQ(from_file.packets, ReadAll(file).packets);
  EXPECT_EQ(from_file.packets.size(), packets.size());
  std::filesystem::remove(path);
  EXPECT_NE(ReadAll(CaptureStream::Open(path)).error.find("No such file"), std::string::npos);
}

TEST(CaptureStream, WhatIsNoCaptureIsRefusedByName) {
  EXPECT_NE(ReadAll("{\"id\":1}").error.find("test: not a packet capture"), std::string::npos);
  EXPECT_NE(ReadAll("\x0a\x0d\x0d\x0a"
                    "and nothing like it")
                .error.find("test"),
            std::string::npos);
  EXPECT_TRUE(LooksLikeCapture("\x0a\x0d\x0d\x0a"));
  EXPECT_TRUE(LooksLikeCapture("\xd4\xc3\xb2\xa1"));
  EXPECT_FALSE(LooksLikeCapture("1.5 CALL a b"));
  EXPECT_FALSE(LooksLikeCapture(""));
}

// Any damage: reading ends, and nothing but what was there comes out.
TEST(CaptureStream, AnyDamageIsSurvived) {
  PcapngBuilder pcapng;
  pcapng.Interface(101, 9).Interface(1);
  for (int i = 0; i < 20; ++i)
    pcapng.Packet(static_cast<uint32_t>(i % 2), static_cast<uint64_t>(i), "packet");
  std::vector<BuiltPacket> packets;
  for (int i = 0; i < 20; ++i) packets.push_back({kTestStart + i, "packet", true, 0});
  for (const std::string& whole : {pcapng.file(), CaptureFile(packets)}) {
    EXPECT_TRUE(rc::check([&]() {
      std::string file = whole;
      const int bytes = *rc::gen::inRange(1, 10);
      for (int i = 0; i < bytes; ++i)
        file[*rc::gen::inRange<size_t>(0, file.size())] =
            static_cast<char>(*rc::gen::inRange(0, 256));
      const Got got = ReadAll(file);
      RC_ASSERT(got.packets.size() <= file.size() / 16);
    }));
  }
}

}  // namespace
}  // namespace wf::pcap
