// Dialogue: the two byte streams of one connection, read as messages of one protocol.
//
// Reassembly passes on bytes in order, as views of the captured packets. A protocol reads them unit by unit
// (a header block, a frame's head) and skips bodies by their length; only the beginning of an incomplete unit
// is copied. Gap reports bytes that were not captured: inside a body they do not matter; elsewhere the
// protocol loses its place and searches for the beginning of a message at the next packet.
//
// The sequence number of a request's first byte is its exchange's id: the same wherever the connection is
// captured, so that a message in two files is recognised as one.
//
// Thread safety: none. The context must outlive the dialogue.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "import/pcap/capture_counts.h"
#include "model/sighting.h"

namespace wf::pcap {

using End = uint8_t;  // an end of a connection: 0 or 1. Bytes belong to the end that sent them.
constexpr End kNoEnd = 2;
inline End OtherEnd(End end) { return end ^ 1; }

enum class Protocol : uint8_t {
  kUndecided,
  kBlind,
  kTls,
  kHttp1,
  kHttp2,
  kRedis,
  kPostgres,
  kMysql,
  kKafka,
  kDns,
};
std::string_view ProtocolName(Protocol protocol);  // "http", "redis" ...

// One message of a connection.
struct WireMessage {
  MessageKind kind = MessageKind::kMessage;
  End from = 0;
  bool matched = true;  // false: a return without a known call; `id` is its own
  Protocol protocol = Protocol::kBlind;
  uint32_t connection = 0;
  uint32_t id = 0;
  Nanos time_ns = 0;
  int64_t bytes = -1;  // -1: its end was not seen when it was emitted
};

// What a dialogue knows about its connection, and where its messages go.
struct DialogueContext {
  std::vector<WireMessage>* out = nullptr;
  CaptureCounts* counts = nullptr;
  uint32_t connection = 0;
  End client = kNoEnd;                  // the end that opened it; a dialogue that finds out sets it
  bool client_guessed = false;          // from the ports; the contents are more reliable
  bool from_start[2] = {false, false};  // the end's first byte was captured
  uint16_t ports[2] = {0, 0};
  // For a capture that shows only what this end sends: the sequence number of the other end's first byte that
  // its latest data answers, known from acknowledgements. Another file may hold the other half; then the ids
  // agree.
  bool one_way[2] = {false, false};
  uint32_t answers_from[2] = {0, 0};
};

// A message that is incomplete after this time is emitted without its size, so that lines are within the
// default of --reorder (10 s). The same holds for a turn that is inferred from changes of direction.
constexpr Nanos kDialoguePatience = 4 * kSecond;

class Dialogue {
 public:
  Dialogue(DialogueContext& context, Protocol protocol) : context_(context), protocol_(protocol) {}
  virtual ~Dialogue() = default;
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;

  // The next bytes that `from` sent; `sequence` is the first one's. Returns how many were read: fewer than
  // all only if over(), when the connection continues in another protocol.
  size_t Data(End from, std::string_view bytes, Nanos time_ns, uint32_t sequence);
  // The next `bytes` were sent but not captured.
  void Gap(End from, uint32_t bytes);
  // `from` sends no more.
  virtual void Closed(End) {}
  // A request began kDialoguePatience ago and has not ended: emits it without its size.
  virtual void TellOpenCalls(Nanos) {}
  // No packets came for a while.
  virtual void Quiet() {}
  // Neither end sends any more.
  virtual void Finish() { Quiet(); }

  // When the oldest request that was not yet emitted began.
  Nanos untold_since() const { return untold_since_; }
  Protocol protocol() const { return protocol_; }
  Protocol successor() const { return successor_; }  // once over(); kUndecided: to be detected
  bool over() const { return over_; }
  // Bytes that were held back, for the successor.
  std::string TakeHeld(End end) { return std::move(streams_[end].held); }
  uint32_t UnreadSequence(End end) const { return streams_[end].sequence; }
  Nanos HeldTime(End end) const { return streams_[end].held_time; }
  // Drops the held beginnings of units.
  void DropHeld();
  size_t HeldBytes() const { return streams_[0].held.size() + streams_[1].held.size(); }

 protected:
  // Reads one unit, or a separable part of one, at the beginning of `bytes`: returns its length, 0 if more
  // bytes are needed. It may call Skip for what follows.
  virtual size_t Parse(End from, std::string_view bytes) = 0;
  // The bytes of Skip have passed.
  virtual void Skipped(End) {}
  // The position in `from`'s stream is lost.
  virtual void Lost(End from) = 0;
  // `from` sent bytes that were not captured, beyond those that were skipped anyway.
  virtual void Missed(End) {}
  // The unit that begins with these bytes, which Parse has seen, stays incomplete: the rest is lost.
  virtual void Broken(End, std::string_view) {}
  // After a loss: whether a message begins here. Called with the bytes of one packet.
  virtual bool StartsHere(End from, std::string_view bytes) = 0;
  // After a loss: bytes that belong to something unknown.
  virtual void Stray(End, size_t) {}

  void Skip(End from, uint64_t bytes) { streams_[from].skip = bytes; }
  bool Skipping(End from) const { return streams_[from].skip != 0; }
  // Time of the first byte that Parse was given.
  Nanos FirstTime(End from) const { return streams_[from].first_time; }
  uint32_t FirstSequence(End from) const { return streams_[from].sequence; }
  // Time of the newest byte.
  Nanos LastTime(End from) const { return streams_[from].last_time; }
  // The bytes are invalid: search for the next message.
  void LoseWay(End from);
  // From the next unread byte on, the connection speaks another protocol.
  void Become(Protocol protocol) {
    successor_ = protocol;
    over_ = true;
  }

  bool RoleKnown() const { return context_.client != kNoEnd; }
  bool IsClient(End end) const { return context_.client == end; }
  void EmitCall(uint32_t id, Nanos time_ns, int64_t bytes) {
    ++context_.counts->calls;
    Emit(MessageKind::kCall, context_.client, id, time_ns, bytes);
  }
  void EmitReturn(uint32_t id, Nanos time_ns, int64_t bytes) {
    ++context_.counts->returns;
    Emit(MessageKind::kReturn, OtherEnd(context_.client), id, time_ns, bytes);
  }
  // A return whose call was not seen.
  void EmitStrayReturn(uint32_t id, Nanos time_ns, int64_t bytes);
  void EmitMessage(End from, uint32_t id, Nanos time_ns, int64_t bytes) {
    ++context_.counts->messages;
    Emit(MessageKind::kMessage, from, id, time_ns, bytes);
  }
  static constexpr Nanos kNothingUntold = std::numeric_limits<Nanos>::max();
  void set_untold_since(Nanos time_ns) { untold_since_ = time_ns; }
  // Emitted without a call, but with the id that the call has in another capture.
  void EmitHalf(uint32_t id, Nanos time_ns, int64_t bytes) {
    ++counts().unmatched_returns;
    EmitReturn(id, time_ns, bytes);
  }
  CaptureCounts& counts() { return *context_.counts; }
  DialogueContext& context() { return context_; }
  void set_protocol(Protocol protocol) { protocol_ = protocol; }

 private:
  struct Stream {
    std::string held;  // the beginning of a unit
    Nanos held_time = 0, first_time = 0, last_time = 0;
    uint64_t skip = 0;
    uint32_t sequence = 0;  // of the first byte that was not read
    bool lost = false;
  };
  void Emit(MessageKind kind, End from, uint32_t id, Nanos time_ns, int64_t bytes);
  size_t Read(End from, std::string_view bytes, size_t held);

  DialogueContext& context_;
  Protocol protocol_;
  Protocol successor_ = Protocol::kUndecided;
  bool over_ = false;
  End stray_end_ = kNoEnd;
  uint32_t stray_turns_ = 0;
  Nanos untold_since_ = kNothingUntold;
  Stream streams_[2];
};

// For any protocol but kUndecided.
std::unique_ptr<Dialogue> MakeDialogue(Protocol protocol, DialogueContext& context);

}  // namespace wf::pcap
