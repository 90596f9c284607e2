#include "import/pcap/ordered_dialogue.h"

namespace wf::pcap {
namespace {

// More open requests than any client pipelines: the replies are not being captured.
constexpr size_t kMostExchanges = 4096;

}  // namespace

void OrderedDialogue::TellRequest(int64_t bytes) {
  if (request_.told) return;
  request_.told = true;
  set_untold_since(kNothingUntold);
  EmitCall(request_.id, request_.start, bytes);
}

void OrderedDialogue::RequestBegins(uint32_t note) {
  const End client = context().client;
  if (request_.open) TellRequest(-1);
  if (reply_.open && reply_.until_turn) ReplyEnds();
  // A turn: what the server said last came behind what the client said last.
  const bool turn = !reply_.open && LastTime(OtherEnd(client)) >= request_.start;
  if (!pipelined_ || turn) {
    if (replies_lost_ || requests_lost_) exchanges_.clear();
    replies_lost_ = requests_lost_ = false;
  }
  if (!exchanges_.empty()) pipelined_ = true;
  request_ = {};
  request_.open = true;
  request_.id = FirstSequence(client);
  request_.start = FirstTime(client);
  set_untold_since(request_.start);
  exchanges_.push_back({request_.id, note});
  if (exchanges_.size() > kMostExchanges) exchanges_.pop_front();
}

void OrderedDialogue::RequestEnds() {
  if (!request_.open) return;
  TellRequest(request_.bytes);
  request_.open = false;
}

void OrderedDialogue::ReplyBegins() {
  if (reply_.open) ReplyEnds();
  reply_ = {};
  reply_.open = true;
  if (replies_lost_ && !pipelined_) {
    while (exchanges_.size() > 1) exchanges_.pop_front();
    replies_lost_ = false;
  }
  const bool unsure = pipelined_ && (replies_lost_ || requests_lost_);
  if (unsure || exchanges_.empty()) {
    const End server = OtherEnd(context().client);
    reply_.other_half = context().one_way[server];
    reply_.exchange.id = reply_.other_half ? context().answers_from[server] : FirstSequence(server);
    return;
  }
  reply_.matched = true;
  reply_.exchange = exchanges_.front();
  exchanges_.pop_front();
}

void OrderedDialogue::ReplyEnds() {
  if (!reply_.open) return;
  reply_.open = false;
  const Nanos time_ns = LastTime(OtherEnd(context().client));
  // A server may answer before it has the whole request: the call is emitted first.
  if (request_.open && reply_.matched && reply_.exchange.id == request_.id) TellRequest(-1);
  if (reply_.matched) {
    EmitReturn(reply_.exchange.id, time_ns, reply_.bytes);
  } else if (reply_.other_half) {
    EmitHalf(reply_.exchange.id, time_ns, reply_.bytes);
  } else {
    EmitStrayReturn(reply_.exchange.id, time_ns, reply_.bytes);
  }
}

void OrderedDialogue::Lost(End from) {
  if (!RoleKnown()) return;
  if (IsClient(from)) {
    if (request_.open) TellRequest(-1);
    request_.open = false;
    requests_lost_ = true;
    return;
  }
  if (reply_.open) reply_.until_turn = true;
  replies_lost_ = true;
}

void OrderedDialogue::Stray(End from, size_t bytes) {
  if (!RoleKnown() || IsClient(from)) return;
  if (!reply_.open && !pipelined_ && Waiting()) {
    ReplyBegins();
    reply_.until_turn = true;
  }
  if (reply_.open) reply_.bytes += static_cast<int64_t>(bytes);
}

void OrderedDialogue::Closed(End from) {
  if (!RoleKnown()) return;
  if (IsClient(from)) {
    if (request_.open) TellRequest(-1);
  } else {
    ReplyEnds();
  }
}

void OrderedDialogue::TellOpenCalls(Nanos) {
  if (request_.open) TellRequest(-1);
  set_untold_since(kNothingUntold);
}

void OrderedDialogue::Quiet() {
  if (request_.open) TellRequest(-1);
  if (reply_.open && reply_.until_turn) ReplyEnds();
}

}  // namespace wf::pcap
