// OrderedDialogue: protocols whose replies come in the order of their requests and carry no id: HTTP/1.1, Redis,
// PostgreSQL, MySQL.
//
// While nothing is lost, the n-th reply answers the n-th request. After a loss the count is wrong, and two
// things help. Most clients wait for a reply before the next request: on a connection that never had two open
// requests, a reply answers the latest request, whatever was lost before, and unknown bytes after a request
// are its reply, which ends when the client sends again. On a connection with pipelining, replies stay
// unmatched until the next turn, a request that directly follows a reply; there all earlier requests count as
// answered.
#pragma once

#include <deque>

#include "import/pcap/dialogue.h"

namespace wf::pcap {

class OrderedDialogue : public Dialogue {
 public:
  using Dialogue::Dialogue;
  void Closed(End from) override;
  void TellOpenCalls(Nanos now) override;
  void Quiet() override;

 protected:
  struct Exchange {
    uint32_t id = 0;
    uint32_t note = 0;  // for the protocol's own use
  };
  struct Request {
    bool open = false, told = false;
    uint32_t id = 0;
    Nanos start = 0;
    int64_t bytes = 0;
  };
  struct Reply {
    bool open = false, matched = false, until_turn = false;
    bool other_half = false;  // the request was captured elsewhere, if at all
    Exchange exchange;
    int64_t bytes = 0;
  };

  // A request begins with the first byte that Parse was given.
  void RequestBegins(uint32_t note = 0);
  // The request ends; its size is request_.bytes.
  void RequestEnds();
  // The reply to the oldest open request.
  void ReplyBegins();
  void ReplyEnds();
  // A reply without a known end: it lasts until the client sends again.
  void ReplyLastsUntilTurn() { reply_.until_turn = true; }
  Exchange* Oldest() { return exchanges_.empty() ? nullptr : &exchanges_.front(); }
  Exchange* Newest() { return exchanges_.empty() ? nullptr : &exchanges_.back(); }
  bool Waiting() const { return !exchanges_.empty(); }
  // The newest request gets no reply.
  void ForgetNewest() {
    if (!exchanges_.empty()) exchanges_.pop_back();
  }

  void Lost(End from) override;
  void Stray(End from, size_t bytes) override;

  Request request_;
  Reply reply_;

 private:
  void TellRequest(int64_t bytes);

  std::deque<Exchange> exchanges_;  // without a reply
  bool pipelined_ = false;          // two requests were open at once
  bool replies_lost_ = false, requests_lost_ = false;
};

}  // namespace wf::pcap
