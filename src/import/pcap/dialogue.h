// Dialogue: the two byte streams of one connection, read as messages of one protocol.
//
// Reassembly hands over bytes in order, as views of the captured packets; a protocol reads them unit by unit (a header
// block, a frame's head), passes over bodies by their length without looking, and only the beginning of a unit that is
// still incomplete is copied. Bytes that were not captured are told by Gap: inside a body nothing is lost by them;
// elsewhere the protocol gives up its place and looks for the beginning of a message at the next packet.
//
// The sequence number of a request's first byte is its exchange's id: the same at every place that captures the
// connection, so that a message captured twice, in two files, is known as one.
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

using End = uint8_t;  // of a connection: 0 or 1. Bytes are said to be of the end that sent them.
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
  bool matched = true;  // false: a return whose call is not known; `id` is its own
  Protocol protocol = Protocol::kBlind;
  uint32_t connection = 0;
  uint32_t id = 0;
  Nanos time_ns = 0;
  int64_t bytes = -1;  // -1: its end was not seen when it was told
};

// What a dialogue knows of its connection, and where its messages go.
struct DialogueContext {
  std::vector<WireMessage>* out = nullptr;
  CaptureCounts* counts = nullptr;
  uint32_t connection = 0;
  End client = kNoEnd;                  // who opened it; a dialogue that finds out sets it
  bool client_guessed = false;          // by the ports: contents know better
  bool from_start[2] = {false, false};  // the end's first byte was captured
  uint16_t ports[2] = {0, 0};
  // Of a capture that shows only what this end sends: the sequence number of the other's first byte that its latest data
  // answers, by acknowledgements. Another file may hold the other half; the ids then agree.
  bool one_way[2] = {false, false};
  uint32_t answers_from[2] = {0, 0};
};

// A message that is still not complete after this long is told without its size, so that lines come no later than the
// default of --reorder (10 s) allows; so is a turn of a dialogue told by direction changes.
constexpr Nanos kDialoguePatience = 4 * kSecond;

class Dialogue {
 public:
  Dialogue(DialogueContext& context, Protocol protocol) : context_(context), protocol_(protocol) {}
  virtual ~Dialogue() = default;
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;

  // The next bytes that `from` sent; `sequence` is the first one's. Returns how many were read: fewer than all only when
  // over() says that the connection goes on in another protocol.
  size_t Data(End from, std::string_view bytes, Nanos time_ns, uint32_t sequence);
  // The next `bytes` were sent but not captured.
  void Gap(End from, uint32_t bytes);
  // `from` sends no more.
  virtual void Closed(End) {}
  // A request began kDialoguePatience ago and has not ended: tells of it without its size.
  virtual void TellOpenCalls(Nanos) {}
  // Nothing was heard for a while.
  virtual void Quiet() {}
  // Nothing more comes of either.
  virtual void Finish() { Quiet(); }

  // When the oldest request began of which nobody was told.
  Nanos untold_since() const { return untold_since_; }
  Protocol protocol() const { return protocol_; }
  Protocol successor() const { return successor_; }  // once over(); kUndecided: look what it is
  bool over() const { return over_; }
  // Bytes that were held back, for the successor.
  std::string TakeHeld(End end) { return std::move(streams_[end].held); }
  uint32_t UnreadSequence(End end) const { return streams_[end].sequence; }
  Nanos HeldTime(End end) const { return streams_[end].held_time; }
  // Gives up the beginnings of units that are held.
  void DropHeld();
  size_t HeldBytes() const { return streams_[0].held.size() + streams_[1].held.size(); }

 protected:
  // Reads one unit at the beginning of `bytes`, or a part that can be told apart: returns its length, 0 if more is
  // needed. It may call Skip for what follows.
  virtual size_t Parse(End from, std::string_view bytes) = 0;
  // What Skip passed over is through.
  virtual void Skipped(End) {}
  // The place in `from`'s stream is lost.
  virtual void Lost(End from) = 0;
  // `from` said something that was not captured, beyond what was passed over anyway.
  virtual void Missed(End) {}
  // The unit that begins with these bytes, as Parse has seen them, will not be whole: the rest is lost.
  virtual void Broken(End, std::string_view) {}
  // Behind a loss: does a message begin here? Called with what one packet brought.
  virtual bool StartsHere(End from, std::string_view bytes) = 0;
  // Behind a loss: bytes that are part of something unknown.
  virtual void Stray(End, size_t) {}

  void Skip(End from, uint64_t bytes) { streams_[from].skip = bytes; }
  bool Skipping(End from) const { return streams_[from].skip != 0; }
  // Of the first byte that Parse was given.
  Nanos FirstTime(End from) const { return streams_[from].first_time; }
  uint32_t FirstSequence(End from) const { return streams_[from].sequence; }
  // Of the newest byte.
  Nanos LastTime(End from) const { return streams_[from].last_time; }
  // The bytes make no sense: search for the next message.
  void LoseWay(End from);
  // From the next unread byte on, the connection speaks something else.
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
  // A return to a call that nobody saw.
  void EmitStrayReturn(uint32_t id, Nanos time_ns, int64_t bytes);
  void EmitMessage(End from, uint32_t id, Nanos time_ns, int64_t bytes) {
    ++context_.counts->messages;
    Emit(MessageKind::kMessage, from, id, time_ns, bytes);
  }
  static constexpr Nanos kNothingUntold = std::numeric_limits<Nanos>::max();
  void set_untold_since(Nanos time_ns) { untold_since_ = time_ns; }
  // Told without a call, but with the id that the call has where it was captured.
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

// Of any protocol but kUndecided.
std::unique_ptr<Dialogue> MakeDialogue(Protocol protocol, DialogueContext& context);

}  // namespace wf::pcap
