// TurnDialogue: protocols whose messages we cannot read, unknown or encrypted. What one end sends until the
// other sends is one message; the client's messages are calls, the server's are returns, and a server that
// sends first sends a greeting. If it is unknown which end is the client, every turn is a MSG.
//
// For TLS the heads of the records are read, which are not encrypted: only records of application data count,
// except those of the TLS 1.3 handshake that look like them (RFC 8446 §5.2).
#pragma once

#include "import/pcap/dialogue.h"

namespace wf::pcap {

class TurnDialogue : public Dialogue {
 public:
  explicit TurnDialogue(DialogueContext& context) : TurnDialogue(context, Protocol::kBlind) {}
  void Closed(End from) override;
  void TellOpenCalls(Nanos now) override;
  void Quiet() override;
  void Finish() override { EndTurn(); }

 protected:
  TurnDialogue(DialogueContext& context, Protocol protocol) : Dialogue(context, protocol) {}
  size_t Parse(End from, std::string_view bytes) override;
  void Lost(End) override {}
  void Missed(End from) override;
  bool StartsHere(End, std::string_view) override { return true; }
  // `from` sends `bytes` more; `first` and `sequence` belong to the first of them.
  void Say(End from, uint64_t bytes, Nanos first, uint32_t sequence);
  void EndTurn();

 private:
  struct Turn {
    End speaker = kNoEnd;
    bool told = false;
    bool missed = false;  // it began with bytes that were not captured, and nothing else came
    uint32_t id = 0;
    Nanos start = 0;
    int64_t bytes = 0;
  };
  Turn turn_;
  bool call_open_ = false;    // the client has sent a request without an answer yet
  bool call_missed_ = false;  // the client has sent a request that was not captured
  uint32_t call_id_ = 0;
};

class TlsDialogue : public TurnDialogue {
 public:
  explicit TlsDialogue(DialogueContext& context) : TurnDialogue(context, Protocol::kTls) {}

 protected:
  size_t Parse(End from, std::string_view bytes) override;
  bool StartsHere(End from, std::string_view bytes) override;

 private:
  bool handshake_ = false;    // its beginning was seen
  bool version_1_3_ = false;  // as the server chose
  bool finished_ = false;     // the client's handshake is complete
  bool asked_ = false;        // the client has sent data of its own
};

// A record's head: type, version, length.
bool LooksLikeTls(std::string_view bytes);

}  // namespace wf::pcap
