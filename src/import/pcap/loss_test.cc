// One packet is missing from a conversation of question and answer, of every protocol: all other exchanges stay whole.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <set>

#include "import/pcap/talks_test.h"

namespace wf::pcap {
namespace {

struct Exchanges {
  std::string name;
  uint16_t port;
  std::vector<Saying> before;  // log-in and the like; nothing of it is lost
  // Of the n-th exchange, with so much text.
  std::function<std::string(int, size_t)> question, answer;
};

std::string Text(size_t size) { return std::string(size, 'x'); }

std::vector<Exchanges> AllExchanges() {
  const std::string eof = FromHex("fe 0000 0200");
  return {
      {"http1",
       80,
       {},
       [](int i, size_t size) {
         return "POST /" + std::to_string(i) +
                " HTTP/1.1\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" + Text(size);
       },
       [](int, size_t size) {
         return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
                Text(size);
       }},
      {"http1_chunks",
       80,
       {},
       [](int i, size_t) { return "GET /" + std::to_string(i) + " HTTP/1.1\r\n\r\n"; },
       [](int, size_t) {
         return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n" + Text(16) +
                "\r\n8\r\n" + Text(8) + "\r\n0\r\n\r\n";
       }},
      {"http2",
       8080,
       {{0, std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + Http2Frame(4, 0, 0, "")},
        {1, Http2Frame(4, 0, 0, "")}},
       [](int i, size_t size) {
         const uint32_t stream = 2 * static_cast<uint32_t>(i) + 1;
         return Http2Frame(1, 4, stream, FromHex("828684")) + Http2Frame(0, 1, stream, Text(size));
       },
       [](int i, size_t size) {
         const uint32_t stream = 2 * static_cast<uint32_t>(i) + 1;
         return Http2Frame(1, 4, stream, FromHex("88")) + Http2Frame(0, 1, stream, Text(size));
       }},
      {"redis",
       6379,
       {},
       [](int, size_t size) {
         return "*2\r\n$3\r\nGET\r\n$" + std::to_string(size) + "\r\n" + Text(size) + "\r\n";
       },
       [](int, size_t size) { return "$" + std::to_string(size) + "\r\n" + Text(size) + "\r\n"; }},
      {"postgresql",
       5432,
       {{0, PostgresStartup(196608, std::string("user\0me\0\0", 9))},
        {1, PostgresMessage('R', FromHex("00000000")) + PostgresMessage('Z', "I")}},
       [](int, size_t size) { return PostgresMessage('Q', Text(size) + std::string(1, '\0')); },
       [](int, size_t size) {
         return PostgresMessage('T', Text(20)) + PostgresMessage('D', Text(size)) +
                PostgresMessage('C', "done") + PostgresMessage('Z', "I");
       }},
      {"mysql",
       3306,
       {{1, MysqlPacket(0, std::string("\n8.0.36\0", 8) + Text(60))},
        {0, MysqlPacket(1, FromHex("0582 8a00") + Text(60))},
        {1, MysqlPacket(2, FromHex("00 00 00 0200 0000"))}},
       [](int, size_t size) { return MysqlPacket(0, "\x03" + Text(size)); },
       [eof](int, size_t size) {
         return MysqlPacket(1, FromHex("01")) + MysqlPacket(2, Text(30)) + MysqlPacket(3, eof) +
                MysqlPacket(4, "\x01" + Text(size)) + MysqlPacket(5, eof);
       }},
      {"kafka",
       9092,
       {},
       [](int i, size_t size) {
         return KafkaRequest(1, 4, static_cast<uint32_t>(i) + 100, Text(size));
       },
       [](int i, size_t size) {
         return KafkaResponse(static_cast<uint32_t>(i) + 100, Text(size));
       }},
      {"dns",
       53,
       {},
       [](int i, size_t) { return BehindLength(DnsQuery(static_cast<uint16_t>(i + 1))); },
       [](int i, size_t) { return BehindLength(DnsAnswer(static_cast<uint16_t>(i + 1))); }},
      {"blind",
       12345,
       {},
       [](int, size_t size) { return "\x01" + Text(size); },
       [](int, size_t size) { return "\x02" + Text(size); }},
      {"tls",
       443,
       {{0, TlsRecord(22, std::string("\1\0\0\x40", 4) + Text(64))},
        {1, TlsRecord(22, std::string("\2\0\0\x40", 4) + std::string(64, '\0'))}},
       [](int, size_t size) { return TlsRecord(23, Text(size + 1)); },
       [](int, size_t size) { return TlsRecord(23, Text(size + 1)); }},
  };
}

class Loss : public ::testing::TestWithParam<Exchanges> {};

TEST_P(Loss, TouchesNoOtherExchange) {
  const Exchanges& exchanges = GetParam();
  EXPECT_TRUE(rc::check([&]() {
    TalkBuilder talk(exchanges.port);
    talk.Open();
    for (const Saying& saying : exchanges.before) talk.Say(saying.end, saying.bytes);
    const size_t first = talk.packets().size();
    const int said_before = static_cast<int>(exchanges.before.size());
    const int count = *rc::gen::inRange(2, 7);
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(" 40000." + std::to_string(exchanges.port) + "." +
                    std::to_string(talk.sequence(0)) + " ");
      talk.Client(exchanges.question(i, *rc::gen::inRange<size_t>(1, 300)),
                  *rc::gen::inRange<size_t>(20, 200));
      talk.Server(exchanges.answer(i, *rc::gen::inRange<size_t>(1, 300)),
                  *rc::gen::inRange<size_t>(20, 200));
    }
    talk.Close();
    const ReadCapture truth = Read(talk);
    std::vector<BuiltPacket> packets = talk.packets();
    std::vector<size_t> droppable;
    for (size_t i = first; i < packets.size(); ++i) {
      if (packets[i].payload) droppable.push_back(i);
    }
    const size_t dropped = *rc::gen::elementOf(droppable);
    const auto touched = static_cast<size_t>((packets[dropped].said - said_before) / 2);
    packets.erase(packets.begin() + static_cast<ptrdiff_t>(dropped));
    const ReadCapture read = ReadBytes(CaptureFile(packets));
    RC_ASSERT(read.counts.gaps == 1);
    const std::multiset<std::string> lines(read.full.begin(), read.full.end());
    for (const std::string& line : truth.full) {
      if (line.find(ids[touched]) != std::string::npos) continue;
      RC_ASSERT(lines.count(line) == 1);
    }
    for (const std::string& id : ids) {
      int calls = 0, returns = 0;
      for (const std::string& line : read.full) {
        if (line.find(id) != std::string::npos) ++(line[0] == 'C' ? calls : returns);
      }
      RC_ASSERT(calls <= 1 && returns <= 1);
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(All, Loss, ::testing::ValuesIn(AllExchanges()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wf::pcap
