// PostgreSQL's protocol, version 3: simple and extended queries, pipelining, COPY, notifications, and what
// precedes them: requests for encryption, cancellation, start-up with authentication, each a separate
// exchange.
//
// A call is a simple query, or all messages of the extended protocol up to Sync; its return ends with ReadyForQuery.
#pragma once

#include "import/pcap/ordered_dialogue.h"

namespace wf::pcap {

// The first message of a client.
bool LooksLikePostgresStartup(std::string_view bytes);
// Typed messages in the middle of a connection, distinctive enough without a port.
bool LooksLikePostgresQuery(std::string_view bytes);
bool LooksLikePostgresReply(std::string_view bytes);

class PostgresDialogue : public OrderedDialogue {
 public:
  explicit PostgresDialogue(DialogueContext& context);

 protected:
  size_t Parse(End from, std::string_view bytes) override;
  void Skipped(End from) override;
  void Lost(End from) override;
  bool StartsHere(End from, std::string_view bytes) override;

 private:
  size_t ParseStartup(std::string_view bytes);
  size_t ParseClient(std::string_view bytes);
  size_t ParseServer(std::string_view bytes);
  void ClientMessageEnds();
  void ServerMessageEnds();

  char types_[2] = {0, 0};  // of the messages being read
  bool startup_ = false;    // the client has not yet sent typed messages
  bool one_byte_ = false;   // the server answers a request for encryption with one byte
  // Of the server's message being read.
  int64_t message_bytes_ = 0;
  Nanos start_ = 0;
  uint32_t sequence_ = 0;
};

}  // namespace wf::pcap
