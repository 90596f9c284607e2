#include "import/pcap/conversation.h"

#include "import/pcap/dns_dialogue.h"
#include "import/pcap/http1_dialogue.h"
#include "import/pcap/http2_dialogue.h"
#include "import/pcap/kafka_dialogue.h"
#include "import/pcap/mysql_dialogue.h"
#include "import/pcap/postgres_dialogue.h"
#include "import/pcap/protocol_detector.h"
#include "import/pcap/redis_dialogue.h"
#include "import/pcap/turn_dialogue.h"

namespace wf::pcap {
namespace {

// How much of a connection without a beginning is tried before messages are inferred from changes of
// direction.
constexpr size_t kMostPieces = 24;
constexpr size_t kMostKept = 64 << 10;

int64_t& CountOf(Protocol protocol, CaptureCounts& counts) {
  switch (protocol) {
    case Protocol::kTls:
      return counts.tls;
    case Protocol::kHttp1:
      return counts.http1;
    case Protocol::kHttp2:
      return counts.http2;
    case Protocol::kRedis:
      return counts.redis;
    case Protocol::kPostgres:
      return counts.postgresql;
    case Protocol::kMysql:
      return counts.mysql;
    case Protocol::kKafka:
      return counts.kafka;
    case Protocol::kDns:
      return counts.dns;
    case Protocol::kUndecided:
    case Protocol::kBlind:
      break;
  }
  return counts.unknown;
}

}  // namespace

std::unique_ptr<Dialogue> MakeDialogue(Protocol protocol, DialogueContext& context) {
  switch (protocol) {
    case Protocol::kTls:
      return std::make_unique<TlsDialogue>(context);
    case Protocol::kHttp1:
      return std::make_unique<Http1Dialogue>(context);
    case Protocol::kHttp2:
      return std::make_unique<Http2Dialogue>(context);
    case Protocol::kRedis:
      return std::make_unique<RedisDialogue>(context);
    case Protocol::kPostgres:
      return std::make_unique<PostgresDialogue>(context);
    case Protocol::kMysql:
      return std::make_unique<MysqlDialogue>(context);
    case Protocol::kKafka:
      return std::make_unique<KafkaDialogue>(context);
    case Protocol::kDns:
      return std::make_unique<DnsDialogue>(context);
    case Protocol::kUndecided:
    case Protocol::kBlind:
      break;
  }
  return std::make_unique<TurnDialogue>(context);
}

void Conversation::Decide(Protocol protocol) {
  ++CountOf(protocol, *context_.counts);
  if (protocol == Protocol::kBlind && context_.client == kNoEnd) ++context_.counts->role_unknown;
  dialogue_ = MakeDialogue(protocol, context_);
}

void Conversation::StayBlind() { Decide(Protocol::kBlind); }

void Conversation::Undecided(End from, std::string_view bytes, Nanos time_ns, uint32_t sequence) {
  const bool from_start = context_.from_start[from];
  const bool first = pieces_.empty();
  Protocol found = Protocol::kUndecided;
  if (!first && pieces_.back().from != from && context_.from_start[pieces_.back().from]) {
    // The other end answers: what the first one said is all there is to go by, and what this one says.
    Settle(DetectProtocol(from, bytes, DetectionEffort::kFinal, context_));
    if (gap_[from] != 0) dialogue_->Gap(from, gap_[from]);
    gap_[0] = gap_[1] = 0;
    Data(from, bytes, time_ns, sequence);
    return;
  }
  if (from_start && gap_[from] == 0) {
    // All this end said, from its first byte.
    std::string said;
    for (const Piece& piece : pieces_) {
      if (piece.from == from) said += piece.bytes;
    }
    const std::string_view whole = said.empty() ? bytes : std::string_view(said += bytes);
    found = DetectProtocol(from, whole, DetectionEffort::kMayWait, context_);
  } else {
    found = DetectProtocol(from, bytes, DetectionEffort::kFinal, context_);
    // The middle of a message: a later packet may show the protocol.
    if (found == Protocol::kBlind && pieces_.size() < kMostPieces && kept_ < kMostKept)
      found = Protocol::kUndecided;
    // What came before it has no beginning in this protocol.
    if (found != Protocol::kBlind && found != Protocol::kUndecided) {
      pieces_.clear();
      kept_ = 0;
      gap_[0] = gap_[1] = 0;
    }
  }
  if (found == Protocol::kUndecided && kept_ + bytes.size() <= kMostKept * 2) {
    pieces_.push_back({from, std::string(bytes), time_ns, sequence, gap_[from]});
    gap_[from] = 0;
    kept_ += bytes.size();
    return;
  }
  if (found == Protocol::kUndecided) found = Protocol::kBlind;
  Decide(found);
  Replay();
  if (gap_[from] != 0) dialogue_->Gap(from, gap_[from]);
  gap_[0] = gap_[1] = 0;
  Data(from, bytes, time_ns, sequence);
}

void Conversation::Replay() {
  std::vector<Piece> pieces = std::move(pieces_);
  pieces_.clear();
  kept_ = 0;
  for (const Piece& piece : pieces) {
    if (piece.gap != 0 && dialogue_ != nullptr) dialogue_->Gap(piece.from, piece.gap);
    Data(piece.from, piece.bytes, piece.time_ns, piece.sequence);
  }
}

// Decides with the bytes there are; if they show nothing, the result is `otherwise`.
void Conversation::Settle(Protocol otherwise) {
  if (dialogue_ != nullptr || pieces_.empty()) return;
  const End from = pieces_.front().from;
  std::string said;
  for (const Piece& piece : pieces_) {
    if (piece.from == from) said += piece.bytes;
  }
  Protocol found = DetectProtocol(from, said, DetectionEffort::kFinal, context_);
  if (found == Protocol::kUndecided || found == Protocol::kBlind) found = otherwise;
  if (found == Protocol::kUndecided) found = Protocol::kBlind;
  Decide(found);
  Replay();
}

void Conversation::Change(End from, std::string_view rest, Nanos time_ns, uint32_t sequence) {
  const Protocol next = dialogue_->successor();
  // What the other end said ahead of time belongs to the new protocol.
  const End other = OtherEnd(from);
  const std::string ahead = dialogue_->TakeHeld(other);
  const Nanos ahead_time = dialogue_->HeldTime(other);
  const uint32_t ahead_sequence = dialogue_->UnreadSequence(other);
  dialogue_.reset();
  const std::string kept(rest);  // `rest` may be a view of what the old dialogue held
  if (next != Protocol::kUndecided) Decide(next);
  if (!ahead.empty()) Data(other, ahead, ahead_time, ahead_sequence);
  if (!kept.empty()) Data(from, kept, time_ns, sequence);
}

void Conversation::DropHeld() {
  Settle();
  if (dialogue_ != nullptr) dialogue_->DropHeld();
}

void Conversation::Gap(End from, uint32_t bytes) {
  // An answer that was not captured is an answer.
  if (dialogue_ == nullptr && !pieces_.empty() && pieces_.back().from != from &&
      context_.from_start[pieces_.back().from])
    Settle();
  if (dialogue_ != nullptr) {
    dialogue_->Gap(from, bytes);
  } else {
    // What was lost may have been the beginning that the other end answers.
    gap_[from] += bytes;
    context_.from_start[0] = context_.from_start[1] = false;
  }
}

void Conversation::Closed(End from) {
  Settle();
  if (dialogue_ != nullptr) dialogue_->Closed(from);
}

void Conversation::Quiet() {
  // Without a beginning, the bytes so far show nothing; with one, they are all there is.
  if (!pieces_.empty() && context_.from_start[pieces_.front().from]) Settle();
  if (dialogue_ != nullptr) dialogue_->Quiet();
}

void Conversation::Finish() {
  Settle();
  if (dialogue_ != nullptr) dialogue_->Finish();
}

}  // namespace wf::pcap
