#include "import/pcap/http1_dialogue.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace wf::pcap {
namespace {

constexpr size_t kLongestMethod = 32;
constexpr size_t kLongestChunkLine = 4096;

bool IsMethodCharacter(char c) { return (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; }

bool SameText(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && ::strncasecmp(a.data(), lower.data(), a.size()) == 0;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// An empty line, as it ends a head.
bool HasEnd(std::string_view bytes) {
  return bytes.find("\n\r\n") != std::string_view::npos ||
         bytes.find("\n\n") != std::string_view::npos;
}

// Is `token` one of a list of them? Case does not matter.
bool Lists(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (SameText(Trimmed(list.substr(0, comma)), token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

bool LooksLikeHttp1Request(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size() && at < kLongestMethod && IsMethodCharacter(bytes[at])) ++at;
  if (at < 3 || at + 1 >= bytes.size() || bytes[at] != ' ' || bytes[at + 1] <= ' ') return false;
  const size_t line = bytes.find('\n');
  if (line != std::string_view::npos) {
    const std::string_view first = Trimmed(bytes.substr(0, line));
    return first.size() > 9 && first.substr(first.size() - 9, 8) == " HTTP/1.";
  }
  // The line goes on: known methods only.
  for (const std::string_view method :
       {"GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"}) {
    if (bytes.substr(0, at) == method) return true;
  }
  return false;
}

bool LooksLikeHttp1Response(std::string_view bytes) {
  return bytes.size() >= 10 && bytes.substr(0, 7) == "HTTP/1." && bytes[8] == ' ' &&
         bytes[9] >= '1' && bytes[9] <= '9';
}

bool Http1Dialogue::StartsHere(End from, std::string_view bytes) {
  if (!RoleKnown()) return LooksLikeHttp1Request(bytes) || LooksLikeHttp1Response(bytes);
  return IsClient(from) ? LooksLikeHttp1Request(bytes) : LooksLikeHttp1Response(bytes);
}

// Reads the fields behind the first line, up to the empty line that ends the head: how many bytes they take with it, 0
// if it is not there. One pass: of a line without interest only its first byte is looked at.
size_t Http1Dialogue::ReadFields(std::string_view fields, Body& body) {
  const char* at = fields.data();
  const char* const end = at + fields.size();
  while (at < end) {
    const char first = static_cast<char>(*at | 0x20);
    const auto* newline = static_cast<const char*>(std::memchr(at, '\n', end - at));
    if (newline == nullptr) return 0;
    const std::string_view line(at, newline - at);
    at = newline + 1;
    if (line.empty() || (line.size() == 1 && line[0] == '\r')) return at - fields.data();
    if (first == 'c' || first == 't') ReadField(line, body);
  }
  return 0;
}

void Http1Dialogue::ReadField(std::string_view line, Body& body) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  if (name.size() == 14 && SameText(name, "content-length")) {
    const std::string_view value = Trimmed(line.substr(colon + 1));
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), body.length);
    if (parsed.ec != std::errc()) body.nonsense = true;
    body.has_length = true;
  } else if (SameText(name, "transfer-encoding")) {
    if (Lists(line.substr(colon + 1), "chunked")) body.chunked = true;
  }
}

bool Http1Dialogue::CanBecomeHead(End from, std::string_view bytes) const {
  constexpr std::string_view kVersion = "HTTP/1.";
  const bool response = bytes.substr(0, kVersion.size()) == kVersion.substr(0, bytes.size());
  if (RoleKnown() && !IsClient(from)) return response;
  const size_t space = std::min(bytes.find(' '), bytes.size());
  const bool request = space <= kLongestMethod &&
                       std::all_of(bytes.begin(), bytes.begin() + space, IsMethodCharacter);
  return request || (!RoleKnown() && response);
}

size_t Http1Dialogue::ParseHead(End from, std::string_view bytes) {
  // Some clients send an empty line behind a body (RFC 9112 §2.2).
  if (bytes[0] == '\r' || bytes[0] == '\n') {
    searched_[from] = 0;
    return 1;
  }
  // A head that comes in many pieces is searched for its end first, from where the last search stopped.
  size_t size = 0;
  Body body;
  const size_t begin = searched_[from] >= 3 ? searched_[from] - 3 : 0;
  if (begin == 0 || HasEnd(bytes.substr(begin))) {
    const auto* line = static_cast<const char*>(std::memchr(bytes.data(), '\n', bytes.size()));
    if (line != nullptr) {
      const size_t first = line - bytes.data() + 1;
      const size_t fields = ReadFields(bytes.substr(first), body);
      size = fields == 0 ? 0 : first + fields;
    }
  }
  if (size == 0) {
    // What cannot become a head is not waited for.
    if (!CanBecomeHead(from, bytes)) {
      LoseWay(from);
      return bytes.size();
    }
    searched_[from] = bytes.size();
    return 0;
  }
  searched_[from] = 0;
  const std::string_view head = bytes.substr(0, size);
  const bool response = LooksLikeHttp1Response(head);
  if (!RoleKnown() && (response || LooksLikeHttp1Request(head)))
    context().client = response ? OtherEnd(from) : from;
  const bool understood = !body.nonsense && RoleKnown() &&
                          (IsClient(from) ? LooksLikeHttp1Request(head) && ParseRequest(head, body)
                                          : response && ParseResponse(head, body));
  if (!understood) {
    LoseWay(from);
    return bytes.size();
  }
  return head.size();
}

bool Http1Dialogue::ParseRequest(std::string_view head, const Body& body) {
  Note note = kPlain;
  if (head.substr(0, 5) == "HEAD ") note = kHeadMethod;
  if (head.substr(0, 8) == "CONNECT ") note = kConnectMethod;
  RequestBegins(note);
  request_.bytes = static_cast<int64_t>(head.size());
  Body followed = body;
  // Without either field a request has no body.
  if (!followed.chunked && !followed.has_length) followed.has_length = true;
  Follow(context().client, followed);
  return true;
}

bool Http1Dialogue::ParseResponse(std::string_view head, const Body& body) {
  int status = 0;
  if (head.size() < 12) return false;
  const auto parsed = std::from_chars(head.data() + 9, head.data() + 12, status);
  if (parsed.ptr != head.data() + 12) return false;
  const End server = OtherEnd(context().client);
  if (status < 200 && status != 101) {
    ++counts().control;
    return true;  // the answer itself is still to come
  }
  ReplyBegins();
  reply_.bytes = static_cast<int64_t>(head.size());
  const uint32_t note = reply_.matched ? reply_.exchange.note : uint32_t{kPlain};
  if (status == 101 || (note == kConnectMethod && status < 300)) {
    Become(Protocol::kUndecided);
    ReplyEnds();
    return true;
  }
  Body followed = body;
  if (note == kHeadMethod || status == 204 || status == 304) {
    followed = {};
    followed.has_length = true;
  }
  Follow(server, followed);
  return true;
}

void Http1Dialogue::Follow(End from, const Body& body) {
  if (body.chunked) {
    reading_[from] = Reading::kChunkSize;
  } else if (!body.has_length) {
    reading_[from] = Reading::kRest;
  } else if (body.length != 0) {
    reading_[from] = Reading::kBody;
    Count(from, body.length);
    Skip(from, body.length);
  } else {
    Ends(from);
  }
}

void Http1Dialogue::Ends(End from) {
  reading_[from] = Reading::kHead;
  if (IsClient(from)) {
    RequestEnds();
  } else {
    ReplyEnds();
  }
}

size_t Http1Dialogue::Parse(End from, std::string_view bytes) {
  switch (reading_[from]) {
    case Reading::kHead:
      return ParseHead(from, bytes);
    case Reading::kRest:
      Count(from, bytes.size());
      return bytes.size();
    case Reading::kChunkSize: {
      const size_t newline = bytes.find('\n');
      if (newline == std::string_view::npos) {
        if (bytes.size() > kLongestChunkLine) LoseWay(from);
        return 0;
      }
      uint64_t size = 0;
      const auto parsed = std::from_chars(bytes.data(), bytes.data() + newline, size, 16);
      if (parsed.ec != std::errc() || size > uint64_t{1} << 62) {
        LoseWay(from);
        return 0;
      }
      Count(from, newline + 1);
      if (size == 0) {
        reading_[from] = Reading::kTrailer;
      } else {
        reading_[from] = Reading::kChunk;
        Count(from, size + 2);
        Skip(from, size + 2);
      }
      return newline + 1;
    }
    case Reading::kTrailer: {
      const size_t newline = bytes.find('\n');
      if (newline == std::string_view::npos) {
        if (bytes.size() > kLongestChunkLine) LoseWay(from);
        return 0;
      }
      Count(from, newline + 1);
      if (newline == 0 || (newline == 1 && bytes[0] == '\r')) Ends(from);
      return newline + 1;
    }
    case Reading::kBody:
    case Reading::kChunk:
      break;  // passed over by Skip
  }
  LoseWay(from);
  return 0;
}

void Http1Dialogue::Skipped(End from) {
  if (reading_[from] == Reading::kChunk) {
    reading_[from] = Reading::kChunkSize;
  } else {
    Ends(from);
  }
}

// A head whose end is lost: the message has begun all the same, and lasts until the other end speaks.
void Http1Dialogue::Broken(End from, std::string_view bytes) {
  if (reading_[from] != Reading::kHead || !RoleKnown() || !StartsHere(from, bytes)) return;
  if (IsClient(from)) {
    RequestBegins();
  } else if (bytes[9] != '1') {
    ReplyBegins();
    reply_.bytes = static_cast<int64_t>(bytes.size());
  }
}

void Http1Dialogue::Lost(End from) {
  reading_[from] = Reading::kHead;
  searched_[from] = 0;
  OrderedDialogue::Lost(from);
}

void Http1Dialogue::Closed(End from) {
  OrderedDialogue::Closed(from);
  reading_[from] = Reading::kHead;
}

}  // namespace wf::pcap
