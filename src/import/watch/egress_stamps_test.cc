// Packets that this machine sends to itself, seen before the loopback's queue.
#include "import/watch/egress_stamps.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace wf::watch {
namespace {

// To a socket that takes it, else the refusal that comes back would hold the same text.
void SendDatagram(std::string_view text) {
  const int receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof to;
  auto* address = reinterpret_cast<sockaddr*>(&to);
  EXPECT_EQ(bind(receiver, address, size), 0);
  EXPECT_EQ(getsockname(receiver, address, &size), 0);
  EXPECT_EQ(sendto(sender, text.data(), text.size(), 0, address, size),
            static_cast<ssize_t>(text.size()));
  close(sender);
  close(receiver);
}

TEST(EgressStamps, SeesWhatIsSentAndWhen) {
  const std::string mark = "wherefore egress test " + std::to_string(Now());
  const std::string long_one = mark + std::string(4000, '.');
  std::vector<Nanos> short_times, long_times;
  size_t captured = 0;
  auto stamps = EgressStamps::Attach({"lo", 256}, [&](const StampedPacket& packet) {
    if (packet.bytes.find(mark) == std::string_view::npos) return;
    if (packet.length > 1000) {
      captured = packet.bytes.size();
      long_times.push_back(packet.time);
    } else {
      short_times.push_back(packet.time);
      EXPECT_EQ(packet.length, packet.bytes.size());
    }
  });
  if (!stamps.ok() && getenv("WHEREFORE_NEEDS_BPF") == nullptr)
    GTEST_SKIP() << stamps.error().message;
  ASSERT_TRUE(stamps.ok()) << stamps.error().message;
  const Nanos before = Now();
  SendDatagram(mark);
  SendDatagram(long_one);
  const Nanos after = Now();
  for (int i = 0; i < 100 && (short_times.empty() || long_times.empty()); ++i)
    ASSERT_TRUE((*stamps)->Poll(50).ok());
  ASSERT_EQ(short_times.size(), 1u);
  ASSERT_EQ(long_times.size(), 1u);
  EXPECT_EQ(captured, 256u);
  // Two clocks are read to get from one to the other: a machine in between may stop us for some time.
  EXPECT_GE(short_times[0], before - 100 * kMilli);
  EXPECT_LE(long_times[0], after + 100 * kMilli);
  EXPECT_LE(short_times[0], long_times[0] + 100 * kMilli);
}

TEST(EgressStamps, AnUnknownInterfaceIsTheUsersError) {
  const auto stamps = EgressStamps::Attach({"no-such-link"}, [](const StampedPacket&) {});
  ASSERT_FALSE(stamps.ok());
  if (stamps.error().code == ErrorCode::kBadInput) {
    EXPECT_NE(stamps.error().message.find("no-such-link"), std::string::npos);
  }
}

TEST(EgressStamps, WritesCaptureFiles) {
  std::string file = PcapHeader(1520);
  AppendPcapPacket({1'700'000'000'123'456'789, 60, "abcd"}, file);
  ASSERT_EQ(file.size(), 24u + 16u + 4u);
  EXPECT_EQ(file.substr(0, 4), "\x4D\x3C\xB2\xA1");
  EXPECT_EQ(file.substr(24, 4), std::string("\x00\xF1\x53\x65", 4));  // 1,700,000,000 s
  EXPECT_EQ(file.substr(28, 4), std::string("\x15\xCD\x5B\x07", 4));  // 123,456,789 ns
  EXPECT_EQ(file.substr(32, 8), std::string("\x04\0\0\0\x3C\0\0\0", 8));
}

}  // namespace
}  // namespace wf::watch
