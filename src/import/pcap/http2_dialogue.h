// HTTP/2 (RFC 9113) and gRPC over it: frames, padding, CONTINUATION, streams; from the preface or from the middle.
//
// Calls and returns are found by stream ids and END_STREAM, which need no headers. Headers are decompressed
// only to recognise gRPC, as long as every block was seen from the beginning; otherwise this is counted
// (hpack_mid_stream).
#pragma once

#include <map>

#include "import/pcap/dialogue.h"
#include "net/hpack_decoder.h"

namespace wf::pcap {

constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Whether frames follow each other from here.
bool LooksLikeHttp2Frames(std::string_view bytes);

class Http2Dialogue : public Dialogue {
 public:
  explicit Http2Dialogue(DialogueContext& context);
  ~Http2Dialogue() override;
  void Closed(End from) override;
  void TellOpenCalls(Nanos now) override;
  void Quiet() override;

 protected:
  size_t Parse(End from, std::string_view bytes) override;
  void Skipped(End from) override;
  void Lost(End from) override;
  bool StartsHere(End from, std::string_view bytes) override;

 private:
  struct Stream {
    uint32_t id = 0;
    bool call_seen = false, call_told = false, pushed = false, reply_seen = false;
    Nanos start = 0;
    Nanos push_start = 0;
    int64_t call_bytes = 0, reply_bytes = 0;
  };
  // A frame in progress, or a header block that continues in the next.
  struct Frame {
    uint8_t type = 0, flags = 0;
    uint32_t stream = 0, sequence = 0;
    Nanos start = 0;
    uint64_t size = 0;
    bool headers_open = false;  // END_HEADERS is still to come
    bool headers_end_stream = false;
    uint32_t headers_stream = 0;
    std::string block;
  };

  void FrameBegins(End from);
  void FrameEnds(End from);
  void StreamEnds(End from, uint32_t number);
  void Decompress(End from, std::string_view block);
  void LoseHeaders();
  void TellCall(Stream& stream, int64_t bytes);
  void Forget(uint32_t number);
  void FindUntold();

  Frame frames_[2];
  std::map<uint32_t, Stream> streams_;
  bool preface_ = false;
  bool hpack_lost_ = false, grpc_ = false;
  std::unique_ptr<net::HpackDecoder> hpack_;  // of the client's headers
};

}  // namespace wf::pcap
