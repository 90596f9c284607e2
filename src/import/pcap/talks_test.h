// One conversation of each protocol, as bytes: what the tests of protocols and of reassembly share.
#pragma once

#include <string>
#include <vector>

#include "import/pcap/byte_order.h"
#include "import/pcap/capture_builder_test.h"

namespace wf::pcap {

struct Saying {
  int end;  // 0: the client
  std::string bytes;
};

struct Talk {
  std::string name;
  uint16_t port;
  std::vector<Saying> sayings;
  // As ReadCapture::bare has them, when each saying is one packet.
  std::vector<std::string> expected;
};

// HTTP/2: length, type, flags, stream.
inline std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream,
                              std::string_view payload) {
  std::string frame;
  Put32(payload.size() << 8 | type, frame);
  Put8(flags, frame);
  Put32(stream, frame);
  return frame += payload;
}

inline std::string PostgresMessage(char type, std::string_view payload) {
  std::string message(1, type);
  Put32(payload.size() + 4, message);
  return message += payload;
}

inline std::string PostgresStartup(uint32_t code, std::string_view payload) {
  std::string message;
  Put32(payload.size() + 8, message);
  Put32(code, message);
  return message += payload;
}

inline std::string MysqlPacket(uint8_t number, std::string_view payload) {
  std::string packet;
  for (int i = 0; i < 3; ++i) Put8(payload.size() >> (8 * i), packet);
  Put8(number, packet);
  return packet += payload;
}

inline std::string KafkaRequest(uint16_t key, uint16_t version, uint32_t correlation,
                                std::string_view rest) {
  std::string body;
  Put16(key, body);
  Put16(version, body);
  Put32(correlation, body);
  Put16(3, body);
  body += "app";
  body += rest;
  std::string request;
  Put32(body.size(), request);
  return request += body;
}

inline std::string KafkaResponse(uint32_t correlation, std::string_view rest) {
  std::string response;
  Put32(rest.size() + 4, response);
  Put32(correlation, response);
  return response += rest;
}

// A question for the address of shop.example.
inline std::string DnsQuery(uint16_t id) {
  std::string message;
  Put16(id, message);
  message += FromHex("0100 0001 0000 0000 0000 04 73686f70 07 6578616d706c65 00 0001 0001");
  return message;
}
inline std::string DnsAnswer(uint16_t id) {
  std::string message;
  Put16(id, message);
  message += FromHex(
      "8180 0001 0002 0000 0000 04 73686f70 07 6578616d706c65 00 0001 0001"
      "c00c 0005 0001 0000003c 0006 03777777 c011"  // an alias
      "c02e 0001 0001 0000003c 0004 0a000002");
  return message;
}
inline std::string BehindLength(const std::string& message) {
  std::string whole;
  Put16(message.size(), whole);
  return whole += message;
}

inline std::string TlsRecord(uint8_t type, std::string_view payload) {
  std::string record(1, static_cast<char>(type));
  Put16(0x0303, record);
  Put16(payload.size(), record);
  return record += payload;
}

// One of each, every exchange whole; sizes are those of the protocols' own rules.
inline std::vector<Talk> AllTalks() {
  const std::string columns2 = MysqlPacket(1, FromHex("02"));
  const std::string definition = std::string("\3def\0\0\0", 7) + std::string(20, 'c');
  const std::string row = std::string("\1a\1b");
  const std::string eof = FromHex("fe 0000 0200");
  return {
      {"http1",
       8080,
       {{0, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"},
        {1, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
        {0,
         "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
        {1, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"},
        {0, "HEAD /c HTTP/1.1\r\nHost: x\r\n\r\n"},
        {1, "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n"},
        {0, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n"},
        {1,
         "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, "
         "chunked\r\n\r\n4\r\nabcd\r\nA;x=y\r\n0123456789\r\n"
         "0\r\nTrailer: t\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"}},
       {"CALL 1 28", "RET 1 43", "CALL 2 70", "RET 2 27", "CALL 3 29", "RET 3 42", "CALL 4 19",
        "CALL 5 19", "RET 4 98", "RET 5 49"}},
      {"http2",
       8080,
       {{0, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Http2Frame(4, 0, 0, "")},
        {1, Http2Frame(4, 0, 0, "") + Http2Frame(4, 1, 0, "")},
        // GET without a body; then one with padding, priority and a header block in three frames.
        {0, Http2Frame(1, 5, 1, FromHex("828684"))},
        {1, Http2Frame(1, 4, 1, FromHex("88")) + Http2Frame(0, 0, 1, "abc") +
                Http2Frame(0, 1, 1, "de")},
        {0, Http2Frame(1, 0x28, 3, FromHex("02 8000000000 86 0000")) +
                Http2Frame(9, 0, 3, FromHex("84")) + Http2Frame(9, 4, 3, FromHex("83")) +
                Http2Frame(1, 5, 5, FromHex("828684")) + Http2Frame(0, 1, 3, "body")},
        {1, Http2Frame(6, 0, 0, "pingping") + Http2Frame(1, 5, 5, FromHex("88")) +
                Http2Frame(1, 4, 3, FromHex("88")) + Http2Frame(1, 5, 3, FromHex("88"))}},
       {"CALL 1 12", "RET 1 33", "CALL 2 12", "CALL 3 51", "RET 2 10", "RET 3 20"}},
      {"redis",
       6379,
       {{0, "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"},
        {1, "$5\r\nhello\r\n"},
        {0, "*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$40\r\n" + std::string(40, 'v') +
                "\r\n"},
        {1, "+PONG\r\n-ERR no\r\n"},
        {0, "*3\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n$1\r\nb\r\n"},
        {1, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"},
        {1, "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"},
        {0, "*2\r\n$8\r\nSMEMBERS\r\n$1\r\ns\r\n"},
        {1, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n~2\r\n$-1\r\n%1\r\n:1\r\n,2.5\r\n"}},
       {"CALL 1 20", "RET 1 11", "CALL 2 14", "CALL 3 67", "RET 2 7", "RET 3 9", "CALL 4 33",
        "RET 4 30", "MSG 5 32", "CALL 6 25", "MSG 7 32", "RET 6 23"}},
      {"postgresql",
       5432,
       {{0, PostgresStartup(80877103, "")},
        {1, "N"},
        {0, PostgresStartup(196608, std::string("user\0me\0\0", 9))},
        {1, PostgresMessage('R', FromHex("00000003"))},
        {0, PostgresMessage('p', std::string("pw\0", 3))},
        {1, PostgresMessage('R', FromHex("00000000")) +
                PostgresMessage('S', std::string("a\0b\0", 4)) + PostgresMessage('Z', "I")},
        {0, PostgresMessage('Q', std::string("select 1\0", 9))},
        {1, PostgresMessage('T', std::string(20, 't')) + PostgresMessage('D', "row") +
                PostgresMessage('C', std::string("SELECT 1\0", 9)) + PostgresMessage('Z', "I")},
        {0, PostgresMessage('P', "parse") + PostgresMessage('B', "bind") +
                PostgresMessage('E', "exec") + PostgresMessage('S', "") +
                PostgresMessage('B', "bind") + PostgresMessage('E', "exec") +
                PostgresMessage('S', "")},
        {1, PostgresMessage('1', "") + PostgresMessage('2', "") + PostgresMessage('C', "done") +
                PostgresMessage('Z', "I")},
        {1, PostgresMessage('2', "") + PostgresMessage('E', "error") + PostgresMessage('Z', "E")},
        {1, PostgresMessage('A', "notification")},
        {0, PostgresMessage('X', "")}},
       {"CALL 1 8", "RET 1 1", "CALL 2 17", "RET 2 33", "CALL 3 14", "RET 3 53", "CALL 4 33",
        "CALL 5 23", "RET 4 25", "RET 5 21", "MSG 6 17"}},
      {"mysql",
       3306,
       {{1, MysqlPacket(0, std::string("\n8.0.36\0", 8) + std::string(60, 'g'))},
        {0, MysqlPacket(1, FromHex("0582 8a00") + std::string(60, 'l'))},
        {1, MysqlPacket(2, FromHex("00 00 00 0200 0000"))},
        {0, MysqlPacket(0, "\x03select")},
        {1, columns2 + MysqlPacket(2, definition) + MysqlPacket(3, definition) +
                MysqlPacket(4, eof) + MysqlPacket(5, row) + MysqlPacket(6, eof)},
        {0, MysqlPacket(0, "\x16prepare")},
        {1, MysqlPacket(1, FromHex("00 01000000 0100 0100 00 0000")) + MysqlPacket(2, definition) +
                MysqlPacket(3, eof) + MysqlPacket(4, definition) + MysqlPacket(5, eof)},
        {0, MysqlPacket(0,
                        "\x17"
                        "execute")},
        {1, MysqlPacket(1, FromHex("01")) + MysqlPacket(2, definition) + MysqlPacket(3, eof) +
                MysqlPacket(4, FromHex("00 00 0161")) + MysqlPacket(5, eof)},
        {0, MysqlPacket(0, "\x19stmt") + MysqlPacket(0, "\x03update")},
        {1, MysqlPacket(1, FromHex("00 01 00 0200 0000"))},
        {0, MysqlPacket(0, "\x03wrong")},
        {1, MysqlPacket(1, FromHex("ff 2804") + "#42000no")},
        {0, MysqlPacket(0, "\x01")}},
       {"CALL 1 68", "RET 1 11", "CALL 2 11", "RET 2 93", "CALL 3 12", "RET 3 96", "CALL 4 12",
        "RET 4 62", "CALL 5 11", "RET 5 11", "CALL 6 10", "RET 6 15"}},
      {"kafka",
       9092,
       {{0, KafkaRequest(18, 0, 1, "")},
        {1, KafkaResponse(1, std::string(20, 'v'))},
        // Two open at once, answered the other way round; between them one that wants no answer.
        {0, KafkaRequest(1, 4, 2, std::string(50, 'f')) +
                KafkaRequest(0, 2, 3, FromHex("0000 000003e8") + "records") +
                KafkaRequest(0, 7, 4, FromHex("ffff 0001 000003e8") + "records")},
        {1, KafkaResponse(4, "done")},
        {1, KafkaResponse(2, std::string(300, 'd'))}},
       {"CALL 1 17", "RET 1 28", "CALL 2 67", "MSG 3 30", "CALL 4 32", "RET 4 12", "RET 2 308"}},
      {"dns",
       53,
       {{0, BehindLength(DnsQuery(7)) + BehindLength(DnsQuery(8))},
        {1, BehindLength(DnsAnswer(8))},
        {1, BehindLength(DnsAnswer(7))}},
       {"CALL 1 32", "CALL 2 32", "RET 2 66", "RET 1 66"}},
      {"blind",
       12345,
       {{0, "\x01question"},
        {1,
         "\x02"
         "answer"},
        {0, "\x01more"},
        {1, "\x02the second answer"}},
       {"CALL 1 9", "RET 1 7", "CALL 2 5", "RET 2 18"}},
      {"tls",
       443,
       {{0, TlsRecord(22, std::string("\1\0\0\x40", 4) + std::string(64, 'c'))},
        {1,
         TlsRecord(22, std::string("\2\0\0\x40", 4) + std::string(64, '\0')) + TlsRecord(20, "\1")},
        {0, TlsRecord(20, "\1") + TlsRecord(22, std::string(40, 'f'))},
        {0, TlsRecord(23, std::string(100, 'q'))},
        {1, TlsRecord(23, std::string(900, 'r')) + TlsRecord(23, std::string(50, 'r'))},
        {0, TlsRecord(23, std::string(10, 'q'))},
        {1, TlsRecord(23, std::string(20, 'r'))}},
       {"CALL 1 105", "RET 1 960", "CALL 2 15", "RET 2 25"}},
  };
}

}  // namespace wf::pcap
