// Redis (RESP 2 and 3): pipelining, values of any nesting, subscriptions and pushes.
#pragma once

#include "import/pcap/ordered_dialogue.h"

namespace wf::pcap {

// Whether a command, or a reply, begins here. A command is an array of bulk strings, as redis-cli sends it.
bool LooksLikeRedisCommand(std::string_view bytes);
bool LooksLikeRedisReply(std::string_view bytes);

class RedisDialogue : public OrderedDialogue {
 public:
  explicit RedisDialogue(DialogueContext& context) : OrderedDialogue(context, Protocol::kRedis) {}

 protected:
  size_t Parse(End from, std::string_view bytes) override;
  void Skipped(End from) override;
  void Lost(End from) override;
  bool StartsHere(End from, std::string_view bytes) override;

 private:
  // A value in progress.
  struct Value {
    bool open = false;
    char type = 0;         // of the outermost
    uint64_t missing = 0;  // values still to come until the outermost is complete
    uint64_t size = 0;     // elements of the outermost
    uint64_t read = 0;     // scalars read so far
    int64_t bytes = 0;
    Nanos start = 0;
    uint32_t sequence = 0;
    std::string words[3];  // the first scalars, if they are short
  };
  enum class Replies : uint8_t { kOn, kSkipNext, kOff };

  size_t ParseLine(End from, std::string_view bytes, std::string_view line);
  size_t ParseText(End from, std::string_view bytes, size_t line, uint64_t length);
  void Begin(End from, char type);
  void ScalarRead(End from, std::string_view text);
  void ValueEnds(End from);
  void CommandEnds(const Value& value);
  void ReplyValueEnds(const Value& value);
  bool IsPush(const Value& value) const;

  Value values_[2];
  Replies replies_ = Replies::kOn;
  bool monitoring_ = false;
};

}  // namespace wf::pcap
