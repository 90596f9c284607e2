#include "import/pcap/protocol_detector.h"

#include <algorithm>

#include "import/pcap/byte_order.h"
#include "import/pcap/dns_dialogue.h"
#include "import/pcap/http1_dialogue.h"
#include "import/pcap/http2_dialogue.h"
#include "import/pcap/kafka_dialogue.h"
#include "import/pcap/mysql_dialogue.h"
#include "import/pcap/postgres_dialogue.h"
#include "import/pcap/redis_dialogue.h"
#include "import/pcap/turn_dialogue.h"

namespace wf::pcap {
namespace {

// Servers reject longer first lines.
constexpr size_t kLongestFirstLine = 16 << 10;
// From here up Linux gives ports to clients; IANA's range begins higher.
constexpr uint16_t kFirstEphemeral = 32768;
constexpr uint16_t kLastPrivileged = 1023;

struct WellKnown {
  uint16_t port;
  Protocol protocol;
};
// Kept to ports with a protocol that we read, and to servers whose port lies where clients' ports may lie.
constexpr WellKnown kWellKnown[] = {
    {53, Protocol::kDns},      {80, Protocol::kHttp1},    {443, Protocol::kTls},
    {3306, Protocol::kMysql},  {4317, Protocol::kHttp2},  {5432, Protocol::kPostgres},
    {6379, Protocol::kRedis},  {6380, Protocol::kRedis},  {6432, Protocol::kPostgres},
    {8000, Protocol::kHttp1},  {8080, Protocol::kHttp1},  {8443, Protocol::kTls},
    {9092, Protocol::kKafka},  {9093, Protocol::kKafka},  {33060, Protocol::kBlind},
    {50051, Protocol::kHttp2}, {26379, Protocol::kRedis}, {11211, Protocol::kBlind},
    {27017, Protocol::kBlind}, {5672, Protocol::kBlind},  {9042, Protocol::kBlind},
};

bool OnPortOf(Protocol protocol, const DialogueContext& context) {
  for (const WellKnown& known : kWellKnown) {
    if (known.protocol == protocol &&
        (known.port == context.ports[0] || known.port == context.ports[1]))
      return true;
  }
  return false;
}

bool IsWellKnown(uint16_t port) {
  return std::any_of(std::begin(kWellKnown), std::end(kWellKnown),
                     [&](const WellKnown& known) { return known.port == port; });
}

bool IsPrefix(std::string_view bytes, std::string_view of) {
  return bytes.substr(0, of.size()) == of.substr(0, bytes.size());
}

// A first line that goes on, of letters as a method has.
bool CouldBecomeHttp1(std::string_view bytes) {
  if (IsPrefix(bytes, "HTTP/1.") && bytes.size() < 10) return true;
  if (bytes.size() > kLongestFirstLine || bytes.find('\n') != std::string_view::npos) return false;
  size_t at = 0;
  while (at < bytes.size() && bytes[at] >= 'A' && bytes[at] <= 'Z') ++at;
  if (at == 0 || at > 32) return false;
  if (at == bytes.size()) return true;
  return at >= 3 && bytes[at] == ' ' &&
         std::all_of(bytes.begin() + at, bytes.end(), [](char c) { return c >= ' ' || c == '\r'; });
}

bool CouldBecomeRedis(std::string_view bytes) {
  if (bytes[0] != '*' || bytes.size() > 16) return false;
  return bytes.find("\r\n$") == std::string_view::npos &&
         std::all_of(bytes.begin() + 1, bytes.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == '\r' || c == '\n'; });
}

// The beginning of a binary length or version, too short to decide.
bool CouldBecomeBinary(std::string_view bytes, const DialogueContext& context) {
  const uint8_t first = Read8(bytes, 0);
  if (first >= 20 && first <= 24 && bytes.size() < 5) return true;  // TLS
  if (OnPortOf(Protocol::kDns, context) && bytes.size() < 14) return true;
  if (first <= 6 && bytes.size() < 14)
    return true;  // PostgreSQL's and Kafka's lengths, HTTP/2's frames
  // Kafka's names of clients are looked at as a whole.
  if (first <= 6 && bytes.size() < 14u + std::max<int>(static_cast<int16_t>(Read16(bytes, 12)), 0))
    return LooksLikeKafkaRequest(bytes);
  // MySQL's greeting: until its version ends.
  if (bytes.size() < 70 && (bytes.size() < 5 || (Read8(bytes, 3) == 0 && Read8(bytes, 4) == 10)))
    return bytes.size() < 12 || bytes.substr(5).find('\0') == std::string_view::npos;
  return false;
}

void SetClient(End client, DialogueContext& context) {
  if (context.client == kNoEnd || context.client_guessed) {
    context.client = client;
    context.client_guessed = false;
  }
}

// Looks at contents that are hard to mistake; the client follows from them.
Protocol DetectSurely(End from, std::string_view bytes, DialogueContext& context) {
  if (bytes.substr(0, kHttp2Preface.size()) == kHttp2Preface) {
    SetClient(from, context);
    return Protocol::kHttp2;
  }
  if (LooksLikeHttp1Request(bytes)) {
    SetClient(from, context);
    return Protocol::kHttp1;
  }
  if (LooksLikeHttp1Response(bytes)) {
    SetClient(OtherEnd(from), context);
    return Protocol::kHttp1;
  }
  if (LooksLikeTls(bytes)) {
    // ClientHello, ServerHello.
    if (Read8(bytes, 0) == 22 && bytes.size() > 5 && Read8(bytes, 5) == 1) SetClient(from, context);
    if (Read8(bytes, 0) == 22 && bytes.size() > 5 && Read8(bytes, 5) == 2)
      SetClient(OtherEnd(from), context);
    return Protocol::kTls;
  }
  if (LooksLikePostgresStartup(bytes) || LooksLikePostgresQuery(bytes)) {
    SetClient(from, context);
    return Protocol::kPostgres;
  }
  if (LooksLikeRedisCommand(bytes) && bytes.find("\r\n$") != std::string_view::npos) {
    SetClient(from, context);
    return Protocol::kRedis;
  }
  if (LooksLikeMysqlGreeting(bytes)) {
    SetClient(OtherEnd(from), context);
    return Protocol::kMysql;
  }
  return Protocol::kUndecided;
}

// Looks at contents that mean something on the right port, or behind a sure beginning.
Protocol DetectByPort(End from, std::string_view bytes, DialogueContext& context) {
  const bool client_knows = context.client == from || context.client == kNoEnd;
  if (OnPortOf(Protocol::kDns, context) && LooksLikeDnsStream(bytes)) return Protocol::kDns;
  if (LooksLikeKafkaRequest(bytes) && client_knows &&
      (OnPortOf(Protocol::kKafka, context) || context.from_start[from] ||
       AreWholeKafkaRequests(bytes))) {
    SetClient(from, context);
    return Protocol::kKafka;
  }
  if (LooksLikePostgresReply(bytes) && context.client != from) {
    SetClient(OtherEnd(from), context);
    return Protocol::kPostgres;
  }
  if (context.client != kNoEnd) {
    if (OnPortOf(Protocol::kRedis, context) &&
        (context.client == from ? bytes[0] >= 'A' : LooksLikeRedisReply(bytes)))
      return Protocol::kRedis;
    if (OnPortOf(Protocol::kMysql, context) && context.client == from &&
        LooksLikeMysqlCommand(bytes))
      return Protocol::kMysql;
  }
  // In the middle of a connection, or a server that was quicker than the client's preface.
  const bool elsewhere = OnPortOf(Protocol::kKafka, context) ||
                         OnPortOf(Protocol::kPostgres, context) ||
                         OnPortOf(Protocol::kMysql, context) || OnPortOf(Protocol::kDns, context);
  if (!elsewhere && LooksLikeHttp2Frames(bytes) &&
      (!context.from_start[from] || Read8(bytes, 3) == 4))
    return Protocol::kHttp2;
  return Protocol::kBlind;
}

}  // namespace

Protocol DetectProtocol(End from, std::string_view bytes, DetectionEffort effort,
                        DialogueContext& context) {
  if (bytes.empty()) return Protocol::kUndecided;
  const bool wait = effort == DetectionEffort::kMayWait;
  if (wait && bytes.size() < kHttp2Preface.size() && IsPrefix(bytes, kHttp2Preface))
    return Protocol::kUndecided;
  const Protocol sure = DetectSurely(from, bytes, context);
  if (sure != Protocol::kUndecided) return sure;
  if (wait &&
      (CouldBecomeHttp1(bytes) || CouldBecomeRedis(bytes) || CouldBecomeBinary(bytes, context)))
    return Protocol::kUndecided;
  return DetectByPort(from, bytes, context);
}

End ServerByPorts(uint16_t port0, uint16_t port1) {
  const auto rank = [](uint16_t port) {
    if (IsWellKnown(port)) return 0;
    if (port <= kLastPrivileged) return 1;
    return port < kFirstEphemeral ? 2 : 3;
  };
  if (rank(port0) == rank(port1)) return kNoEnd;
  return rank(port0) < rank(port1) ? 0 : 1;
}

}  // namespace wf::pcap
