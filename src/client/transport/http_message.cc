#include "client/transport/http_message.h"

#include <charconv>

namespace wherefore::client {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool ParseSize(std::string_view text, int base, size_t& value) {
  if (text.empty()) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseHead(std::string_view head, HttpMessage& message) {
  size_t line_end = head.find("\r\n");
  message.start_line = std::string(head.substr(0, line_end));
  if (message.start_line.empty()) return false;
  while (line_end != std::string_view::npos) {
    head.remove_prefix(line_end + 2);
    line_end = head.find("\r\n");
    const std::string_view line = head.substr(0, line_end);
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    message.headers.emplace_back(Lower(line.substr(0, colon)),
                                 std::string(Trim(line.substr(colon + 1))));
  }
  return true;
}

// "HTTP/1.1 204 No Content" → 204; 0 if it is not a status line.
int StatusOf(std::string_view start_line) {
  const size_t space = start_line.find(' ');
  size_t status = 0;
  if (space == std::string_view::npos || !ParseSize(start_line.substr(space + 1, 3), 10, status)) {
    return 0;
  }
  return static_cast<int>(status);
}

// Appends the chunks to `body`; `used` is how much of `bytes` they took.
TakeResult TakeChunks(std::string_view bytes, std::string& body, size_t& used) {
  size_t at = 0;
  while (true) {
    const size_t line_end = bytes.find("\r\n", at);
    if (line_end == std::string_view::npos) {
      return bytes.size() - at > 1024 ? TakeResult::kMalformed : TakeResult::kNeedsMore;
    }
    std::string_view line = bytes.substr(at, line_end - at);
    line = Trim(line.substr(0, line.find(';')));
    size_t size = 0;
    if (!ParseSize(line, 16, size) || size > kMaxHttpBody - body.size()) {
      return TakeResult::kMalformed;
    }
    at = line_end + 2;
    if (size == 0) break;
    if (bytes.size() - at < size + 2) return TakeResult::kNeedsMore;
    if (bytes.substr(at + size, 2) != "\r\n") return TakeResult::kMalformed;
    body.append(bytes.substr(at, size));
    at += size + 2;
  }
  // Trailers, up to an empty line.
  while (true) {
    const size_t line_end = bytes.find("\r\n", at);
    if (line_end == std::string_view::npos) {
      return bytes.size() - at > kMaxHttpHead ? TakeResult::kMalformed : TakeResult::kNeedsMore;
    }
    const bool last = line_end == at;
    at = line_end + 2;
    if (last) break;
  }
  used = at;
  return TakeResult::kTaken;
}

}  // namespace

std::string_view HttpMessage::Header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

TakeResult TakeHttpMessage(HttpKind kind, StreamState stream, std::string& buffer,
                           HttpMessage& message) {
  // A peer that ends in the middle of a message will not complete it.
  const TakeResult incomplete =
      stream == StreamState::kEnded ? TakeResult::kMalformed : TakeResult::kNeedsMore;
  message = {};
  const size_t head_end = buffer.find("\r\n\r\n");
  if (head_end == std::string::npos) {
    return buffer.size() > kMaxHttpHead ? TakeResult::kMalformed : incomplete;
  }
  if (head_end > kMaxHttpHead) return TakeResult::kMalformed;
  if (!ParseHead(std::string_view(buffer).substr(0, head_end), message)) {
    return TakeResult::kMalformed;
  }
  const std::string_view rest = std::string_view(buffer).substr(head_end + 4);
  size_t used = 0;

  const int status = kind == HttpKind::kResponse ? StatusOf(message.start_line) : 0;
  if (kind == HttpKind::kResponse && (status < 100 || status > 599)) return TakeResult::kMalformed;
  if (status >= 100 && status < 200) {
    buffer.erase(0, head_end + 4);
    return TakeHttpMessage(kind, stream, buffer, message);
  }

  const std::string_view length = message.Header("content-length");
  if (Lower(message.Header("transfer-encoding")) == "chunked") {
    const TakeResult taken = TakeChunks(rest, message.body, used);
    if (taken == TakeResult::kNeedsMore) return incomplete;
    if (taken == TakeResult::kMalformed) return taken;
  } else if (!message.Header("transfer-encoding").empty()) {
    return TakeResult::kMalformed;  // a coding we did not ask for
  } else if (!length.empty()) {
    if (!ParseSize(length, 10, used) || used > kMaxHttpBody) return TakeResult::kMalformed;
    if (rest.size() < used) return incomplete;
    message.body = std::string(rest.substr(0, used));
  } else if (kind == HttpKind::kResponse && status != 204 && status != 304) {
    if (rest.size() > kMaxHttpBody) return TakeResult::kMalformed;
    if (stream == StreamState::kOpen) return TakeResult::kNeedsMore;
    used = rest.size();
    message.body = std::string(rest);
  }
  buffer.erase(0, head_end + 4 + used);
  return TakeResult::kTaken;
}

}  // namespace wherefore::client
