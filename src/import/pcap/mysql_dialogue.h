// MySQL's and MariaDB's client protocol: log-in, commands, result sets (several, with or without EOF packets), prepared
// statements, LOCAL INFILE.
//
// Login decides whether EOF packets separate the parts of a result set. If the login was not captured, the
// length of the packets shows it. Where the end of a reply cannot be found, the reply lasts until the client
// sends again, because clients of this protocol wait for it.
#pragma once

#include "import/pcap/ordered_dialogue.h"

namespace wf::pcap {

bool LooksLikeMysqlGreeting(std::string_view bytes);
// One complete packet with a command. Too weak as evidence without the port.
bool LooksLikeMysqlCommand(std::string_view bytes);

class MysqlDialogue : public OrderedDialogue {
 public:
  explicit MysqlDialogue(DialogueContext& context);

 protected:
  size_t Parse(End from, std::string_view bytes) override;
  void Skipped(End from) override;
  void Lost(End from) override;
  bool StartsHere(End from, std::string_view bytes) override;

 private:
  // What the server's next packet is.
  enum class Awaiting : uint8_t {
    kGreeting,
    kLogin,         // OK, an error, or more authentication
    kNothing,       // no command was sent
    kFirst,         // of a command's reply
    kColumns,       // definitions, counted by columns_
    kAfterColumns,  // EOF, the first row, or the end
    kRows,
    kDefinitions,  // of a prepared statement's parameters and columns, counted
    kFields,       // of COM_FIELD_LIST: until EOF
    kOne,          // one packet, whatever it holds
    kUntilTurn,
  };

  size_t ParseClient(std::string_view packet, size_t length, bool whole);
  void Command(uint8_t command);
  size_t ParseServer(std::string_view packet, size_t length);
  void FirstOfReply(std::string_view body, size_t length);
  void EndOfRows(std::string_view body, size_t length);

  Awaiting awaiting_;
  uint8_t command_ = 0;
  bool agreed_ = false, with_eof_ = true;  // at log-in, if that was captured
  uint64_t columns_ = 0;                   // definitions still to come
  uint32_t ends_ = 0;                      // EOF packets among them
  bool reply_through_ = false;             // with the packet being read
  bool request_through_ = false;
  bool to_tls_ = false;
  bool continues_[2] = {false, false};  // the next packet continues this one, of max length
};

}  // namespace wf::pcap
