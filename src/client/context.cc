// W3C Trace Context, level 2: https://www.w3.org/TR/trace-context-2/
#include "wherefore/context.h"

#include <utility>

namespace wherefore {
namespace {

thread_local RequestContext current_context;

constexpr size_t kVersion00Length = 55;  // 2 + 1 + 32 + 1 + 16 + 1 + 2
constexpr size_t kTracestateLimit = 512;
constexpr int kTracestateMembers = 32;
constexpr uint8_t kKnownFlags = 0x03;  // sampled, random; unknown ones must not travel on

// Lower-case only: the recommendation forbids upper case.
bool ParseHex(std::string_view text, uint64_t& value) {
  value = 0;
  for (char c : text) {
    int digit;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else {
      return false;
    }
    value = value << 4 | static_cast<uint64_t>(digit);
  }
  return true;
}

void AppendHex(uint64_t value, int digits, std::string& out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out.push_back("0123456789abcdef"[value >> shift & 15]);
  }
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool ValidMember(std::string_view member) {
  const size_t equals = member.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals > 256) return false;
  for (char c : member.substr(0, equals)) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                         c == '*' || c == '/' || c == '@';
    if (!allowed) return false;
  }
  const std::string_view value = member.substr(equals + 1);
  if (value.empty() || value.size() > 256) return false;
  for (char c : value) {
    if (c < 0x20 || c > 0x7E || c == ',' || c == '=') return false;
  }
  return true;
}

bool ValidTracestate(std::string_view text) {
  if (text.size() > kTracestateLimit) return false;
  int members = 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view member = Trim(text.substr(0, comma));
    if (!member.empty() && (!ValidMember(member) || ++members > kTracestateMembers)) return false;
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return true;
}

}  // namespace

RequestContext::RequestContext(TraceId trace, BlockId block, uint8_t flags, std::string tracestate,
                               Origin origin)
    : trace_(trace),
      block_(block),
      flags_(flags),
      origin_(origin),
      tracestate_(std::move(tracestate)) {}

std::optional<RequestContext> RequestContext::FromHeaders(std::string_view traceparent,
                                                          std::string_view tracestate) {
  const std::string_view text = Trim(traceparent);
  if (text.size() < kVersion00Length) return std::nullopt;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  uint64_t version, hi, lo, block, flags;
  if (!ParseHex(text.substr(0, 2), version) || !ParseHex(text.substr(3, 16), hi) ||
      !ParseHex(text.substr(19, 16), lo) || !ParseHex(text.substr(36, 16), block) ||
      !ParseHex(text.substr(53, 2), flags)) {
    return std::nullopt;
  }
  if (version == 0xFF) return std::nullopt;
  if (version == 0 && text.size() != kVersion00Length) return std::nullopt;
  // A later version may append fields, never change these.
  if (text.size() > kVersion00Length && text[kVersion00Length] != '-') return std::nullopt;
  const TraceId trace{hi, lo};
  if (!trace.valid() || block == 0) return std::nullopt;
  const std::string_view state = Trim(tracestate);
  return RequestContext(trace, block, static_cast<uint8_t>(flags & kKnownFlags),
                        ValidTracestate(state) ? std::string(state) : std::string(),
                        Origin::kRemote);
}

RequestContext RequestContext::Current() { return current_context; }

std::string RequestContext::Traceparent() const {
  std::string text;
  if (!valid()) return text;
  text.reserve(kVersion00Length);
  text += "00-";
  AppendHex(trace_.hi, 16, text);
  AppendHex(trace_.lo, 16, text);
  text += '-';
  AppendHex(block_, 16, text);
  text += '-';
  AppendHex(flags_, 2, text);
  return text;
}

std::string RequestContext::TraceHex() const {
  std::string text;
  AppendHex(trace_.hi, 16, text);
  AppendHex(trace_.lo, 16, text);
  return text;
}

std::string RequestContext::BlockHex() const {
  std::string text;
  AppendHex(block_, 16, text);
  return text;
}

ContextScope::ContextScope(RequestContext context)
    : previous_(std::exchange(current_context, std::move(context))) {}

ContextScope::~ContextScope() { current_context = std::move(previous_); }

}  // namespace wherefore
