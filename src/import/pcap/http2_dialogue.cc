#include "import/pcap/http2_dialogue.h"

#include <algorithm>

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

constexpr size_t kHttp2Head = 9;
constexpr uint32_t kLongestFrame = 1 << 20;  // allowed: 16 MB; seen: 16 KiB, gRPC up to 1 MB
constexpr uint32_t kUsualFrame = 16384;      // unless settings allow more
constexpr size_t kMostStreams = 4096;
constexpr uint8_t kData = 0, kHeaders = 1, kPriority = 2, kReset = 3, kSettings = 4,
                  kPushPromise = 5, kPing = 6, kGoAway = 7, kWindowUpdate = 8, kContinuation = 9;
constexpr uint8_t kEndStream = 0x1, kEndHeaders = 0x4, kPadded = 0x8, kHasPriority = 0x20;
constexpr size_t kLongestBlock = 64 << 10;

bool PlausibleFrame(std::string_view head) {
  const uint32_t length = Read32(head, 0) >> 8;
  const uint8_t type = Read8(head, 3), flags = Read8(head, 4);
  const uint32_t stream = Read32(head, 5);
  if (length > kLongestFrame || (stream & 0x80000000) != 0) return false;
  switch (type) {
    case kData:
      return stream != 0 && (flags & ~(kEndStream | kPadded)) == 0;
    case kHeaders:
      return stream != 0 && (flags & ~(kEndStream | kEndHeaders | kPadded | kHasPriority)) == 0;
    case kPriority:
      return stream != 0 && length == 5;
    case kReset:
      return stream != 0 && length == 4;
    case kSettings:
      return stream == 0 && length % 6 == 0 && length <= 6 * 64 && (flags & ~1) == 0;
    case kPushPromise:
      return stream != 0 && length >= 4;
    case kPing:
      return stream == 0 && length == 8 && (flags & ~1) == 0;
    case kGoAway:
      return stream == 0 && length >= 8;
    case kWindowUpdate:
      return length == 4;
    case kContinuation:
      return stream != 0 && (flags & ~kEndHeaders) == 0;
    default:
      // Receivers ignore extensions (ALTSVC, ORIGIN, PRIORITY_UPDATE …) that they do not know.
      return type <= 0x10;
  }
}

bool HoldsHeaders(uint8_t type) {
  return type == kHeaders || type == kPushPromise || type == kContinuation;
}

// The block's part in the payload of a HEADERS or PUSH_PROMISE frame: without padding and priority.
std::string_view HeaderBlock(uint8_t type, uint8_t flags, std::string_view payload) {
  size_t front = 0, back = 0;
  if (type != kContinuation) {
    if ((flags & kPadded) != 0) {
      if (payload.empty()) return {};
      back = Read8(payload, 0);
      front = 1;
    }
    if (type == kHeaders && (flags & kHasPriority) != 0) front += 5;
    if (type == kPushPromise) front += 4;
  }
  if (front + back > payload.size()) return {};
  return payload.substr(front, payload.size() - front - back);
}

}  // namespace

bool LooksLikeHttp2Frames(std::string_view bytes) {
  int frames = 0;
  // At a beginning stands neither a block that goes on, nor what hardly anybody sends.
  if (bytes.size() >= kHttp2Head &&
      (Read8(bytes, 3) >= kContinuation || Read32(bytes, 0) >> 8 > kUsualFrame))
    return false;
  while (bytes.size() >= kHttp2Head) {
    if (!PlausibleFrame(bytes)) return false;
    ++frames;
    const size_t size = kHttp2Head + (Read32(bytes, 0) >> 8);
    if (bytes.size() < size) return true;
    bytes.remove_prefix(size);
  }
  return frames > 0;
}

Http2Dialogue::Http2Dialogue(DialogueContext& context) : Dialogue(context, Protocol::kHttp2) {
  preface_ = context.client == kNoEnd || context.from_start[context.client];
  if (preface_) {
    hpack_ = std::make_unique<net::HpackDecoder>();
  } else {
    LoseHeaders();
  }
}
Http2Dialogue::~Http2Dialogue() = default;

void Http2Dialogue::LoseHeaders() {
  hpack_.reset();
  if (hpack_lost_) return;
  hpack_lost_ = true;
  ++counts().hpack_mid_stream;
}

bool Http2Dialogue::StartsHere(End, std::string_view bytes) { return LooksLikeHttp2Frames(bytes); }

void Http2Dialogue::Lost(End from) {
  Frame& frame = frames_[from];
  frame.headers_open = false;
  frame.block.clear();
  if (!RoleKnown() || IsClient(from)) LoseHeaders();
}

size_t Http2Dialogue::Parse(End from, std::string_view bytes) {
  if (preface_ && (!RoleKnown() || IsClient(from))) {
    const size_t there = std::min(bytes.size(), kHttp2Preface.size());
    if (bytes.substr(0, there) == kHttp2Preface.substr(0, there)) {
      if (there < kHttp2Preface.size()) return 0;
      context().client = from;
      preface_ = false;
      return kHttp2Preface.size();
    }
    preface_ = false;
    LoseHeaders();
  }
  if (bytes.size() < kHttp2Head) return 0;
  if (!PlausibleFrame(bytes)) {
    LoseWay(from);
    return bytes.size();
  }
  Frame& frame = frames_[from];
  const size_t length = Read32(bytes, 0) >> 8;
  const uint8_t type = Read8(bytes, 3);
  const bool wanted = HoldsHeaders(type) && length <= kLongestBlock;
  if (wanted && bytes.size() < kHttp2Head + length) return 0;
  frame.type = type;
  frame.flags = Read8(bytes, 4);
  frame.stream = Read32(bytes, 5);
  frame.sequence = FirstSequence(from);
  frame.start = FirstTime(from);
  frame.size = kHttp2Head + length;
  FrameBegins(from);
  if (HoldsHeaders(type)) {
    if (!wanted) LoseHeaders();
    if (wanted && frame.block.size() <= kLongestBlock)
      frame.block += HeaderBlock(type, frame.flags, bytes.substr(kHttp2Head, length));
  }
  if (wanted || length == 0) {
    FrameEnds(from);
    return kHttp2Head + (wanted ? length : 0);
  }
  Skip(from, length);
  return kHttp2Head;
}

void Http2Dialogue::Skipped(End from) { FrameEnds(from); }

void Http2Dialogue::FrameBegins(End from) {
  Frame& frame = frames_[from];
  if (frame.type != kHeaders && frame.type != kData && frame.type != kContinuation) {
    if (frame.type == kPushPromise) {
      frame.headers_open = (frame.flags & kEndHeaders) == 0;
      frame.headers_end_stream = false;
      frame.headers_stream = frame.stream;
      frame.block.clear();
    }
    return;
  }
  if (frame.type == kHeaders) {
    frame.block.clear();
    frame.headers_open = true;
    frame.headers_stream = frame.stream;
    frame.headers_end_stream = (frame.flags & kEndStream) != 0;
  }
  if (!RoleKnown()) return;
  auto found = streams_.find(frame.stream);
  if (found == streams_.end()) {
    if (frame.type != kHeaders) {
      // The middle of a stream whose headers were not captured: it has no known beginning.
      if (IsClient(from)) return;
    }
    if (streams_.size() >= kMostStreams) streams_.erase(streams_.begin());
    found = streams_.emplace(frame.stream, Stream{}).first;
    found->second.id = frame.sequence;
    // Even streams are the server's own.
    found->second.pushed = frame.stream % 2 == 0;
    found->second.push_start = frame.start;
  }
  Stream& stream = found->second;
  if (IsClient(from)) {
    if (frame.type == kHeaders && !stream.call_seen && !stream.reply_seen) {
      stream.call_seen = true;
      stream.id = frame.sequence;
      stream.start = frame.start;
      if (frame.start < untold_since()) set_untold_since(frame.start);
    }
    stream.call_bytes += static_cast<int64_t>(frame.size);
  } else {
    stream.reply_seen = true;
    stream.reply_bytes += static_cast<int64_t>(frame.size);
  }
}

void Http2Dialogue::FrameEnds(End from) {
  Frame& frame = frames_[from];
  switch (frame.type) {
    case kData:
      if ((frame.flags & kEndStream) != 0) StreamEnds(from, frame.stream);
      break;
    case kHeaders:
    case kPushPromise:
    case kContinuation:
      if ((frame.flags & kEndHeaders) == 0) break;
      frame.headers_open = false;
      if (!RoleKnown() || IsClient(from)) Decompress(from, frame.block);
      frame.block.clear();
      if (frame.headers_end_stream) StreamEnds(from, frame.headers_stream);
      frame.headers_end_stream = false;
      break;
    case kReset:
      if (RoleKnown() && IsClient(from)) {
        const auto found = streams_.find(frame.stream);
        if (found != streams_.end()) {
          if (found->second.call_seen) {
            TellCall(found->second, found->second.call_bytes);
            ++counts().cancelled;
          }
          Forget(frame.stream);
        }
      } else {
        StreamEnds(from, frame.stream);
      }
      break;
    default:
      ++counts().control;
  }
}

void Http2Dialogue::Decompress(End, std::string_view block) {
  if (hpack_ == nullptr) return;
  net::HpackDecoder::Headers headers;
  if (!hpack_->Decode(block, headers)) {
    LoseHeaders();
    return;
  }
  for (const auto& [name, value] : headers) {
    if (!grpc_ && name == "content-type" && value.compare(0, 16, "application/grpc") == 0) {
      grpc_ = true;
      ++counts().grpc;
    }
  }
}

void Http2Dialogue::TellCall(Stream& stream, int64_t bytes) {
  if (!stream.call_seen || stream.call_told) return;
  stream.call_told = true;
  EmitCall(stream.id, stream.start, bytes);
  if (stream.start <= untold_since()) FindUntold();
}

void Http2Dialogue::FindUntold() {
  Nanos oldest = kNothingUntold;
  for (const auto& [number, stream] : streams_) {
    if (stream.call_seen && !stream.call_told) oldest = std::min(oldest, stream.start);
  }
  set_untold_since(oldest);
}

void Http2Dialogue::Forget(uint32_t number) { streams_.erase(number); }

void Http2Dialogue::StreamEnds(End from, uint32_t number) {
  if (!RoleKnown()) {
    EmitMessage(from, frames_[from].sequence, frames_[from].start,
                static_cast<int64_t>(frames_[from].size));
    return;
  }
  const auto found = streams_.find(number);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  if (IsClient(from)) {
    TellCall(stream, stream.call_bytes);
    return;
  }
  if (stream.pushed) {
    EmitMessage(from, stream.id, stream.push_start, stream.reply_bytes);
  } else if (stream.call_seen) {
    TellCall(stream, -1);  // answered before the request was through
    EmitReturn(stream.id, LastTime(from), stream.reply_bytes);
  } else {
    EmitStrayReturn(stream.id, LastTime(from), stream.reply_bytes);
  }
  Forget(number);
}

void Http2Dialogue::TellOpenCalls(Nanos now) {
  for (auto& [number, stream] : streams_) {
    if (stream.call_seen && !stream.call_told && stream.start <= now - kDialoguePatience) {
      stream.call_told = true;
      EmitCall(stream.id, stream.start, -1);
    }
  }
  FindUntold();
}

void Http2Dialogue::Quiet() {
  for (auto& [number, stream] : streams_) TellCall(stream, -1);
}

void Http2Dialogue::Closed(End) {}

}  // namespace wf::pcap
