#include "import/pcap/redis_dialogue.h"

#include <strings.h>

#include <charconv>

namespace wf::pcap {
namespace {

constexpr size_t kLongestLine = 64 << 10;
constexpr size_t kLongestWord = 32;                   // commands and kinds of pushes are shorter
constexpr int64_t kLongestText = int64_t{512} << 20;  // proto-max-bulk-len
constexpr int64_t kMostElements = int64_t{1} << 31;

bool Number(std::string_view text, int64_t& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool Is(std::string_view word, std::string_view name) {
  return word.size() == name.size() && ::strncasecmp(word.data(), name.data(), name.size()) == 0;
}

bool EndsWith(std::string_view word, std::string_view name) {
  return word.size() >= name.size() && Is(word.substr(word.size() - name.size()), name);
}

bool IsSubscription(std::string_view word) { return EndsWith(word, "subscribe"); }

}  // namespace

bool LooksLikeRedisCommand(std::string_view bytes) {
  if (bytes.size() < 5 || bytes[0] != '*' || bytes[1] < '1' || bytes[1] > '9') return false;
  const size_t line = bytes.find("\r\n");
  if (line == std::string_view::npos || line > 8) return false;
  return bytes.size() == line + 2 || bytes[line + 2] == '$';
}

bool LooksLikeRedisReply(std::string_view bytes) {
  if (bytes.size() < 3) return false;
  const size_t line = bytes.substr(0, kLongestLine).find("\r\n");
  if (line == std::string_view::npos) return false;
  const std::string_view rest = bytes.substr(1, line - 1);
  int64_t value = 0;
  switch (bytes[0]) {
    case '+':
    case '-':
      for (const char c : rest) {
        if (c < ' ' || c > '~') return false;
      }
      return !rest.empty();
    case ':':
    case '$':
    case '*':
    case '%':
    case '~':
    case '>':
      return Number(rest, value);
    case '_':
      return rest.empty();
    default:
      return false;
  }
}

bool RedisDialogue::StartsHere(End from, std::string_view bytes) {
  return RoleKnown() && IsClient(from) ? LooksLikeRedisCommand(bytes) : LooksLikeRedisReply(bytes);
}

void RedisDialogue::Lost(End from) {
  values_[from].open = false;
  OrderedDialogue::Lost(from);
}

void RedisDialogue::Begin(End from, char type) {
  Value& value = values_[from];
  value.open = true;
  value.type = type;
  value.missing = 1;
  value.size = value.read = 0;
  value.bytes = 0;
  value.start = FirstTime(from);
  value.sequence = FirstSequence(from);
  for (std::string& word : value.words) word.clear();
  if (IsClient(from)) RequestBegins();
}

size_t RedisDialogue::Parse(End from, std::string_view bytes) {
  if (!RoleKnown() && LooksLikeRedisCommand(bytes)) context().client = from;
  if (!RoleKnown()) {
    LoseWay(from);
    return bytes.size();
  }
  const size_t line = bytes.find("\r\n");
  if (line == std::string_view::npos) {
    if (bytes.size() > kLongestLine) LoseWay(from);
    return 0;
  }
  if (line == 0) return 2;  // an empty inline command
  return ParseLine(from, bytes, bytes.substr(0, line));
}

size_t RedisDialogue::ParseLine(End from, std::string_view bytes, std::string_view line) {
  const char type = line[0];
  Value& value = values_[from];
  const bool outermost = !value.open;
  int64_t count = 0;
  const bool numbered = Number(line.substr(1), count);
  switch (type) {
    case '$':
    case '!':
    case '=':
      if (!numbered || count < -1 || count > kLongestText) break;
      if (count >= 0) return ParseText(from, bytes, line.size(), static_cast<uint64_t>(count));
      if (outermost) Begin(from, type);
      value.bytes += static_cast<int64_t>(line.size()) + 2;
      ScalarRead(from, {});
      return line.size() + 2;
    case '*':
    case '~':
    case '>':
    case '%':
    case '|': {
      if (!numbered || count < -1 || count > kMostElements) break;
      if (outermost) Begin(from, type);
      const auto elements =
          static_cast<uint64_t>(count < 0 ? 0 : count) * (type == '%' || type == '|' ? 2 : 1);
      if (outermost) value.size = elements;
      value.bytes += static_cast<int64_t>(line.size()) + 2;
      // An attribute stands before the value that it is about.
      value.missing += elements - (type == '|' ? 0 : 1);
      if (outermost && type == '|') value.type = 0;
      if (value.missing > static_cast<uint64_t>(kMostElements) * 4) break;
      if (value.missing == 0) ValueEnds(from);
      return line.size() + 2;
    }
    case '+':
    case '-':
    case ':':
    case '_':
    case ',':
    case '#':
    case '(':
      if (outermost) Begin(from, type);
      value.bytes += static_cast<int64_t>(line.size()) + 2;
      ScalarRead(from, line.substr(1));
      return line.size() + 2;
    default:
      // A command as typed into telnet.
      if (!outermost || !IsClient(from) || type < ' ' || type > '~') break;
      Begin(from, ' ');
      value.bytes = static_cast<int64_t>(line.size()) + 2;
      ScalarRead(from, line.substr(0, line.find(' ')));
      return line.size() + 2;
  }
  LoseWay(from);
  return bytes.size();
}

// `length` bytes and an end of line behind the line of `line` bytes.
size_t RedisDialogue::ParseText(End from, std::string_view bytes, size_t line, uint64_t length) {
  Value& value = values_[from];
  const size_t head = line + 2, whole = head + length + 2;
  const bool word = length <= kLongestWord && (!value.open || value.read < 3);
  if (word && bytes.size() < whole) return 0;
  if (!value.open) Begin(from, bytes[0]);
  value.bytes += static_cast<int64_t>(whole);
  if (word) {
    ScalarRead(from, bytes.substr(head, length));
    return whole;
  }
  Skip(from, length + 2);
  return head;
}

void RedisDialogue::Skipped(End from) { ScalarRead(from, {}); }

void RedisDialogue::ScalarRead(End from, std::string_view text) {
  Value& value = values_[from];
  if (value.read < 3) value.words[value.read].assign(text.substr(0, kLongestWord));
  ++value.read;
  if (--value.missing == 0) ValueEnds(from);
}

void RedisDialogue::ValueEnds(End from) {
  Value& value = values_[from];
  value.open = false;
  if (IsClient(from)) {
    CommandEnds(value);
  } else {
    ReplyValueEnds(value);
  }
}

void RedisDialogue::CommandEnds(const Value& value) {
  const std::string& command = value.words[0];
  request_.bytes = value.bytes;
  const bool toggles = Is(command, "client") && Is(value.words[1], "reply");
  const bool unanswered = replies_ != Replies::kOn || (toggles && !Is(value.words[2], "on"));
  if (replies_ == Replies::kSkipNext) replies_ = Replies::kOn;
  if (toggles) {
    replies_ = Is(value.words[2], "on")     ? Replies::kOn
               : Is(value.words[2], "skip") ? Replies::kSkipNext
                                            : Replies::kOff;
  }
  if (unanswered && !(toggles && replies_ == Replies::kOn)) {
    ForgetNewest();
    request_.open = false;
    set_untold_since(kNothingUntold);
    if (!request_.told) EmitMessage(context().client, value.sequence, value.start, value.bytes);
    return;
  }
  // Subscribing to n channels is answered n times; the last answer is the return.
  uint32_t answers = 1;
  if (IsSubscription(command) && value.size > 1) answers = static_cast<uint32_t>(value.size - 1);
  if (Exchange* newest = Newest()) newest->note = answers;
  if (Is(command, "monitor")) monitoring_ = true;
  // What follows is the replication stream: commands the other way round, and a snapshot.
  if (Is(command, "psync") || Is(command, "sync")) {
    RequestEnds();
    Become(Protocol::kBlind);
    return;
  }
  RequestEnds();
}

// A message without a request: of a subscription, an invalidation, or of MONITOR.
bool RedisDialogue::IsPush(const Value& value) const {
  const std::string& kind = value.words[0];
  if (value.type == '>') return !IsSubscription(kind);
  if (value.type == '*' && value.size >= 3 && EndsWith(kind, "message")) {
    return Is(kind, "message") || Is(kind, "pmessage") || Is(kind, "smessage");
  }
  return value.type == '+' && monitoring_ && !Waiting();
}

void RedisDialogue::ReplyValueEnds(const Value& value) {
  const End server = OtherEnd(context().client);
  if (IsPush(value)) {
    EmitMessage(server, value.sequence, value.start, value.bytes);
    return;
  }
  Exchange* oldest = Oldest();
  const bool confirmation =
      IsSubscription(value.words[0]) && (value.type == '*' || value.type == '>');
  if (oldest != nullptr && oldest->note > 1 && confirmation) {
    --oldest->note;
    return;
  }
  // "Unsubscribe from all" is answered once for each.
  if (oldest == nullptr && confirmation) {
    ++counts().control;
    return;
  }
  ReplyBegins();
  reply_.bytes = value.bytes;
  ReplyEnds();
}

}  // namespace wf::pcap
