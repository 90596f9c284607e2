// HTTP/1.0 and 1.1 (RFC 9112): keep-alive, pipelining, bodies by length, by chunks and until the connection ends,
// answers without one (HEAD, 1xx, 204, 304), 100-continue, CONNECT and upgrades.
#pragma once

#include "import/pcap/ordered_dialogue.h"

namespace wf::pcap {

// Whether these bytes begin a request or a response. A request's method is followed by a target and, if the
// line is complete, by the version.
bool LooksLikeHttp1Request(std::string_view bytes);
bool LooksLikeHttp1Response(std::string_view bytes);

class Http1Dialogue : public OrderedDialogue {
 public:
  explicit Http1Dialogue(DialogueContext& context) : OrderedDialogue(context, Protocol::kHttp1) {}
  void Closed(End from) override;

 protected:
  size_t Parse(End from, std::string_view bytes) override;
  void Skipped(End from) override;
  void Lost(End from) override;
  void Broken(End from, std::string_view bytes) override;
  bool StartsHere(End from, std::string_view bytes) override;

 private:
  enum class Reading : uint8_t { kHead, kBody, kChunkSize, kChunk, kTrailer, kRest };
  enum Note : uint32_t { kPlain, kHeadMethod, kConnectMethod };
  struct Body {
    bool chunked = false, has_length = false, nonsense = false;
    uint64_t length = 0;
  };

  bool CanBecomeHead(End from, std::string_view bytes) const;
  size_t ParseHead(End from, std::string_view bytes);
  bool ParseRequest(std::string_view head, const Body& body);
  bool ParseResponse(std::string_view head, const Body& body);
  static size_t ReadFields(std::string_view fields, Body& body);
  static void ReadField(std::string_view line, Body& body);
  // Reads or skips the body.
  void Follow(End from, const Body& body);
  void Count(End from, uint64_t bytes) {
    (IsClient(from) ? request_.bytes : reply_.bytes) += static_cast<int64_t>(bytes);
  }
  void Ends(End from);

  Reading reading_[2] = {Reading::kHead, Reading::kHead};
  size_t searched_[2] = {0, 0};  // bytes of the head searched without finding its end
};

}  // namespace wf::pcap
