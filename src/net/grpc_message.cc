#include "net/grpc_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/base64.h"
#include "base/hex_digit.h"
#include "base/varint.h"

namespace wf::net {
namespace {

constexpr std::string_view kRetryInfoType = "type.googleapis.com/google.rpc.RetryInfo";
// A message that is announced but not yet here reserves at most this much.
constexpr size_t kMaxReserve = 4 << 20;

// As much protobuf as one status needs: varints and length-delimited fields.
void AppendNumber(std::string* out, int field, uint64_t value) {
  if (value == 0) return;
  PutVarint(static_cast<uint64_t>(field) << 3, *out);
  PutVarint(value, *out);
}

void AppendBytes(std::string* out, int field, std::string_view bytes) {
  if (bytes.empty()) return;
  PutVarint(static_cast<uint64_t>(field) << 3 | 2, *out);
  PutVarint(bytes.size(), *out);
  out->append(bytes);
}

struct ProtoField {
  uint64_t number = 0;
  uint64_t value = 0;      // of a varint
  std::string_view bytes;  // of a length-delimited field
};

bool TakeField(std::string_view* in, ProtoField* field) {
  uint64_t tag;
  if (in->empty() || !TakeVarint(*in, tag)) return false;
  *field = ProtoField();
  field->number = tag >> 3;
  if ((tag & 7) == 0) return TakeVarint(*in, field->value);
  if ((tag & 7) != 2) return false;
  uint64_t size;
  if (!TakeVarint(*in, size) || size > in->size()) return false;
  field->bytes = in->substr(0, size);
  in->remove_prefix(size);
  return true;
}

// The bytes of the first length-delimited field of that number.
std::optional<std::string_view> FindBytes(std::string_view message, uint64_t number) {
  ProtoField field;
  while (TakeField(&message, &field)) {
    if (field.number == number) return field.bytes;
  }
  return std::nullopt;
}

}  // namespace

size_t GrpcMessageReader::Feed(std::string_view bytes) {
  switch (state_) {
    case State::kHead: {
      size_t take = std::min(bytes.size(), sizeof head_ - head_bytes_);
      std::memcpy(head_ + head_bytes_, bytes.data(), take);
      head_bytes_ += take;
      if (head_bytes_ < sizeof head_) return take;
      size_ = static_cast<uint32_t>(head_[1]) << 24 | static_cast<uint32_t>(head_[2]) << 16 |
              static_cast<uint32_t>(head_[3]) << 8 | static_cast<uint32_t>(head_[4]);
      state_ = head_[0] > 1 ? State::kBadFlag : size_ == 0 ? State::kComplete : State::kMessage;
      return take;
    }
    case State::kMessage: {
      if (message_.empty()) message_.reserve(std::min<size_t>(size_, kMaxReserve));
      size_t take = std::min<size_t>(bytes.size(), size_ - message_.size());
      message_.append(bytes.data(), take);
      if (message_.size() == size_) state_ = State::kComplete;
      return take;
    }
    case State::kComplete:
      if (!bytes.empty()) state_ = State::kTrailing;
      return 0;
    case State::kBadFlag:
    case State::kTrailing:
      return 0;
  }
  return 0;
}

std::string GrpcMessageHead(GrpcCompressed compressed, size_t size) {
  std::string head(5, '\0');
  head[0] = compressed == GrpcCompressed::kYes ? 1 : 0;
  for (int i = 0; i < 4; ++i) head[1 + i] = static_cast<char>(size >> (24 - 8 * i));
  return head;
}

std::string EncodeGrpcText(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string DecodeGrpcText(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low >= 0) {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string EncodeRetryDetails(int code, std::string_view message, Nanos delay) {
  delay = std::max<Nanos>(delay, 0);
  std::string duration;
  AppendNumber(&duration, 1, static_cast<uint64_t>(delay / kSecond));
  AppendNumber(&duration, 2, static_cast<uint64_t>(delay % kSecond));
  std::string retry_info;  // RetryInfo.retry_delay
  PutVarint(1 << 3 | 2, retry_info);
  PutVarint(duration.size(), retry_info);
  retry_info += duration;
  std::string any;
  AppendBytes(&any, 1, kRetryInfoType);
  AppendBytes(&any, 2, retry_info);
  std::string status;
  AppendNumber(&status, 1, static_cast<uint64_t>(code));
  AppendBytes(&status, 2, message);
  AppendBytes(&status, 3, any);
  return Base64Encode(status, Base64Padding::kNone);
}

std::optional<Nanos> DecodeRetryDetails(std::string_view base64) {
  std::optional<std::string> status = Base64Decode(base64);
  if (!status) return std::nullopt;
  std::string_view rest = *status;
  ProtoField detail;
  while (TakeField(&rest, &detail)) {
    if (detail.number != 3 || FindBytes(detail.bytes, 1) != kRetryInfoType) continue;
    std::optional<std::string_view> retry_info = FindBytes(detail.bytes, 2);
    if (!retry_info) return Nanos{0};
    std::optional<std::string_view> duration = FindBytes(*retry_info, 1);
    if (!duration) return Nanos{0};
    // What a peer may make us wait is not ours to overflow.
    constexpr uint64_t kMaxSeconds = 365ull * 24 * 3600;
    Nanos delay = 0;
    ProtoField part;
    while (TakeField(&*duration, &part)) {
      if (part.number == 1)
        delay += static_cast<Nanos>(std::min(part.value, kMaxSeconds)) * kSecond;
      if (part.number == 2) delay += static_cast<Nanos>(std::min<uint64_t>(part.value, kSecond));
      delay = std::min<Nanos>(delay, kMaxSeconds * kSecond);
    }
    return delay;
  }
  return std::nullopt;
}

}  // namespace wf::net
