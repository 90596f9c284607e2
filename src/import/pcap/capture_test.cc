#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/pcap/byte_order.h"
#include "import/pcap/capture_reader.h"
#include "import/pcap/capture_writer.h"

namespace wf::pcap {
namespace {

std::string TempFile(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "capture_test." + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  return folder + "/" + name;
}

// The classic format, big-endian, with microseconds: as an old tool of another machine wrote it.
std::string BigEndianCapture(uint32_t link, const std::string& packet) {
  std::string bytes;
  Put32(0xa1b2c3d4, bytes);
  Put16(2, bytes);
  Put16(4, bytes);
  Put32(0, bytes);
  Put32(0, bytes);
  Put32(96, bytes);
  Put32(link, bytes);
  Put32(1'700'000'000, bytes);
  Put32(250'000, bytes);
  Put32(packet.size(), bytes);
  Put32(1500, bytes);
  return bytes + packet;
}

TEST(Capture, NanosecondsAndLengthsSurviveTheFile) {
  const std::string path = TempFile("whole.pcap");
  const Nanos time = 1'794'643'200'123'456'789;
  for (const LinkType link : {LinkType::kEthernet, LinkType::kRawIp, LinkType::kLinuxCooked,
                              LinkType::kLinuxCooked2, LinkType::kLoopback}) {
    auto writer = CaptureWriter::Create(path, link, 8);
    ASSERT_TRUE(writer.ok());
    (*writer)->Write(time, "12345");
    (*writer)->Write(time + 1, "123456789012");
    (*writer)->Write(time + 2, "1234", 1500);
    EXPECT_EQ((*writer)->size(), 24 + 3 * 16 + 5 + 8 + 4);
    ASSERT_TRUE((*writer)->Close().ok());
    EXPECT_EQ(static_cast<int64_t>(std::filesystem::file_size(path)), 24 + 3 * 16 + 5 + 8 + 4);

    auto reader = CaptureReader::Open(path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->link(), link);
    EXPECT_EQ((*reader)->snapshot_length(), 8u);
    auto packet = (*reader)->Next();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->time_ns, time);
    EXPECT_EQ(packet->bytes, "12345");
    EXPECT_EQ(packet->link, link);
    packet = (*reader)->Next();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->bytes, "12345678");
    EXPECT_EQ(packet->wire_length, 12u);
    packet = (*reader)->Next();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->time_ns, time + 2);
    EXPECT_EQ(packet->wire_length, 1500u);
    EXPECT_FALSE((*reader)->Next());
    EXPECT_FALSE((*reader)->truncated());
  }
}

TEST(Capture, MicrosecondsOfAnotherByteOrder) {
  const std::string bytes = BigEndianCapture(1, "abc");
  auto reader = CaptureReader::OpenBytes(bytes, "old.pcap");
  ASSERT_TRUE(reader.ok());
  const auto packet = (*reader)->Next();
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->time_ns, 1'700'000'000 * kSecond + 250 * kMilli);
  EXPECT_EQ(packet->wire_length, 1500u);
  EXPECT_EQ(packet->bytes, "abc");
}

TEST(Capture, WhatStandsBeforeABreakIsRead) {
  const std::string whole = BigEndianCapture(1, "abc");
  const std::string cut = whole + whole.substr(24, 10);
  auto reader = CaptureReader::OpenBytes(cut, "cut.pcap");
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->Next());
  EXPECT_FALSE((*reader)->Next());
  EXPECT_TRUE((*reader)->truncated());
}

TEST(Capture, WhatIsNoneIsRefusedByName) {
  for (const std::string_view bytes : {std::string_view(), std::string_view("{\"id\":1}\n")}) {
    const auto reader = CaptureReader::OpenBytes(bytes, "notes.json");
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.error().code, ErrorCode::kBadInput);
    EXPECT_NE(reader.error().message.find("notes.json"), std::string::npos);
  }
  const auto wifi = CaptureReader::OpenBytes(BigEndianCapture(105, "abc"), "wifi.pcap");
  ASSERT_FALSE(wifi.ok());
  EXPECT_NE(wifi.error().message.find("IEEE802_11"), std::string::npos) << wifi.error().message;
  const auto missing = CaptureReader::Open(TempFile("missing.pcap"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kBadInput);
  EXPECT_FALSE(CaptureWriter::Create("/no/such/folder/x.pcap", LinkType::kRawIp).ok());
}

}  // namespace
}  // namespace wf::pcap
