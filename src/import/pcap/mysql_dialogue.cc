#include "import/pcap/mysql_dialogue.h"

#include <algorithm>

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

constexpr size_t kMysqlHead = 4;
constexpr size_t kLongestMysqlPacket = 0xffffff;  // longer payloads continue in the next packet
constexpr size_t kLooked = 32;                    // of a packet's payload: enough for what decides
constexpr uint8_t kOk = 0x00, kLocalFile = 0xfb, kEof = 0xfe, kError = 0xff;
constexpr uint8_t kQuit = 0x01, kFieldList = 0x04, kStatistics = 0x09, kChangeUser = 0x11,
                  kBinlogDump = 0x12, kTableDump = 0x13, kPrepare = 0x16, kSendLongData = 0x18,
                  kCloseStatement = 0x19, kFetch = 0x1c, kBinlogDumpGtid = 0x1e;
constexpr uint16_t kMoreResults = 0x0008;
constexpr uint32_t kCapabilitySsl = 0x0800;
constexpr uint32_t kCapabilityNoEof = 1 << 8;  // CLIENT_DEPRECATE_EOF, of the upper 16 bits
constexpr uint8_t kMostCommands = 0x20;

size_t LengthAt(std::string_view bytes) {
  return Read8(bytes, 0) | static_cast<size_t>(Read8(bytes, 1)) << 8 |
         static_cast<size_t>(Read8(bytes, 2)) << 16;
}
uint16_t Little16(std::string_view bytes, size_t at) {
  return static_cast<uint16_t>(Read8(bytes, at) | Read8(bytes, at + 1) << 8);
}

// A length-encoded number; `at` then stands behind it. False: not there.
bool EncodedNumber(std::string_view bytes, size_t& at, uint64_t& value) {
  if (at >= bytes.size()) return false;
  const uint8_t first = Read8(bytes, at++);
  const size_t size = first < 0xfb    ? 0
                      : first == 0xfc ? 2
                      : first == 0xfd ? 3
                      : first == 0xfe ? 8
                                      : 9;
  if (size == 9 || at + size > bytes.size()) return false;
  value = first;
  if (size == 0) return true;
  value = 0;
  for (size_t i = 0; i < size; ++i) value |= static_cast<uint64_t>(Read8(bytes, at + i)) << (8 * i);
  at += size;
  return true;
}

// The status of an OK packet: behind its header, affected rows and the last id.
uint16_t StatusOfOk(std::string_view body) {
  size_t at = 1;
  uint64_t number = 0;
  if (!EncodedNumber(body, at, number) || !EncodedNumber(body, at, number) || at + 2 > body.size())
    return 0;
  return Little16(body, at);
}

}  // namespace

bool LooksLikeMysqlGreeting(std::string_view bytes) {
  // Protocol 10, and a version that begins with a digit and ends.
  return bytes.size() >= 12 && Read8(bytes, 3) == 0 && Read8(bytes, 4) == 10 && bytes[5] >= '0' &&
         bytes[5] <= '9' && LengthAt(bytes) >= 30 && LengthAt(bytes) < 1024 &&
         bytes.substr(5, 64).find('\0') != std::string_view::npos;
}

bool LooksLikeMysqlCommand(std::string_view bytes) {
  return bytes.size() > kMysqlHead && Read8(bytes, 3) == 0 && Read8(bytes, 4) < kMostCommands &&
         LengthAt(bytes) > 0 &&
         (LengthAt(bytes) + kMysqlHead == bytes.size() ||
          (LengthAt(bytes) + kMysqlHead > bytes.size() && bytes.size() > 500));
}

MysqlDialogue::MysqlDialogue(DialogueContext& context)
    : OrderedDialogue(context, Protocol::kMysql),
      awaiting_(context.client != kNoEnd && context.from_start[OtherEnd(context.client)]
                    ? Awaiting::kGreeting
                    : Awaiting::kNothing) {}

bool MysqlDialogue::StartsHere(End from, std::string_view bytes) {
  if (!RoleKnown()) return false;
  // Commands are numbered 0, what belongs to an exchange under way is not.
  if (IsClient(from))
    return bytes.size() > kMysqlHead && Read8(bytes, 3) == 0 && Read8(bytes, 4) < kMostCommands &&
           LengthAt(bytes) > 0 && LengthAt(bytes) + kMysqlHead >= bytes.size();
  // A reply's first packet follows the command's; it is short, and the next one follows it.
  if (!Waiting() || reply_.open || bytes.size() <= kMysqlHead || Read8(bytes, 3) != 1) return false;
  const size_t size = LengthAt(bytes) + kMysqlHead;
  return size > kMysqlHead && size <= bytes.size() &&
         (bytes.size() < size + kMysqlHead || Read8(bytes, size + 3) == 2);
}

void MysqlDialogue::Lost(End from) {
  continues_[from] = false;
  if (RoleKnown()) {
    (IsClient(from) ? request_through_ : reply_through_) = false;
    if (!IsClient(from) && awaiting_ != Awaiting::kNothing) awaiting_ = Awaiting::kFirst;
  }
  OrderedDialogue::Lost(from);
}

size_t MysqlDialogue::Parse(End from, std::string_view bytes) {
  if (!RoleKnown()) {
    if (LooksLikeMysqlGreeting(bytes)) {
      context().client = OtherEnd(from);
      awaiting_ = Awaiting::kGreeting;
    } else if (LooksLikeMysqlCommand(bytes)) {
      context().client = from;
    } else {
      LoseWay(from);
      return bytes.size();
    }
  }
  if (bytes.size() < kMysqlHead) return 0;
  const size_t length = LengthAt(bytes);
  const size_t looked = kMysqlHead + std::min(length, kLooked);
  if (bytes.size() < looked) return 0;
  const bool goes_on = continues_[from];
  continues_[from] = length == kLongestMysqlPacket;
  const std::string_view packet = bytes.substr(0, looked);
  if (IsClient(from)) {
    if (goes_on) {
      request_.bytes += static_cast<int64_t>(length + kMysqlHead);
      request_through_ = !continues_[from];
    } else if (ParseClient(packet, length, !continues_[from]) == 0) {
      LoseWay(from);
      return bytes.size();
    }
  } else if (goes_on) {
    if (reply_.open) reply_.bytes += static_cast<int64_t>(length + kMysqlHead);
  } else if (ParseServer(packet, length) == 0) {
    LoseWay(from);
    return bytes.size();
  }
  if (kMysqlHead + length == looked) {
    Skipped(from);
  } else {
    Skip(from, kMysqlHead + length - looked);
  }
  return looked;
}

void MysqlDialogue::Skipped(End from) {
  if (IsClient(from)) {
    if (request_through_ && !continues_[from]) RequestEnds();
    if (to_tls_) Become(Protocol::kTls);
  } else if (reply_through_ && !continues_[from]) {
    reply_through_ = false;
    ReplyEnds();
  }
}

size_t MysqlDialogue::ParseClient(std::string_view packet, size_t length, bool whole) {
  const auto size = static_cast<int64_t>(length + kMysqlHead);
  const uint8_t number = Read8(packet, 3);
  request_through_ = false;
  if (awaiting_ == Awaiting::kGreeting || (awaiting_ == Awaiting::kLogin && !Waiting())) {
    // The answer to the greeting; of 32 bytes with this flag: "let us encrypt".
    if (number == 0 || length < 32) return 0;
    const uint32_t capabilities = Little16(packet, kMysqlHead);
    if (length == 32 && (capabilities & kCapabilitySsl) != 0) {
      ++counts().control;
      to_tls_ = true;
      return 1;
    }
    agreed_ = true;
    with_eof_ = (Little16(packet, kMysqlHead + 2) & kCapabilityNoEof) == 0;
    RequestBegins();
    request_.bytes = size;
    request_through_ = whole;
    awaiting_ = Awaiting::kLogin;
    return 1;
  }
  if (number != 0)
    return 1;  // more authentication, or a file's contents: of the exchange under way
  if (length == 0) return 0;
  const uint8_t command = Read8(packet, kMysqlHead);
  if (command >= kMostCommands) return 0;
  if (command == kQuit || command == kCloseStatement || command == kSendLongData) {
    ++counts().control;  // these have no answer
    return 1;
  }
  RequestBegins(command);
  request_.bytes = size;
  request_through_ = whole;
  if (!reply_.open) Command(command);
  return 1;
}

void MysqlDialogue::Command(uint8_t command) {
  command_ = command;
  switch (command) {
    case kFieldList:
      awaiting_ = Awaiting::kFields;
      break;
    case kStatistics:
      awaiting_ = Awaiting::kOne;
      break;
    case kChangeUser:
      awaiting_ = Awaiting::kLogin;
      break;
    case kBinlogDump:
    case kTableDump:
    case kBinlogDumpGtid:
      awaiting_ = Awaiting::kUntilTurn;
      break;
    case kFetch:
      awaiting_ = Awaiting::kRows;
      break;
    default:
      awaiting_ = Awaiting::kFirst;
  }
}

size_t MysqlDialogue::ParseServer(std::string_view packet, size_t length) {
  const std::string_view body = packet.substr(kMysqlHead);
  if (awaiting_ == Awaiting::kGreeting || awaiting_ == Awaiting::kNothing) {
    // Behind a command that was not captured, all is stray.
    if (awaiting_ == Awaiting::kNothing && !LooksLikeMysqlGreeting(packet)) {
      ++counts().control;
      return 1;
    }
    ++counts().control;
    awaiting_ = Awaiting::kGreeting;
    if (!body.empty() && Read8(body, 0) == kError) awaiting_ = Awaiting::kNothing;
    return 1;
  }
  if (!reply_.open) {
    if (!Waiting()) {
      ++counts().control;
      return 1;
    }
    const Exchange* oldest = Oldest();
    if (awaiting_ != Awaiting::kLogin) Command(static_cast<uint8_t>(oldest->note));
    ReplyBegins();
  }
  reply_.bytes += static_cast<int64_t>(length + kMysqlHead);
  const uint8_t first = body.empty() ? kOk : Read8(body, 0);
  switch (awaiting_) {
    case Awaiting::kLogin:
      reply_through_ = first == kOk || first == kError;
      if (reply_through_) awaiting_ = Awaiting::kFirst;
      break;
    case Awaiting::kFirst:
      FirstOfReply(body, length);
      break;
    case Awaiting::kColumns:
      if (--columns_ == 0) awaiting_ = Awaiting::kAfterColumns;
      break;
    case Awaiting::kAfterColumns:
      awaiting_ = Awaiting::kRows;
      // Exactly five bytes: EOF, before the rows. It may also announce a cursor, whose rows come by
      // COM_STMT_FETCH.
      if (first == kEof && length == 5) {
        constexpr uint16_t kCursorExists = 0x0040;
        if ((Little16(body, 3) & kCursorExists) != 0) reply_through_ = true;
        break;
      }
      EndOfRows(body, length);
      break;
    case Awaiting::kRows:
      EndOfRows(body, length);
      break;
    case Awaiting::kDefinitions:
      if (first == kEof && length == 5) {
        if (ends_ > 0) --ends_;
      } else if (columns_ > 0) {
        --columns_;
      }
      if (columns_ == 0 && ends_ == 0) reply_through_ = true;
      break;
    case Awaiting::kFields:
      reply_through_ = first == kError || (first == kEof && length < 9);
      break;
    case Awaiting::kOne:
      reply_through_ = true;
      break;
    case Awaiting::kUntilTurn:
    case Awaiting::kGreeting:
    case Awaiting::kNothing:
      ReplyLastsUntilTurn();
      break;
  }
  return 1;
}

void MysqlDialogue::FirstOfReply(std::string_view body, size_t length) {
  const uint8_t first = body.empty() ? kOk : Read8(body, 0);
  if (first == kError || first == kEof) {
    reply_through_ = true;
    return;
  }
  if (first == kOk && command_ == kPrepare && length == 12) {
    const uint32_t columns = Little16(body, 5), parameters = Little16(body, 7);
    columns_ = columns + parameters;
    if (columns_ == 0) {
      reply_through_ = true;
      return;
    }
    if (agreed_) {
      awaiting_ = Awaiting::kDefinitions;
      ends_ = with_eof_ ? (columns > 0 ? 1u : 0u) + (parameters > 0 ? 1u : 0u) : 0u;
      return;
    }
    // Whether EOF packets come is unknown beforehand; clients wait for the whole reply.
    awaiting_ = Awaiting::kUntilTurn;
    ReplyLastsUntilTurn();
    return;
  }
  if (first == kOk) {
    if ((StatusOfOk(body) & kMoreResults) == 0) reply_through_ = true;
    return;
  }
  if (first == kLocalFile) return;  // the client sends the file, then comes an OK
  size_t at = 0;
  uint64_t columns = 0;
  if (!EncodedNumber(body, at, columns) || columns == 0) {
    awaiting_ = Awaiting::kUntilTurn;
    ReplyLastsUntilTurn();
    return;
  }
  columns_ = columns;
  awaiting_ = Awaiting::kColumns;
}

// The end of the rows is an EOF packet of five bytes, or an OK packet with the header of one; a row that begins with
// this byte is longer than 16 MB.
void MysqlDialogue::EndOfRows(std::string_view body, size_t length) {
  const uint8_t first = body.empty() ? kOk : Read8(body, 0);
  if (first == kError) {
    reply_through_ = true;
    return;
  }
  if (first != kEof || length == kLongestMysqlPacket) return;
  const uint16_t status = length == 5 ? Little16(body, 3) : StatusOfOk(body);
  if ((status & kMoreResults) != 0) {
    awaiting_ = Awaiting::kFirst;
  } else {
    reply_through_ = true;
  }
}

}  // namespace wf::pcap
