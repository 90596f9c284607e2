// What a capture does to connections: loss, beginnings and ends that are missing, ports used again, packets shown twice,
// names, roles, and when things are told.
#include "import/pcap/capture_sightings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>
#include <set>

#include "import/pcap/talks_test.h"

namespace wf::pcap {
namespace {

using Lines = std::vector<std::string>;
using ::testing::Contains;

std::string Get(int number) {
  return "GET /item/" + std::to_string(number) + " HTTP/1.1\r\nHost: shop\r\n\r\n";
}
std::string Answer(size_t body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body) + "\r\n\r\n" +
         std::string(body, 'b');
}

TEST(CaptureSightings, TimesIdsNodesAndKeys) {
  TalkBuilder talk(80);
  // Packets: 1-3 handshake, 4 and 5 request, 6 to 8 answer.
  talk.Open().Client(Get(1), 20).Server(Answer(3000)).Close();
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.lines, (Lines{"CALL 1 36 @4", "RET 1 3041 @8"}));
  EXPECT_EQ(
      read.full,
      (Lines{"CALL 10.0.0.1 10.0.0.2 40000.80.1001 conn=tcp:10.0.0.1:40000-10.0.0.2:80 proto=http "
             "bytes=36",
             "RET 10.0.0.2 10.0.0.1 40000.80.1001 conn=tcp:10.0.0.1:40000-10.0.0.2:80 proto=http "
             "bytes=3041"}));
}

TEST(CaptureSightings, KeysOfTextsStandInTheSighting) {
  TalkBuilder talk(80);
  talk.Open().Client(Get(1));
  const std::string file = CaptureFile(talk.packets());
  StringTable nodes;
  CaptureSightingOptions options;
  options.input = 3;
  auto source = CaptureSightings::OpenBytes(file, "x", options, nodes);
  ASSERT_TRUE(source.ok());
  SightingLine line;
  ASSERT_TRUE(*(*source)->Next(line));
  EXPECT_EQ(line.sighting.id, KeyOf("40000.80.1001"));
  EXPECT_EQ(line.sighting.conn, KeyOf("tcp:10.0.0.1:40000-10.0.0.2:80"));
  EXPECT_EQ(line.sighting.by, SightedBy::kCommon);
  EXPECT_EQ(line.sighting.place, (Place{3, 1}));
  EXPECT_FALSE(*(*source)->Next(line));
}

// Sequence numbers wrap in the middle of the conversation.
TEST(CaptureSightings, SequenceNumbersWrap) {
  for (const uint32_t before : {1u, 10u, 37u, 40u, 200u}) {
    TalkBuilder talk(80, 40000, 0u - before, 0u - before * 3);
    talk.Open();
    for (int i = 0; i < 5; ++i) talk.Client(Get(i), 7).Server(Answer(100), 11);
    talk.Close();
    const ReadCapture read = Read(talk);
    EXPECT_EQ(read.counts.calls, 5);
    EXPECT_EQ(read.counts.returns, 5);
    EXPECT_EQ(read.counts.unmatched_returns, 0);
    EXPECT_EQ(read.counts.gaps, 0);
  }
}

// Drops one packet with payload: every exchange of which it holds no byte stays whole, with its own pair.
TEST(CaptureSightings, LossLosesOnlyWhatItTouched) {
  EXPECT_TRUE(rc::check([]() {
    const int exchanges = *rc::gen::inRange(2, 8);
    TalkBuilder talk(80);
    talk.Open();
    std::vector<std::string> ids;
    for (int i = 0; i < exchanges; ++i) {
      ids.push_back("40000.80." + std::to_string(talk.sequence(0)));
      talk.Client(Get(i), *rc::gen::inRange<size_t>(12, 60));
      talk.Server(Answer(*rc::gen::inRange<size_t>(0, 500)), *rc::gen::inRange<size_t>(12, 200));
    }
    talk.Close();
    std::vector<BuiltPacket> packets = talk.packets();
    std::vector<size_t> droppable;
    for (size_t i = 0; i < packets.size(); ++i) {
      if (packets[i].payload) droppable.push_back(i);
    }
    const size_t dropped = *rc::gen::elementOf(droppable);
    const int touched = packets[dropped].said / 2;
    packets.erase(packets.begin() + static_cast<ptrdiff_t>(dropped));
    const ReadCapture read = ReadBytes(CaptureFile(packets));
    TalkBuilder& whole = talk;
    const ReadCapture truth = Read(whole);
    RC_ASSERT(read.counts.gaps == 1);
    const std::multiset<std::string> lines(read.full.begin(), read.full.end());
    for (const std::string& line : truth.full) {
      if (line.find(" " + ids[static_cast<size_t>(touched)] + " ") != std::string::npos) continue;
      RC_ASSERT(lines.count(line) == 1);
    }
    // And nothing else is paired with them.
    for (size_t i = 0; i < ids.size(); ++i) {
      int calls = 0, returns = 0;
      for (const std::string& line : read.full) {
        if (line.find(" " + ids[i] + " ") == std::string::npos) continue;
        ++(line[0] == 'C' ? calls : returns);
      }
      RC_ASSERT(calls <= 1 && returns <= 1);
    }
  }));
}

TEST(CaptureSightings, AGapInABodyLosesNothing) {
  TalkBuilder talk(80);
  talk.Open().Client(Get(1)).Server(Answer(5000)).Client(Get(2)).Server(Answer(10)).Close();
  auto& packets = talk.packets();
  // Packets 4: request; 5 to 8: answer. The third of these is lost.
  packets.erase(packets.begin() + 6);
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.bare, (Lines{"CALL 1 36", "RET 1 5041", "CALL 2 36", "RET 2 49"}));
  EXPECT_EQ(read.counts.gaps, 1);
  EXPECT_EQ(read.counts.gap_bytes, 1400);
}

TEST(CaptureSightings, ALostRequestLeavesItsReturnUnmatched) {
  TalkBuilder talk(80);
  talk.Open()
      .Client(Get(1))
      .Server(Answer(10))
      .Miss(0, 36)
      .Server(Answer(20))
      .Client(Get(3))
      .Server(Answer(30))
      .Close();
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.bare,
            (Lines{"CALL 1 36", "RET 1 49", "RET 2 59 unmatched", "CALL 3 36", "RET 3 69"}));
  EXPECT_EQ(read.counts.unmatched_returns, 1);
  EXPECT_EQ(read.counts.gap_bytes, 36);
}

TEST(CaptureSightings, ALostReplyLeavesItsCallOpen) {
  TalkBuilder talk(80);
  talk.Open()
      .Client(Get(1))
      .Server(Answer(10))
      .Client(Get(2))
      .Miss(1, 49)
      .Client(Get(3))
      .Server(Answer(30))
      .Close();
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.bare, (Lines{"CALL 1 36", "RET 1 49", "CALL 2 36", "CALL 3 36", "RET 3 69"}));
}

TEST(CaptureSightings, CutPacketsStillTellMessages) {
  TalkBuilder talk(80);
  talk.Open();
  for (int i = 0; i < 3; ++i) talk.Client(Get(i)).Server(Answer(1000));
  talk.Close();
  // 40 bytes of headers and 60 of payload: the answer's head is whole, its body is not.
  const ReadCapture read = ReadBytes(CaptureFile(talk.packets(), 100));
  EXPECT_EQ(read.bare, (Lines{"CALL 1 36", "RET 1 1041", "CALL 2 36", "RET 2 1041", "CALL 3 36",
                              "RET 3 1041"}));
  EXPECT_EQ(read.counts.cut_packets, 3);
  // 20 bytes of payload: neither head is whole; beginnings and turns are still seen.
  const ReadCapture less = ReadBytes(CaptureFile(talk.packets(), 60));
  EXPECT_EQ(less.counts.returns, 3);
}

TEST(CaptureSightings, MidStreamStartsFindTheNextMessage) {
  TalkBuilder talk(80);
  talk.Server(std::string(700, 'b'))
      .Client(Get(1))
      .Server(Answer(10))
      .Client(Get(2))
      .Server(Answer(20));
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.bare, (Lines{"CALL 1 36", "RET 1 49", "CALL 2 36", "RET 2 59"}));
  EXPECT_EQ(read.counts.mid_stream, 1);
  EXPECT_EQ(read.counts.http1, 1);
}

TEST(CaptureSightings, MidStreamOfOtherProtocols) {
  {
    TalkBuilder talk(6379);
    talk.Server("$-1\r\n").Client("*1\r\n$4\r\nPING\r\n").Server("+PONG\r\n");
    const ReadCapture read = Read(talk);
    EXPECT_EQ(read.counts.redis, 1);
    EXPECT_THAT(read.bare, Contains("CALL 2 14"));
    EXPECT_THAT(read.bare, Contains("RET 2 7"));
  }
  {
    TalkBuilder talk(15432);
    talk.Client(PostgresMessage('Q', std::string("select 1\0", 9)))
        .Server(PostgresMessage('Z', "I"));
    EXPECT_EQ(Read(talk).bare, (Lines{"CALL 1 14", "RET 1 6"}));
  }
  {
    TalkBuilder talk(3306);
    talk.Client(MysqlPacket(0, "\x0e")).Server(MysqlPacket(1, FromHex("00 00 00 0200 0000")));
    EXPECT_EQ(Read(talk).bare, (Lines{"CALL 1 5", "RET 1 11"}));
  }
  {
    TalkBuilder talk(50051);
    talk.Client(Http2Frame(1, 4, 7, FromHex("8286be")) + Http2Frame(0, 1, 7, "data"))
        .Server(Http2Frame(1, 4, 7, FromHex("be")) + Http2Frame(0, 0, 7, "reply") +
                Http2Frame(1, 5, 7, FromHex("be")));
    const ReadCapture read = Read(talk);
    EXPECT_EQ(read.bare, (Lines{"CALL 1 25", "RET 1 34"}));
    EXPECT_EQ(read.counts.hpack_mid_stream, 1);
  }
}

TEST(CaptureSightings, PortsUsedAgainAreAnotherConnection) {
  TalkBuilder first(80), second(80, 40000, 900000, 800000);
  first.Open().Client(Get(1));
  second.Wait(kSecond).Open().Client(Get(2)).Server(Answer(5)).Close();
  std::vector<BuiltPacket> packets = first.packets();
  packets.insert(packets.end(), second.packets().begin(), second.packets().end());
  const ReadCapture read = ReadBytes(CaptureFile(packets));
  EXPECT_EQ(read.bare, (Lines{"CALL 1 36", "CALL 2 36", "RET 2 43"}));
  EXPECT_EQ(read.counts.ports_reused, 1);
  EXPECT_EQ(read.counts.connections, 2);
  EXPECT_EQ(read.counts.unmatched_returns, 0);
}

// Made-up captures begin every connection with the same number.
TEST(CaptureSightings, ASynBehindTheEndBeginsAnother) {
  TalkBuilder first(80), second(80);
  first.Open().Client(Get(1)).Server(Answer(5)).Close();
  second.Wait(kSecond).Open().Client(Get(2)).Server(Answer(5)).Close();
  std::vector<BuiltPacket> packets = first.packets();
  packets.insert(packets.end(), second.packets().begin(), second.packets().end());
  const ReadCapture read = ReadBytes(CaptureFile(packets));
  EXPECT_EQ(read.counts.calls, 2);
  EXPECT_EQ(read.counts.returns, 2);
  EXPECT_EQ(read.counts.ports_reused, 1);
}

TEST(CaptureSightings, Ipv6AndEthernetWithATag) {
  IpAddress client, server;
  ASSERT_TRUE(ParseIpAddress("fd00::1", client));
  ASSERT_TRUE(ParseIpAddress("fd00::2", server));
  const FiveTuple forth{client, server, 40000, 80, kProtocolTcp};
  const FiveTuple back{server, client, 80, 40000, kProtocolTcp};
  std::vector<BuiltPacket> packets = {
      {kTestStart, EncodeTcpPacket(forth, 10, 20, kTcpAck, Get(1)), true, 0},
      {kTestStart + 1, EncodeTcpPacket(back, 20, 46, kTcpAck, Answer(5)), true, 0}};
  for (BuiltPacket& packet : packets)
    packet.bytes = FromHex("020202020202 010101010101 8100 0007 86dd") + packet.bytes;
  std::string file = CaptureFile(packets);
  file[20] = 1;  // Ethernet
  const ReadCapture read = ReadBytes(file);
  EXPECT_EQ(read.full,
            (Lines{"CALL fd00::1 fd00::2 40000.80.10 conn=tcp:[fd00::1]:40000-[fd00::2]:80 "
                   "proto=http bytes=36",
                   "RET fd00::2 fd00::1 40000.80.10 conn=tcp:[fd00::1]:40000-[fd00::2]:80 "
                   "proto=http bytes=43"}));
}

TEST(CaptureSightings, APacketShownTwiceIsADouble) {
  TalkBuilder talk(80);
  talk.Open().Client(Get(1)).Server(Answer(10)).Close();
  std::vector<BuiltPacket> packets;
  for (const BuiltPacket& packet : talk.packets()) {
    packets.push_back(packet);
    packets.push_back(packet);
    packets.back().time_ns += 5 * kMicro;
  }
  const ReadCapture read = ReadBytes(CaptureFile(packets));
  EXPECT_EQ(read.bare, (Lines{"CALL 1 36", "RET 1 49"}));
  EXPECT_GE(read.counts.doubles, 4);
  EXPECT_EQ(read.counts.retransmitted, 0);
}

TEST(CaptureSightings, APacketSentAgainIsARetransmission) {
  TalkBuilder talk(80);
  talk.Open()
      .Client(Get(1))
      .Wait(300 * kMilli)
      .Miss(0, 0u - 36u)
      .Client(Get(1))
      .Server(Answer(10))
      .Close();
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.lines, (Lines{"CALL 1 36 @4", "RET 1 49 @306"}));
  EXPECT_EQ(read.counts.retransmitted, 1);
  EXPECT_EQ(read.counts.doubles, 0);
}

TEST(CaptureSightings, AResetEndsTheReply) {
  TalkBuilder talk(80);
  talk.Open().Client(Get(1)).Server("HTTP/1.1 200 OK\r\n\r\nuntil the end").Reset(1);
  EXPECT_EQ(Read(talk).bare, (Lines{"CALL 1 36", "RET 1 32"}));
}

TEST(CaptureSightings, OneWayCapturesTellTheirHalf) {
  TalkBuilder talk(80);
  talk.Open().Client(Get(1)).Server(Answer(10)).Client(Get(2)).Server(Answer(20)).Close();
  std::vector<BuiltPacket> forth, back;
  for (const BuiltPacket& packet : talk.packets())
    (Read16(packet.bytes, 22) == 80 ? forth : back).push_back(packet);
  EXPECT_EQ(ReadBytes(CaptureFile(forth)).bare, (Lines{"CALL 1 36", "CALL 2 36"}));
  const ReadCapture server = ReadBytes(CaptureFile(back));
  EXPECT_EQ(server.bare, (Lines{"RET 1 49", "RET 2 59"}));
  EXPECT_EQ(server.counts.unmatched_returns, 2);
  // Two files with a half each, as of two interfaces: the ids agree.
  const auto id = [](const std::string& line) {
    const size_t at = line.find("40000.80.");
    return line.substr(at, line.find(' ', at) - at);
  };
  const ReadCapture client = ReadBytes(CaptureFile(forth));
  EXPECT_EQ(id(client.full[0]), id(server.full[0]));
  EXPECT_EQ(id(client.full[1]), id(server.full[1]));
}

TEST(CaptureSightings, RolesBySynByPortOrNone) {
  TalkBuilder by_syn(45000, 30000);
  by_syn.Open().Client("\x01hey").Server("\x02ho").Close();
  EXPECT_EQ(Read(by_syn).bare, (Lines{"CALL 1 4", "RET 1 3"}));
  // Without the handshake: a low port and one that systems give to clients.
  TalkBuilder by_port(7000, 40000);
  by_port.Client("\x01hey").Server("\x02ho");
  EXPECT_EQ(Read(by_port).bare, (Lines{"CALL 1 4", "RET 1 3"}));
  TalkBuilder unknown(45000, 40000);
  unknown.Client("\x01hey").Server("\x02ho");
  const ReadCapture read = Read(unknown);
  EXPECT_EQ(read.bare, (Lines{"MSG 1 4", "MSG 2 3"}));
  EXPECT_EQ(read.counts.role_unknown, 1);
}

TEST(CaptureSightings, ContentsKnowBetterThanPorts) {
  // A service on a high port, called from a low one.
  TalkBuilder talk(45000, 700);
  talk.Client(Get(1)).Server(Answer(10));
  const ReadCapture read = Read(talk);
  ASSERT_EQ(read.full.size(), 2u);
  EXPECT_EQ(read.full[0].substr(0, 23), "CALL 10.0.0.1 10.0.0.2 ");
}

TEST(CaptureSightings, GreetingsAndFarewellsAreNoCalls) {
  TalkBuilder talk(2525);
  talk.Open().Server("220 hello\r\n").Client("EHLO me\r\n").Server("250 ok\r\n").Close();
  EXPECT_EQ(Read(talk).bare, (Lines{"MSG 1 11", "CALL 2 9", "RET 2 8"}));
}

TEST(CaptureSightings, SlowMessagesAreToldInTime) {
  // Another connection makes time pass.
  TalkBuilder slow(80), clock(81, 40001);
  slow.Open().Client("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345");
  clock.Open();
  for (int i = 0; i < 30; ++i) clock.Wait(kSecond).Client(Get(i)).Server(Answer(1));
  slow.Wait(20 * kSecond).Client("67890").Server(Answer(1));
  std::vector<BuiltPacket> packets = slow.packets();
  packets.insert(packets.end(), clock.packets().begin(), clock.packets().end());
  std::stable_sort(packets.begin(), packets.end(), [](const BuiltPacket& a, const BuiltPacket& b) {
    return a.time_ns < b.time_ns;
  });
  const std::string file = CaptureFile(packets);
  StringTable nodes;
  auto source = CaptureSightings::OpenBytes(file, "x", {}, nodes);
  ASSERT_TRUE(source.ok());
  SightingLine line;
  Nanos latest = 0;
  int calls = 0;
  while (*(*source)->Next(line)) {
    EXPECT_LT(latest - line.sighting.time_ns, 9 * kSecond) << line.id;
    latest = std::max(latest, line.sighting.time_ns);
    calls += line.sighting.kind == MessageKind::kCall ? 1 : 0;
  }
  EXPECT_EQ(calls, 31);
}

TEST(CaptureSightings, TooManyConnectionsAreForgottenAndCounted) {
  std::vector<BuiltPacket> packets;
  for (uint16_t i = 0; i < 50; ++i) {
    TalkBuilder talk(80, static_cast<uint16_t>(40000 + i));
    talk.Wait(i * 10 * kMilli).Open().Client(Get(i));
    packets.insert(packets.end(), talk.packets().begin(), talk.packets().end());
  }
  CaptureSightingOptions options;
  options.most_connections = 8;
  const ReadCapture read = ReadBytes(CaptureFile(packets), options);
  EXPECT_EQ(read.counts.calls, 50);
  EXPECT_EQ(read.counts.forgotten, 42);
  EXPECT_EQ(read.counts.connections, 50);
}

TEST(CaptureSightings, HeldBytesOfAllConnectionsAreBounded) {
  std::vector<BuiltPacket> packets;
  for (uint16_t i = 0; i < 40; ++i) {
    TalkBuilder talk(80, static_cast<uint16_t>(40000 + i));
    // A head that never ends, and a hole.
    talk.Open().Client("GET /" + std::string(900, 'x')).Miss(0, 10).Client(std::string(1000, 'y'));
    packets.insert(packets.end(), talk.packets().begin(), talk.packets().end());
  }
  CaptureSightingOptions options;
  options.most_held_bytes = 10'000;
  const ReadCapture read = ReadBytes(CaptureFile(packets), options);
  EXPECT_GT(read.counts.dropped_held, 20);
  EXPECT_EQ(ReadBytes(CaptureFile(packets)).counts.dropped_held, 0);
}

TEST(CaptureSightings, NamesFromAFile) {
  const auto names = NodeNames::Parse(
      "# who is who\n10.0.0.1 web\n\n10.0.0.2:80 shop\n10.0.0.2 other # rest\n[fd00::1]:5 "
      "six\nfd00::2 seven\n",
      "n");
  ASSERT_TRUE(names.ok());
  CaptureSightingOptions options;
  options.names = *names;
  TalkBuilder talk(80), elsewhere(81);
  talk.Open().Client(Get(1));
  elsewhere.Open().Client(Get(1));
  EXPECT_EQ(Read(talk, options).full[0].substr(0, 14), "CALL web shop ");
  EXPECT_EQ(Read(elsewhere, options).full[0].substr(0, 15), "CALL web other ");
  IpAddress six;
  ASSERT_TRUE(ParseIpAddress("fd00::1", six));
  EXPECT_EQ(names->NameOf(six, 5), "six");
  EXPECT_EQ(names->NameOf(six, 6), "fd00::1");
  for (const auto& [text, place] :
       std::vector<std::pair<std::string, std::string>>{{"10.0.0.1 a\nshop b\n", "n:2"},
                                                        {"10.0.0.1\n", "n:1"},
                                                        {"10.0.0.1 a b\n", "n:1"},
                                                        {"10.0.0.1:99999 a\n", "n:1"}}) {
    const auto bad = NodeNames::Parse(text, "n");
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_EQ(bad.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(bad.error().message.substr(0, place.size()), place);
  }
}

BuiltPacket Udp(Nanos at, bool back, const std::string& payload, uint16_t port = 53,
                uint16_t ip_id = 7) {
  FiveTuple flow{Ipv4Address(10, 0, 0, 1), Ipv4Address(10, 0, 0, 9), 5353, port, kProtocolUdp};
  if (back) {
    std::swap(flow.source, flow.destination);
    std::swap(flow.source_port, flow.destination_port);
  }
  return {kTestStart + at, EncodeUdpPacket(flow, ip_id, payload), true, 0};
}

TEST(CaptureSightings, DnsByIdAndItsNames) {
  TalkBuilder talk(80);
  talk.Wait(kSecond).Open().Client(Get(1));
  std::vector<BuiltPacket> packets = {
      Udp(kMilli, false, DnsQuery(77)), Udp(2 * kMilli, false, DnsQuery(78)),
      Udp(2 * kMilli, false, DnsQuery(78)),  // seen twice
      Udp(5 * kMilli, true, DnsAnswer(78)), Udp(6 * kMilli, true, DnsAnswer(77))};
  packets.insert(packets.end(), talk.packets().begin(), talk.packets().end());
  const ReadCapture read = ReadBytes(CaptureFile(packets));
  EXPECT_EQ(read.lines, (Lines{"CALL 1 30 @1", "CALL 2 30 @2", "RET 2 64 @5", "RET 1 64 @6",
                               "CALL 3 36 @1004"}));
  EXPECT_EQ(read.counts.doubles, 1);
  CaptureSightingOptions options;
  options.dns_names = CaptureSightingOptions::DnsNames::kUse;
  const ReadCapture named = ReadBytes(CaptureFile(packets), options);
  EXPECT_EQ(named.full[4].substr(0, 27), "CALL 10.0.0.1 shop.example ");
}

TEST(CaptureSightings, OtherDatagramsByTurns) {
  const ReadCapture read = ReadBytes(
      CaptureFile({Udp(kMilli, false, "\x01who", 123), Udp(2 * kMilli, true, "\x02me", 123),
                   Udp(3 * kMilli, false, "\x01why", 123)}));
  EXPECT_EQ(read.lines, (Lines{"CALL 1 4 @1", "RET 1 3 @2", "CALL 2 4 @3"}));
}

TEST(CaptureSightings, UpgradesAndTunnels) {
  TalkBuilder upgrade(80);
  upgrade.Open()
      .Client("GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
      .Server("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x02hi")
      .Client("\x81\x84mask1234")
      .Server("\x81\x02ok")
      .Close();
  EXPECT_EQ(Read(upgrade).bare,
            (Lines{"CALL 1 63", "RET 1 56", "MSG 2 4", "CALL 3 10", "RET 3 4"}));
  TalkBuilder tunnel(3128);
  tunnel.Open()
      .Client("CONNECT shop:443 HTTP/1.1\r\n\r\n")
      .Server("HTTP/1.1 200 Connection established\r\n\r\n")
      .Client(TlsRecord(22, std::string("\1\0\0\x40", 4) + std::string(64, 'c')))
      .Server(TlsRecord(22, std::string("\2\0\0\x40", 4) + std::string(64, '\0')))
      .Client(TlsRecord(23, "question"))
      .Server(TlsRecord(23, "answer"))
      .Close();
  const ReadCapture read = Read(tunnel);
  EXPECT_EQ(read.bare, (Lines{"CALL 1 29", "RET 1 39", "CALL 2 13", "RET 2 11"}));
  EXPECT_EQ(read.counts.tls, 1);
}

// Key 3 and version n are bytes that also are PostgreSQL's version 3.n.
TEST(CaptureSightings, KafkaThatBeginsWithMetadataIsNoPostgres) {
  for (const uint16_t port : {9092, 13946}) {
    for (const bool mid_stream : {false, true}) {
      TalkBuilder talk(port);
      if (!mid_stream) talk.Open();
      talk.Client(KafkaRequest(3, 0, 7, FromHex("0000 0000")))
          .Server(KafkaResponse(7, std::string(20, 'm')))
          .Client(KafkaRequest(3, 4, 8, FromHex("0000 0000 00")))
          .Server(KafkaResponse(8, std::string(20, 'm')))
          .Close();
      const ReadCapture read = Read(talk);
      EXPECT_EQ(read.bare, (Lines{"CALL 1 21", "RET 1 28", "CALL 2 22", "RET 2 28"})) << port;
      EXPECT_EQ(read.counts.kafka, 1) << port;
      EXPECT_EQ(read.counts.unmatched_returns, 0) << port;
    }
  }
}

// Two requests in flight tell what direction changes cannot.
TEST(CaptureSightings, KafkaInTheMiddleOfAConnectionOnAnyPort) {
  TalkBuilder talk(13946);
  talk.Server("the end of a response")
      .Client(KafkaRequest(1, 4, 20, "fetch") + KafkaRequest(12, 0, 21, "heartbeat"))
      .Server(KafkaResponse(21, "ok"))
      .Server(KafkaResponse(20, "records"))
      .Close();
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.bare, (Lines{"CALL 1 22", "CALL 2 26", "RET 2 10", "RET 1 15"}));
  EXPECT_EQ(read.counts.mid_stream, 1);
}

TEST(CaptureSightings, TlsAskedForByPostgresAndMysql) {
  const std::string hello = TlsRecord(22, std::string("\1\0\0\x40", 4) + std::string(64, 'c'));
  const std::string reply = TlsRecord(22, std::string("\2\0\0\x40", 4) + std::string(64, '\0'));
  TalkBuilder postgres(5432);
  postgres.Open()
      .Client(PostgresStartup(80877103, ""))
      .Server("S")
      .Client(hello)
      .Server(reply)
      .Client(TlsRecord(23, "q"))
      .Server(TlsRecord(23, "a"))
      .Close();
  EXPECT_EQ(Read(postgres).bare, (Lines{"CALL 1 8", "RET 1 1", "CALL 2 6", "RET 2 6"}));
  TalkBuilder mysql(3306);
  mysql.Open()
      .Server(MysqlPacket(0, std::string("\n8.0.36\0", 8) + std::string(60, 'g')))
      .Client(MysqlPacket(1, FromHex("058a 8a00") + std::string(28, 'l')) + hello)
      .Server(reply)
      .Client(TlsRecord(23, "q"))
      .Server(TlsRecord(23, "a"))
      .Close();
  EXPECT_EQ(Read(mysql).bare, (Lines{"CALL 1 6", "RET 1 6"}));
}

// Of TLS 1.3, what looks like data until the client's first is handshake.
TEST(CaptureSightings, Tls13HidesItsHandshake) {
  std::string hello =
      FromHex("02000000 0303") + std::string(32, 'r') + FromHex("00 1301 00 0006 002b 0002 0304");
  hello[3] = static_cast<char>(hello.size() - 4);
  TalkBuilder talk(443);
  talk.Open()
      .Client(TlsRecord(22, std::string("\1\0\0\x40", 4) + std::string(64, 'c')))
      .Server(TlsRecord(22, hello) + TlsRecord(20, "\1") + TlsRecord(23, std::string(900, 'x')))
      .Client(TlsRecord(20, "\1") + TlsRecord(23, std::string(53, 'f')) + TlsRecord(23, "question"))
      .Server(TlsRecord(23, "ticket") + TlsRecord(23, "answer"))
      .Client(TlsRecord(23, std::string(19, 'a')))  // close_notify
      .Close();
  EXPECT_EQ(Read(talk).bare, (Lines{"CALL 1 13", "RET 1 22"}));
}

TEST(CaptureSightings, GrpcIsToldApart) {
  TalkBuilder talk(50051);
  // content-type: application/grpc, as a literal.
  const std::string block = FromHex("8386") + std::string(
                                                  "\x40\x0c"
                                                  "content-type"
                                                  "\x10"
                                                  "application/grpc");
  talk.Open()
      .Client(std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + Http2Frame(4, 0, 0, "") +
              Http2Frame(1, 4, 1, block) + Http2Frame(0, 1, 1, "call"))
      .Server(Http2Frame(4, 0, 0, "") + Http2Frame(1, 4, 1, FromHex("88")) +
              Http2Frame(0, 0, 1, "reply") + Http2Frame(1, 5, 1, FromHex("88")))
      .Client(Http2Frame(1, 4, 3, FromHex("8386be")))
      .Client(Http2Frame(3, 0, 3, FromHex("00000008")))
      .Close();
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.counts.grpc, 1);
  EXPECT_EQ(read.counts.hpack_mid_stream, 0);
  EXPECT_EQ(read.counts.cancelled, 1);
  EXPECT_EQ(read.counts.calls, 2);
  EXPECT_EQ(read.counts.returns, 1);
}

TEST(CaptureSightings, WhatIsNoProtocolAfterAllIsReadByTurns) {
  TalkBuilder talk(80);
  talk.Open().Client(Get(1)).Server("this is no answer\n");
  for (int i = 0; i < 8; ++i) talk.Client("\x01 again").Server("\x02 and again");
  const ReadCapture read = Read(talk);
  EXPECT_EQ(read.counts.not_as_begun, 1);
  EXPECT_GE(read.counts.returns, 3);
}

TEST(CaptureSightings, TheSameTwice) {
  std::vector<BuiltPacket> packets;
  uint16_t port = 41000;
  for (const Talk& talk : AllTalks()) {
    TalkBuilder builder(talk.port, port++);
    builder.Open();
    for (const Saying& saying : talk.sayings) builder.Say(saying.end, saying.bytes, 9);
    packets.insert(packets.end(), builder.packets().begin(), builder.packets().end());
  }
  std::stable_sort(packets.begin(), packets.end(), [](const BuiltPacket& a, const BuiltPacket& b) {
    return a.time_ns < b.time_ns;
  });
  const std::string file = CaptureFile(packets);
  EXPECT_EQ(ReadBytes(file).full, ReadBytes(file).full);
  EXPECT_EQ(ReadBytes(file).counts.connections, static_cast<int64_t>(AllTalks().size()));
}

}  // namespace
}  // namespace wf::pcap
