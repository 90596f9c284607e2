// Kafka's protocol: requests and responses after their length, paired by correlation id. A produce request
// that wants no acknowledgement (acks = 0) is a MSG.
#pragma once

#include <unordered_map>

#include "import/pcap/dialogue.h"

namespace wf::pcap {

bool LooksLikeKafkaRequest(std::string_view bytes);
// Whether the bytes are nothing but requests of a client with a name: lengths that fit exactly are hard to
// mistake, on any port and in the middle of a connection.
bool AreWholeKafkaRequests(std::string_view bytes);

class KafkaDialogue : public Dialogue {
 public:
  explicit KafkaDialogue(DialogueContext& context) : Dialogue(context, Protocol::kKafka) {}
  void TellOpenCalls(Nanos now) override;
  void Quiet() override { TellOpenCalls(0); }

 protected:
  size_t Parse(End from, std::string_view bytes) override;
  void Skipped(End from) override;
  void Lost(End from) override;
  bool StartsHere(End from, std::string_view bytes) override;

 private:
  size_t ParseRequest(std::string_view bytes);
  size_t ParseResponse(std::string_view bytes);
  void RequestEnds();
  void ResponseEnds();

  struct Unit {
    bool open = false, told = false, one_way = false;
    uint32_t correlation = 0, id = 0;
    Nanos start = 0;
    int64_t bytes = 0;
  };
  Unit request_, response_;
  std::unordered_map<uint32_t, uint32_t> ids_;  // of open calls, by correlation id
};

}  // namespace wf::pcap
