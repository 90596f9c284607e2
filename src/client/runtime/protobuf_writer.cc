#include "client/runtime/protobuf_writer.h"

namespace wherefore::client {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none (Unicode table 3-7).
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || !continues(1)) return 0;
  if (lead < 0xE0) return 2;
  if (!continues(2)) return 0;
  if (lead < 0xF0) {
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
    if (lead == 0xED && byte(1) >= 0xA0) return 0;  // surrogate
    return 3;
  }
  if (!continues(3)) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;   // overlong
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
  return 4;
}

size_t ValidPrefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = SequenceLength(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

}  // namespace

void AppendTextField(uint32_t field, std::string_view text, std::string& out) {
  size_t valid = ValidPrefix(text);
  if (valid == text.size()) return AppendBytesField(field, text, out);
  std::string repaired;
  while (true) {
    repaired.append(text.substr(0, valid));
    if (valid == text.size()) break;
    repaired.append("\xEF\xBF\xBD");
    text.remove_prefix(valid + 1);
    valid = ValidPrefix(text);
  }
  AppendBytesField(field, repaired, out);
}

}  // namespace wherefore::client
