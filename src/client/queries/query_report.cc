#include "client/queries/query_report.h"

#include <cstdio>

namespace wherefore::client {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void AppendMember(const char* name, uint64_t value, std::string& out) {
  out.append(",\"").append(name).append("\":").append(std::to_string(value));
}

std::string HeadOf(const QueryInterval& interval, uint64_t number,
                   const wf::advice::Results& results) {
  std::string json = "{\"query\":\"" + QueryIdText(interval.query->program.query) + "\"";
  AppendMember("seq", number, json);
  json.append(",\"start_ns\":").append(std::to_string(interval.start_ns));
  json.append(",\"end_ns\":").append(std::to_string(interval.end_ns()));
  return json.append(",\"partial\":\"").append(ToBase64(results.Encode())).append("\"");
}

}  // namespace

void AppendJsonText(std::string_view text, std::string& out) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out.append(escape);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (size_t i = 0; i < 4; ++i)
      text.push_back(i <= count ? kAlphabet[bits >> (18 - 6 * i) & 63] : '=');
  }
  return text;
}

bool FromBase64(std::string_view text, std::string& bytes) {
  bytes.clear();
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return false;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+' || c == '-' ? 62
                      : c == '/' || c == '_' ? 63
                                             : -1;
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return true;
}

std::string QueryIdText(uint64_t id) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

bool ParseQueryId(std::string_view text, uint64_t& id) {
  if (text.size() != 16) return false;
  id = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    id = id << 4 | static_cast<uint64_t>(digit);
  }
  return true;
}

std::string TracepointsJson(const std::vector<TracepointKind>& tracepoints) {
  std::string json = "[";
  for (const TracepointKind& tracepoint : tracepoints) {
    json.append(json.size() > 1 ? "," : "").append("{\"name\":");
    AppendJsonText(tracepoint.name, json);
    json.append(",\"exports\":[");
    for (size_t i = 0; i < tracepoint.exports.size(); ++i) {
      json.append(i != 0 ? "," : "");
      AppendJsonText(tracepoint.exports[i], json);
    }
    json.append("]}");
  }
  return json.append("]");
}

std::string IntervalJson(const QueryInterval& interval, uint64_t number, uint64_t overflowed,
                         double ns_per_tick) {
  std::string json = HeadOf(interval, number, interval.results);
  AppendMember("tuples", interval.results.tuples() + interval.events.count(), json);
  AppendMember("lost", interval.lost + interval.results.lost(), json);
  AppendMember("overflowed", interval.overflowed + overflowed, json);
  AppendMember("packed_tuples_max", interval.packed_tuples_max, json);
  AppendMember("baggage_bytes_max", interval.baggage_bytes_max, json);
  AppendMember("advice_ns",
               static_cast<uint64_t>(static_cast<double>(interval.advice_ticks) * ns_per_tick),
               json);
  AppendMember("hits", interval.hits, json);
  return json.append("}");
}

std::string EventsJson(const QueryInterval& interval, uint64_t number, std::string_view events) {
  const wf::advice::Results none(interval.query->program);
  std::string json = HeadOf(interval, number, none);
  return json.append(",\"events\":\"").append(ToBase64(events)).append("\"}");
}

}  // namespace wherefore::client
