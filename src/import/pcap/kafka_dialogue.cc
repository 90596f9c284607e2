#include "import/pcap/kafka_dialogue.h"

#include <algorithm>

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

constexpr uint32_t kLongest = 100 << 20;  // socket.request.max.bytes
constexpr uint16_t kMostKeys = 128, kMostVersions = 32;
constexpr uint16_t kProduce = 0;
constexpr uint16_t kFlexibleProduce = 9;  // from this version on, fields are compact and tagged
// Size, key, version, correlation id, length of the client's name.
constexpr size_t kKafkaHead = 14;
constexpr size_t kLongestName = 1024;
constexpr size_t kMostOpen = 4096;

}  // namespace

bool LooksLikeKafkaRequest(std::string_view bytes) {
  if (bytes.size() < kKafkaHead) return false;
  const uint32_t size = Read32(bytes, 0);
  if (size < 10 || size > kLongest || Read16(bytes, 4) > kMostKeys ||
      Read16(bytes, 6) > kMostVersions)
    return false;
  const auto name = static_cast<int16_t>(Read16(bytes, 12));
  if (name < -1 || static_cast<size_t>(name + 1) > kLongestName ||
      size < 10u + std::max<int>(name, 0))
    return false;
  const std::string_view text = bytes.substr(kKafkaHead, std::max<int>(name, 0));
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool AreWholeKafkaRequests(std::string_view bytes) {
  while (LooksLikeKafkaRequest(bytes) && static_cast<int16_t>(Read16(bytes, 12)) > 0) {
    const size_t size = Read32(bytes, 0) + size_t{4};
    if (size > bytes.size()) return false;
    bytes.remove_prefix(size);
    if (bytes.empty()) return true;
  }
  return false;
}

bool KafkaDialogue::StartsHere(End from, std::string_view bytes) {
  if (!RoleKnown()) return false;
  if (IsClient(from)) return LooksLikeKafkaRequest(bytes);
  if (bytes.size() < 8) return false;
  const uint32_t size = Read32(bytes, 0);
  return size >= 4 && size <= kLongest && ids_.count(Read32(bytes, 4)) != 0;
}

void KafkaDialogue::Lost(End from) {
  if (!RoleKnown()) return;
  if (IsClient(from)) {
    if (request_.open) TellOpenCalls(0);
    request_ = {};
  } else {
    response_ = {};
  }
}

void KafkaDialogue::TellOpenCalls(Nanos) {
  set_untold_since(kNothingUntold);
  if (!request_.open || request_.told || request_.one_way) return;
  request_.told = true;
  EmitCall(request_.id, request_.start, -1);
}

size_t KafkaDialogue::Parse(End from, std::string_view bytes) {
  if (!RoleKnown() && LooksLikeKafkaRequest(bytes)) context().client = from;
  if (!RoleKnown()) {
    LoseWay(from);
    return bytes.size();
  }
  return IsClient(from) ? ParseRequest(bytes) : ParseResponse(bytes);
}

size_t KafkaDialogue::ParseRequest(std::string_view bytes) {
  const End client = context().client;
  if (bytes.size() < 4) return 0;
  const size_t size = Read32(bytes, 0);
  if (bytes.size() < kKafkaHead) {
    if (size < 10 || size > kLongest) LoseWay(client);
    return 0;
  }
  if (!LooksLikeKafkaRequest(bytes)) {
    LoseWay(client);
    return bytes.size();
  }
  const uint16_t key = Read16(bytes, 4), version = Read16(bytes, 6);
  size_t used = kKafkaHead + std::max<int>(static_cast<int16_t>(Read16(bytes, 12)), 0);
  if (bytes.size() < used) return 0;
  bool one_way = false;
  if (key == kProduce) {
    // The acknowledgements wanted stand behind the transaction's name, which later versions have.
    size_t at = used;
    const size_t there = std::min(bytes.size(), size + 4);
    const bool whole = there == size + 4;
    const auto has = [&](size_t count) { return at + count <= there; };
    if (version >= kFlexibleProduce) ++at;  // no tagged fields in the header
    if (version >= 3) {
      if (!has(2)) {
        if (!whole) return 0;
      } else if (version >= kFlexibleProduce) {
        at += 1u + (Read8(bytes, at) & 0x7f) - (Read8(bytes, at) == 0 ? 0 : 1);
      } else {
        at += 2u + std::max<int>(static_cast<int16_t>(Read16(bytes, at)), 0);
      }
    }
    if (!has(2)) {
      if (!whole && at < used + kLongestName) return 0;
    } else {
      one_way = Read16(bytes, at) == 0;
      used = std::max(used, at + 2);
    }
  }
  request_ = {};
  request_.open = true;
  request_.one_way = one_way;
  request_.correlation = Read32(bytes, 8);
  request_.id = FirstSequence(client);
  request_.start = FirstTime(client);
  request_.bytes = static_cast<int64_t>(size) + 4;
  if (!one_way) {
    if (ids_.size() >= kMostOpen) ids_.clear();  // no answers: the responses are not captured
    ids_[request_.correlation] = request_.id;
  }
  set_untold_since(request_.start);
  if (used >= size + 4) {
    RequestEnds();
    return size + 4;
  }
  Skip(client, size + 4 - used);
  return used;
}

void KafkaDialogue::RequestEnds() {
  set_untold_since(kNothingUntold);
  if (request_.one_way) {
    EmitMessage(context().client, request_.id, request_.start, request_.bytes);
  } else if (!request_.told) {
    EmitCall(request_.id, request_.start, request_.bytes);
  }
  request_.open = false;
}

size_t KafkaDialogue::ParseResponse(std::string_view bytes) {
  const End server = OtherEnd(context().client);
  if (bytes.size() < 8) return 0;
  const size_t size = Read32(bytes, 0);
  if (size < 4 || size > kLongest) {
    LoseWay(server);
    return bytes.size();
  }
  response_ = {};
  response_.open = true;
  response_.correlation = Read32(bytes, 4);
  response_.id = FirstSequence(server);
  response_.bytes = static_cast<int64_t>(size) + 4;
  if (size == 4) {
    ResponseEnds();
  } else {
    Skip(server, size - 4);
  }
  return 8;
}

void KafkaDialogue::ResponseEnds() {
  response_.open = false;
  const Nanos time_ns = LastTime(OtherEnd(context().client));
  const auto found = ids_.find(response_.correlation);
  if (found == ids_.end()) {
    EmitStrayReturn(response_.id, time_ns, response_.bytes);
    return;
  }
  EmitReturn(found->second, time_ns, response_.bytes);
  ids_.erase(found);
}

void KafkaDialogue::Skipped(End from) {
  if (IsClient(from)) {
    RequestEnds();
  } else {
    ResponseEnds();
  }
}

}  // namespace wf::pcap
