// DNS over TCP (RFC 7766): messages after their length, paired by id; several may be open. Queries in
// datagrams need no dialogue: each is one message.
#pragma once

#include <unordered_map>

#include "import/pcap/dialogue.h"

namespace wf::pcap {

bool LooksLikeDnsStream(std::string_view bytes);

class DnsDialogue : public Dialogue {
 public:
  explicit DnsDialogue(DialogueContext& context) : Dialogue(context, Protocol::kDns) {}

 protected:
  size_t Parse(End from, std::string_view bytes) override;
  void Skipped(End from) override;
  void Lost(End from) override { units_[from].open = false; }
  bool StartsHere(End from, std::string_view bytes) override;

 private:
  struct Unit {
    bool open = false, response = false;
    uint16_t number = 0;
    uint32_t id = 0;
    Nanos start = 0;
    int64_t bytes = 0;
  };
  void UnitEnds(End from);

  Unit units_[2];
  std::unordered_map<uint16_t, uint32_t> ids_;  // of open queries
};

}  // namespace wf::pcap
