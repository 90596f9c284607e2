#include "import/pcap/turn_dialogue.h"

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

constexpr uint8_t kChangeCipherSpec = 20, kHandshake = 22, kApplicationData = 23, kHeartbeat = 24;
constexpr size_t kRecordHead = 5;
constexpr size_t kLongestRecord = (16 << 10) + 2048;  // RFC 5246 §6.2.3
constexpr size_t kEncryptedAlert = 2 + 1 + 16;
constexpr uint8_t kServerHello = 2;
constexpr size_t kMostHello = 512;  // of a ServerHello; only its extensions are long, and few

// Does this ServerHello choose TLS 1.3? Its supported_versions extension (43) says so.
bool ChoosesTls13(std::string_view hello) {
  // type 1, length 3, version 2, random 32, session id, cipher 2, compression 1, extensions 2 + …
  size_t at = 38;
  if (hello.size() <= at || Read8(hello, 0) != kServerHello) return false;
  at += 1u + Read8(hello, at) + 3;
  if (hello.size() < at + 2) return false;
  at += 2;
  while (at + 4 <= hello.size()) {
    const uint16_t type = Read16(hello, at), size = Read16(hello, at + 2);
    if (type == 43) return at + 6 <= hello.size() && Read16(hello, at + 4) == 0x0304;
    at += 4u + size;
  }
  return false;
}

}  // namespace

bool LooksLikeTls(std::string_view bytes) {
  if (bytes.size() < kRecordHead) return false;
  const uint8_t type = Read8(bytes, 0);
  const uint16_t length = Read16(bytes, 3);
  return type >= kChangeCipherSpec && type <= kHeartbeat && Read8(bytes, 1) == 3 &&
         Read8(bytes, 2) <= 4 && length > 0 && length <= kLongestRecord;
}

void TurnDialogue::EndTurn() {
  if (turn_.speaker == kNoEnd) return;
  if (turn_.missed) {
    // Nothing to emit: its time is unknown.
  } else if (!RoleKnown()) {
    if (!turn_.told) EmitMessage(turn_.speaker, turn_.id, turn_.start, turn_.bytes);
  } else if (IsClient(turn_.speaker)) {
    if (!turn_.told) EmitCall(turn_.id, turn_.start, turn_.bytes);
  } else if (call_open_) {
    EmitReturn(call_id_, LastTime(turn_.speaker), turn_.bytes);
    call_open_ = false;
  } else if (call_missed_) {
    EmitStrayReturn(turn_.id, LastTime(turn_.speaker), turn_.bytes);
    call_missed_ = false;
  } else {
    EmitMessage(turn_.speaker, turn_.id, turn_.start, turn_.bytes);
  }
  set_untold_since(kNothingUntold);
  turn_ = {};
}

// A turn of which nothing was captured is a turn all the same.
void TurnDialogue::Missed(End from) {
  if (turn_.speaker == from) return;
  EndTurn();
  turn_.speaker = from;
  turn_.missed = true;
  if (RoleKnown() && IsClient(from)) {
    call_open_ = false;
    call_missed_ = true;
  }
}

void TurnDialogue::Say(End from, uint64_t bytes, Nanos first, uint32_t sequence) {
  if (turn_.speaker != from || turn_.missed) {
    if (turn_.speaker != from) EndTurn();
    turn_ = {};
    turn_.speaker = from;
    turn_.id = sequence;
    turn_.start = first;
    if (RoleKnown() && IsClient(from)) {
      call_open_ = true;
      call_missed_ = false;
      call_id_ = sequence;
    }
    if (!RoleKnown() || IsClient(from)) set_untold_since(first);
  }
  turn_.bytes += static_cast<int64_t>(bytes);
}

size_t TurnDialogue::Parse(End from, std::string_view bytes) {
  Say(from, bytes.size(), FirstTime(from), FirstSequence(from));
  return bytes.size();
}

void TurnDialogue::TellOpenCalls(Nanos) {
  set_untold_since(kNothingUntold);
  if (turn_.speaker == kNoEnd || turn_.told || turn_.missed) return;
  turn_.told = true;
  if (!RoleKnown()) {
    EmitMessage(turn_.speaker, turn_.id, turn_.start, -1);
  } else if (IsClient(turn_.speaker)) {
    EmitCall(turn_.id, turn_.start, -1);
  }
}

void TurnDialogue::Quiet() {
  // The client's turn continues with its next bytes; the server's counts as over.
  if (turn_.speaker != kNoEnd && RoleKnown() && IsClient(turn_.speaker)) {
    TellOpenCalls(0);
  } else {
    EndTurn();
  }
}

void TurnDialogue::Closed(End from) {
  if (turn_.speaker == from) EndTurn();
}

bool TlsDialogue::StartsHere(End, std::string_view bytes) { return LooksLikeTls(bytes); }

size_t TlsDialogue::Parse(End from, std::string_view bytes) {
  if (bytes.size() < kRecordHead) return 0;
  if (!LooksLikeTls(bytes)) {
    LoseWay(from);
    return bytes.size();
  }
  const uint8_t type = Read8(bytes, 0);
  const size_t length = Read16(bytes, 3);
  if (type == kHandshake) {
    handshake_ = true;
    if (!version_1_3_ && length > 38) {
      const size_t looked = length < kMostHello ? length : kMostHello;
      if (bytes.size() < kRecordHead + looked) return 0;
      version_1_3_ = ChoosesTls13(bytes.substr(kRecordHead, looked));
    }
  }
  Skip(from, length);
  if (type != kApplicationData) {
    ++counts().control;
    return kRecordHead;
  }
  const bool hidden_handshake = version_1_3_ && handshake_ && RoleKnown();
  if (hidden_handshake && IsClient(from) && !finished_) {
    finished_ = true;
    ++counts().control;
    return kRecordHead;
  }
  if (hidden_handshake && !IsClient(from) && !asked_) {
    ++counts().control;
    return kRecordHead;
  }
  // A farewell: an alert of two bytes, its type and the tag. Data as short is not worth a record.
  if (version_1_3_ && length == kEncryptedAlert) {
    ++counts().control;
    return kRecordHead;
  }
  if (IsClient(from)) asked_ = true;
  Say(from, kRecordHead + length, FirstTime(from), FirstSequence(from));
  return kRecordHead;
}

}  // namespace wf::pcap
