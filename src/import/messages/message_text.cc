#include "import/messages/message_text.h"

#include <cstring>

#include "base/utf8.h"

namespace wf::messages {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The next word from `at`, which is moved behind it. Words are short: a loop beats memchr.
std::string_view NextWord(std::string_view line, size_t& at) {
  while (at < line.size() && IsBlank(line[at])) ++at;
  const size_t begin = at;
  while (at < line.size() && !IsBlank(line[at])) ++at;
  return line.substr(begin, at - begin);
}

bool IsAscii(std::string_view text) {
  size_t i = 0;
  uint64_t high = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t eight;
    std::memcpy(&eight, text.data() + i, 8);
    high |= eight;
  }
  for (; i < text.size(); ++i) high |= static_cast<unsigned char>(text[i]);
  return (high & 0x8080808080808080ull) == 0;
}

bool ParseOp(std::string_view op, MessageFields& fields) {
  std::string_view kind = op;
  fields.by = SightedBy::kCommon;
  if (op.size() > 5) {
    const std::string_view end = op.substr(op.size() - 5);
    if (end == "_SENT") {
      fields.by = SightedBy::kSender;
    } else if (end == "_RCVD") {
      fields.by = SightedBy::kReceiver;
    } else {
      return false;
    }
    kind = op.substr(0, op.size() - 5);
  }
  if (kind == "CALL") {
    fields.kind = MessageKind::kCall;
  } else if (kind == "RET") {
    fields.kind = MessageKind::kReturn;
  } else if (kind == "MSG") {
    fields.kind = MessageKind::kMessage;
  } else {
    return false;
  }
  return true;
}

// For messages: long or unprintable words are not repeated whole.
std::string Shown(std::string_view word) {
  constexpr size_t kMost = 40;
  std::string out = RepairUtf8(word.substr(0, kMost));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return "`" + out + (word.size() > kMost ? "…`" : "`");
}

bool CheckKeys(std::string_view keys, std::string& fault) {
  for (size_t at = 0;;) {
    const std::string_view word = NextWord(keys, at);
    if (word.empty()) return true;
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fault = Shown(word) + " behind the id is not key=value";
      return false;
    }
  }
}

int64_t ParseBytes(std::string_view text) {
  if (text.empty() || text.size() > 18) return -1;
  int64_t value = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

bool ParseSeconds(std::string_view text, Nanos& time_ns) {
  const bool negative = !text.empty() && text[0] == '-';
  size_t at = negative ? 1 : 0;
  const size_t first = at;
  uint64_t seconds = 0;
  // 11 digits are more seconds than 64 bits of nanoseconds hold, leading zeros aside.
  while (at < text.size() && IsDigit(text[at])) {
    if (seconds > 99'999'999'999ull) return false;
    seconds = seconds * 10 + static_cast<uint64_t>(text[at++] - '0');
  }
  if (at == first) return false;
  uint64_t fraction = 0;
  if (at < text.size()) {
    if (text[at++] != '.') return false;
    const size_t digits = text.size() - at;
    if (digits == 0 || digits > 9) return false;
    for (; at < text.size(); ++at) {
      if (!IsDigit(text[at])) return false;
      fraction = fraction * 10 + static_cast<uint64_t>(text[at] - '0');
    }
    static constexpr uint32_t kScale[10] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                            10000,      1000,      100,      10,      1};
    fraction *= kScale[digits];
  }
  // Of nanoseconds, as a whole: the least time is one further from 0 than the greatest.
  const auto whole = static_cast<unsigned __int128>(seconds) * 1'000'000'000u + fraction;
  const unsigned __int128 limit = static_cast<uint64_t>(INT64_MAX) + (negative ? 1ull : 0ull);
  if (whole > limit) return false;
  const auto ns = static_cast<uint64_t>(whole);
  time_ns = static_cast<Nanos>(negative ? 0 - ns : ns);
  return true;
}

LineKind ParseMessageLine(std::string_view line, MessageFields& fields, std::string& fault) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  size_t at = 0;
  const std::string_view seconds = NextWord(line, at);
  if (seconds.empty() || seconds[0] == '#') return LineKind::kNothing;
  const std::string_view op = NextWord(line, at);
  fields.sender = NextWord(line, at);
  fields.receiver = NextWord(line, at);
  fields.id = NextWord(line, at);
  if (!ParseSeconds(seconds, fields.time_ns)) {
    fault = "time " + Shown(seconds) + ": not Unix seconds with up to 9 digits behind the point";
    return LineKind::kMalformed;
  }
  if (!ParseOp(op, fields)) {
    fault = op.empty() ? "the line ends behind its time"
                       : "op " + Shown(op) + ": not CALL, RET or MSG, plain or with _SENT or _RCVD";
    return LineKind::kMalformed;
  }
  if (fields.id.empty()) {
    fault = "too few words: seconds op sender receiver id [key=value …]";
    return LineKind::kMalformed;
  }
  while (at < line.size() && IsBlank(line[at])) ++at;
  fields.keys = line.substr(at);
  while (!fields.keys.empty() && IsBlank(fields.keys.back())) fields.keys.remove_suffix(1);
  if (!fields.keys.empty() && !CheckKeys(fields.keys, fault)) return LineKind::kMalformed;
  if (!IsAscii(line) && !IsUtf8(line)) {
    fault = "not UTF-8";
    return LineKind::kMalformed;
  }
  if (std::memchr(line.data(), 0, line.size()) != nullptr) {
    fault = "a NUL in it";
    return LineKind::kMalformed;
  }
  return LineKind::kSighting;
}

void ReadMessageKeys(std::string_view keys, Sighting& sighting) {
  for (size_t at = 0;;) {
    const std::string_view word = NextWord(keys, at);
    if (word.empty()) return;
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals + 1 == word.size()) continue;  // no value
    const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "path") {
      sighting.path = KeyOf(value);
    } else if (key == "thread") {
      sighting.thread = KeyOf(value);
    } else if (key == "conn") {
      sighting.conn = KeyOf(value);
    } else if (key == "bytes") {
      sighting.bytes = ParseBytes(value);
    }
  }
}

void AppendSeconds(Nanos time_ns, std::string& out) {
  const bool negative = time_ns < 0;
  const uint64_t ns =
      negative ? 0 - static_cast<uint64_t>(time_ns) : static_cast<uint64_t>(time_ns);
  const uint64_t seconds = ns / 1'000'000'000u;
  uint64_t fraction = ns % 1'000'000'000u;
  int digits = 9;
  if (fraction % 1000 == 0) {
    fraction /= 1000;
    digits = 6;
  }
  char text[40];
  char* end = text + sizeof text;
  char* at = end;
  for (int i = 0; i < digits; ++i, fraction /= 10) *--at = static_cast<char>('0' + fraction % 10);
  *--at = '.';
  uint64_t rest = seconds;
  do *--at = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (negative) *--at = '-';
  out.append(at, static_cast<size_t>(end - at));
}

std::string_view OpName(MessageKind kind, SightedBy by) {
  static constexpr std::string_view kNames[3][3] = {{"CALL", "CALL_SENT", "CALL_RCVD"},
                                                    {"RET", "RET_SENT", "RET_RCVD"},
                                                    {"MSG", "MSG_SENT", "MSG_RCVD"}};
  return kNames[static_cast<size_t>(kind)][static_cast<size_t>(by)];
}

namespace {
void AppendName(std::string_view name, std::string& out) {
  if (name.empty()) {
    out += '_';
    return;
  }
  const size_t begin = out.size();
  out += name;
  for (size_t i = begin; i < out.size(); ++i) {
    if (static_cast<unsigned char>(out[i]) <= ' ') out[i] = '_';
  }
}
}  // namespace

void AppendMessageLine(const SightingLine& line, std::string_view sender, std::string_view receiver,
                       std::string& out) {
  AppendSeconds(line.sighting.time_ns, out);
  out += ' ';
  out += OpName(line.sighting.kind, line.sighting.by);
  out += ' ';
  AppendName(sender, out);
  out += ' ';
  AppendName(receiver, out);
  out += ' ';
  AppendName(line.id.empty() ? "-" : std::string_view(line.id), out);
  if (!line.keys.empty()) {
    out += ' ';
    out += line.keys;
  }
  out += '\n';
}

}  // namespace wf::messages
