// Conversation: turns a connection's ordered bytes into messages. It detects the protocol, lets the
// protocol's dialogue read, and switches dialogues when the connection does (upgrades, tunnels, a request for
// encryption).
//
// Bytes before the protocol is known are kept, within bounds. If the beginning of a connection was not
// captured, its first packets may be the middle of anything, so several are tried before messages are
// inferred from changes of direction.
//
// Thread safety: none. The context must outlive it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "import/pcap/dialogue.h"

namespace wf::pcap {

class Conversation {
 public:
  explicit Conversation(DialogueContext& context) : context_(context) {}

  void Data(End from, std::string_view bytes, Nanos time_ns, uint32_t sequence) {
    if (dialogue_ == nullptr) {
      Undecided(from, bytes, time_ns, sequence);
      return;
    }
    const size_t used = dialogue_->Data(from, bytes, time_ns, sequence);
    if (dialogue_->over())
      Change(from, bytes.substr(used), time_ns, sequence + static_cast<uint32_t>(used));
  }
  void Gap(End from, uint32_t bytes);
  void Closed(End from);
  void Quiet();
  void Finish();
  // Infers messages from changes of direction, whatever the bytes are.
  void StayBlind();

  // When the oldest request that was not yet emitted began.
  Nanos untold_since() const {
    return dialogue_ != nullptr ? dialogue_->untold_since() : std::numeric_limits<Nanos>::max();
  }
  void TellOpenCalls(Nanos now) { dialogue_->TellOpenCalls(now); }
  size_t held_bytes() const { return kept_ + (dialogue_ != nullptr ? dialogue_->HeldBytes() : 0); }
  // Drops the held parts of incomplete messages.
  void DropHeld();
  Protocol protocol() const {
    return dialogue_ != nullptr ? dialogue_->protocol() : Protocol::kUndecided;
  }

 private:
  struct Piece {
    End from;
    std::string bytes;
    Nanos time_ns;
    uint32_t sequence;
    uint32_t gap;  // bytes lost before it
  };
  void Undecided(End from, std::string_view bytes, Nanos time_ns, uint32_t sequence);
  void Change(End from, std::string_view rest, Nanos time_ns, uint32_t sequence);
  void Decide(Protocol protocol);
  void Settle(Protocol otherwise = Protocol::kBlind);
  void Replay();

  DialogueContext& context_;
  std::unique_ptr<Dialogue> dialogue_;
  std::vector<Piece> pieces_;
  size_t kept_ = 0;  // bytes in pieces_
  uint32_t gap_[2] = {0, 0};
};

}  // namespace wf::pcap
