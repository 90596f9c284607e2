#include "import/pcap/postgres_dialogue.h"

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

constexpr uint32_t kSslRequest = 80877103, kGssRequest = 80877104, kCancelRequest = 80877102;
constexpr uint32_t kVersion = 3;                  // its first half
constexpr uint32_t kLongestStartup = 10000;       // MAX_STARTUP_PACKET_LENGTH
constexpr uint32_t kLongestMessage = 0x40000000;  // PQ_LARGE_MESSAGE_LIMIT
constexpr std::string_view kClientTypes = "QPBEDCSHXFdcfp";
constexpr std::string_view kServerTypes = "RSKZTDC123ntIENAGHWsVvdc";
constexpr size_t kPostgresHead = 5;

bool KnownType(std::string_view types, char type) {
  return type != 0 && types.find(type) != std::string_view::npos;
}

// Do typed messages follow each other from here to the end of what is there? `last`: type of the last one seen whole.
bool Chains(std::string_view bytes, std::string_view types, char& last) {
  bool any = false;
  while (bytes.size() >= kPostgresHead) {
    if (!KnownType(types, bytes[0])) return false;
    const uint32_t length = Read32(bytes, 1);
    if (length < 4 || length > kLongestMessage) return false;
    any = true;
    if (bytes.size() < length + size_t{1}) return true;
    last = bytes[0];
    bytes.remove_prefix(length + size_t{1});
  }
  return any && (bytes.empty() || KnownType(types, bytes[0]));
}

}  // namespace

bool LooksLikePostgresStartup(std::string_view bytes) {
  if (bytes.size() < 8) return false;
  const uint32_t length = Read32(bytes, 0), code = Read32(bytes, 4);
  if (code == kSslRequest || code == kGssRequest) return length == 8;
  if (code == kCancelRequest) return length >= 16 && length <= 256;
  // A version, behind which the first parameter's name stands: a Kafka request for metadata has its correlation id there.
  return code >> 16 == kVersion && length > 8 && length <= kLongestStartup && bytes.size() > 8 &&
         Read8(bytes, 8) > ' ';
}

bool LooksLikePostgresQuery(std::string_view bytes) {
  char last = 0;
  if (!Chains(bytes, kClientTypes, last)) return false;
  // A query's text ends with its message; a batch of the extended protocol ends with Sync.
  const uint32_t length = Read32(bytes, 1);
  if (bytes[0] == 'Q' && bytes.size() >= length + size_t{1})
    return length > 5 && bytes[length] == 0;
  return (bytes[0] == 'P' || bytes[0] == 'B') && last == 'S';
}

bool LooksLikePostgresReply(std::string_view bytes) {
  char last = 0;
  return Chains(bytes, kServerTypes, last) && last == 'Z' && bytes.size() >= 6 &&
         Read32(bytes, bytes.size() - 5) == 5;
}

PostgresDialogue::PostgresDialogue(DialogueContext& context)
    : OrderedDialogue(context, Protocol::kPostgres),
      startup_(context.client == kNoEnd || context.from_start[context.client]) {}

bool PostgresDialogue::StartsHere(End from, std::string_view bytes) {
  char last = 0;
  return RoleKnown() && Chains(bytes, IsClient(from) ? kClientTypes : kServerTypes, last);
}

void PostgresDialogue::Lost(End from) {
  types_[from] = 0;
  if (RoleKnown() && IsClient(from)) startup_ = false;
  if (RoleKnown() && !IsClient(from)) one_byte_ = false;
  OrderedDialogue::Lost(from);
}

size_t PostgresDialogue::Parse(End from, std::string_view bytes) {
  if (!RoleKnown()) {
    if (LooksLikePostgresStartup(bytes) || LooksLikePostgresQuery(bytes)) context().client = from;
    if (LooksLikePostgresReply(bytes)) context().client = OtherEnd(from);
    if (!RoleKnown()) {
      LoseWay(from);
      return bytes.size();
    }
    startup_ = LooksLikePostgresStartup(bytes);
  }
  if (!IsClient(from)) return ParseServer(bytes);
  if (!startup_) return ParseClient(bytes);
  if (bytes.size() < 8 || (bytes.size() == 8 && Read32(bytes, 4) >> 16 == kVersion)) return 0;
  if (LooksLikePostgresStartup(bytes)) return ParseStartup(bytes);
  startup_ = false;
  return ParseClient(bytes);
}

size_t PostgresDialogue::ParseStartup(std::string_view bytes) {
  const uint32_t length = Read32(bytes, 0), code = Read32(bytes, 4);
  types_[context().client] = 0;
  if (code == kCancelRequest) {
    ++counts().control;
  } else {
    RequestBegins();
    request_.bytes = length;
    types_[context().client] = 's';
    one_byte_ = code == kSslRequest || code == kGssRequest;
    if (!one_byte_) startup_ = false;
  }
  if (length == 8) {
    ClientMessageEnds();
  } else {
    Skip(context().client, length - 8);
  }
  return 8;
}

size_t PostgresDialogue::ParseClient(std::string_view bytes) {
  const End client = context().client;
  if (bytes.size() < kPostgresHead) return 0;
  const char type = bytes[0];
  const uint32_t length = Read32(bytes, 1);
  if (!KnownType(kClientTypes, type) || length < 4 || length > kLongestMessage) {
    LoseWay(client);
    return bytes.size();
  }
  types_[client] = type;
  // Data of a COPY and passwords belong to the exchange that requested them.
  const bool answers = type == 'd' || type == 'c' || type == 'f' || type == 'p';
  if (!answers && type != 'X' && !request_.open) RequestBegins();
  if (request_.open) request_.bytes += length + 1;
  if (length == 4) {
    ClientMessageEnds();
  } else {
    Skip(client, length - 4);
  }
  return kPostgresHead;
}

void PostgresDialogue::ClientMessageEnds() {
  switch (types_[context().client]) {
    case 's':
    case 'Q':
    case 'F':
    case 'S':
      RequestEnds();
      break;
    case 'X':
      ++counts().control;
      break;
    default:
      break;
  }
}

size_t PostgresDialogue::ParseServer(std::string_view bytes) {
  const End server = OtherEnd(context().client);
  if (one_byte_) {
    one_byte_ = false;
    ReplyBegins();
    reply_.bytes = 1;
    ReplyEnds();
    // S: TLS follows, G: GSSAPI's own records.
    if (bytes[0] == 'S') Become(Protocol::kTls);
    if (bytes[0] == 'G') Become(Protocol::kBlind);
    return 1;
  }
  if (bytes.size() < kPostgresHead) return 0;
  const uint32_t length = Read32(bytes, 1);
  if (!KnownType(kServerTypes, bytes[0]) || length < 4 || length > kLongestMessage) {
    LoseWay(server);
    return bytes.size();
  }
  types_[server] = bytes[0];
  start_ = FirstTime(server);
  sequence_ = FirstSequence(server);
  message_bytes_ = length + 1;
  // Notifications, notices and changed settings come at any time.
  const bool unasked =
      !Waiting() && !reply_.open && (bytes[0] == 'A' || bytes[0] == 'N' || bytes[0] == 'S');
  if (!unasked) {
    if (!reply_.open) ReplyBegins();
    reply_.bytes += length + 1;
  }
  if (length == 4) {
    ServerMessageEnds();
  } else {
    Skip(server, length - 4);
  }
  return kPostgresHead;
}

void PostgresDialogue::ServerMessageEnds() {
  const char type = types_[OtherEnd(context().client)];
  if (type == 'Z') {
    ReplyEnds();
  } else if (!reply_.open && type == 'A') {
    EmitMessage(OtherEnd(context().client), sequence_, start_, message_bytes_);
  } else if (!reply_.open) {
    ++counts().control;
  }
}

void PostgresDialogue::Skipped(End from) {
  if (IsClient(from)) {
    ClientMessageEnds();
  } else {
    ServerMessageEnds();
  }
}

}  // namespace wf::pcap
