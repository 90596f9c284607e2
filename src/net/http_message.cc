#include "net/http_message.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/hex_digit.h"

namespace wf::net {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

enum class Plus { kStays, kIsSpace };

Result<std::string> PercentDecode(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return BadInput(
            fmt::format("request target: \"{}\" is not a percent-encoded byte", text.substr(i, 3)),
            "write a literal % as %25");
      }
      c = static_cast<char>(high * 16 + low);
      if (c == '\0') return BadInput("request target: contains a zero byte (%00)", "remove it");
      i += 2;
    } else if (c == '+' && plus == Plus::kIsSpace) {
      c = ' ';
    }
    out.push_back(c);
  }
  return out;
}

void AppendJsonString(std::string* out, std::string_view text) {
  out->push_back('"');
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (byte < 0x20) {
      fmt::format_to(std::back_inserter(*out), "\\u{:04x}", byte);
    } else if (byte < 0x80) {
      out->push_back(c);
    } else {
      out->append("\\ufffd");  // the text may quote a request: its bytes need not be UTF-8
    }
  }
  out->push_back('"');
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Lower(a[i]) != Lower(b[i])) return false;
  }
  return true;
}

std::string_view HttpHeaders::Get(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (EqualsIgnoringCase(key, name)) return value;
  }
  return {};
}

bool HttpHeaders::Has(std::string_view name) const {
  for (const auto& field : fields_) {
    if (EqualsIgnoringCase(field.first, name)) return true;
  }
  return false;
}

const std::string* HttpRequest::Query(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

HttpResponder::~HttpResponder() {
  if (sink_) {
    sink_(ErrorResponse(500, "internal", "the request was dropped without a response",
                        "this is a bug in wherefore: please report it with the server's log"));
  }
}

void HttpResponder::operator()(HttpResponse response) {
  WF_CHECK(sink_ != nullptr);  // answered twice, or moved from
  std::exchange(sink_, nullptr)(std::move(response));
}

Result<HttpTarget> ParseTarget(std::string_view target) {
  HttpTarget parsed;
  size_t scheme = target.find("://");
  if (!target.empty() && target.front() != '/' && scheme != std::string_view::npos) {
    size_t path = target.find_first_of("/?", scheme + 3);
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  size_t question = target.find('?');
  WF_ASSIGN(parsed.path, PercentDecode(target.substr(0, question), Plus::kStays));
  if (parsed.path.empty()) parsed.path = "/";
  if (question == std::string_view::npos) return parsed;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    size_t amp = rest.find('&');
    std::string_view pair = rest.substr(0, amp);
    rest = amp == std::string_view::npos ? std::string_view() : rest.substr(amp + 1);
    if (pair.empty()) continue;
    size_t equals = pair.find('=');
    WF_ASSIGN(std::string key, PercentDecode(pair.substr(0, equals), Plus::kIsSpace));
    std::string value;
    if (equals != std::string_view::npos) {
      WF_ASSIGN(value, PercentDecode(pair.substr(equals + 1), Plus::kIsSpace));
    }
    parsed.query.emplace_back(std::move(key), std::move(value));
  }
  return parsed;
}

HttpResponse ErrorResponse(int status, std::string_view code, std::string_view message,
                           std::string_view hint) {
  HttpResponse response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/json");
  response.body = "{\"error\":{\"code\":";
  AppendJsonString(&response.body, code);
  response.body += ",\"message\":";
  AppendJsonString(&response.body, message);
  response.body += ",\"hint\":";
  AppendJsonString(&response.body, hint);
  response.body += "}}\n";
  return response;
}

}  // namespace wf::net
