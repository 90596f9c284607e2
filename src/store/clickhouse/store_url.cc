#include "store/clickhouse/store_url.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/hex_digit.h"
#include "store/clickhouse/clickhouse_store.h"

namespace wf::store::clickhouse {
namespace {

constexpr std::string_view kScheme = "clickhouse://";
constexpr char kForm[] =
    "write clickhouse://[user[:password]@]host:port[,host:port…]/DATABASE[?cluster=NAME]";

Error Bad(const std::string& what) { return BadInput("clickhouse:// address: " + what, kForm); }

Result<std::string> Decode(std::string_view text, const char* part) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      return Bad(std::string("the ") + part + " has a % that two hex digits do not follow");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  // Both travel as header fields.
  if (out.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
    return Bad(std::string("the ") + part + " holds a line break");
  return out;
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 100 && std::isdigit(text[0] & 0x7f) == 0 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

Result<ShardAddress> ParseShard(std::string_view text, size_t number) {
  const std::string which = "shard " + std::to_string(number);
  ShardAddress out;
  std::string_view rest;
  if (!text.empty() && text[0] == '[') {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return Bad(which + ": \"[\" without \"]\"");
    out.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const size_t colon = text.find(':');
    out.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? "" : text.substr(colon);
  }
  if (out.host.empty()) return Bad(which + " has no host");
  if (out.host.find_first_of(" \t\r\n/@?#") != std::string::npos)
    return Bad(which + ": a host has no such characters");
  if (rest.empty()) {
    out.port = 8123;
    return out;
  }
  rest.remove_prefix(1);
  unsigned port = 0;
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), port);
  if (failed != std::errc() || end != rest.data() + rest.size() || port == 0 || port > 65535)
    return Bad(which + ": its port is a number from 1 to 65535");
  out.port = static_cast<uint16_t>(port);
  return out;
}

Result<bool> ParseSwitch(std::string_view value, const char* name) {
  if (value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  return Bad(std::string(name) + " is 0 or 1");
}

}  // namespace

std::string ShardAddress::text() const {
  return (host.find(':') != std::string::npos ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

std::string StoreUrl::display() const {
  std::string out(kScheme);
  if (user != "default") out += user + "@";
  for (size_t i = 0; i < shards.size(); ++i) out += (i == 0 ? "" : ",") + shards[i].text();
  return out + "/" + database;
}

Result<StoreUrl> ParseStoreUrl(std::string_view text) {
  if (text.substr(0, kScheme.size()) != kScheme) return Bad("it does not begin so");
  text.remove_prefix(kScheme.size());
  StoreUrl out;
  // The password may hold an @ or a / that somebody forgot to encode: the last @ before the hosts ends it.
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = text.substr(0, at);
    text.remove_prefix(at + 1);
    const size_t colon = who.find(':');
    WF_ASSIGN(out.user, Decode(who.substr(0, colon), "user"));
    if (colon != std::string_view::npos) {
      WF_ASSIGN(out.password, Decode(who.substr(colon + 1), "password"));
    }
    if (out.user.empty()) return Bad("the user before @ is empty");
  }
  std::string_view parameters;
  if (const size_t mark = text.find('?'); mark != std::string_view::npos) {
    parameters = text.substr(mark + 1);
    text = text.substr(0, mark);
  }
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return Bad("the database is missing");
  out.database = text.substr(slash + 1);
  if (!IsName(out.database))
    return Bad("the database's name is of letters, digits and _, and begins with no digit");
  for (std::string_view hosts = text.substr(0, slash);;) {
    const size_t comma = hosts.find(',');
    WF_ASSIGN(ShardAddress shard, ParseShard(hosts.substr(0, comma), out.shards.size() + 1));
    out.shards.push_back(std::move(shard));
    if (comma == std::string_view::npos) break;
    hosts.remove_prefix(comma + 1);
  }
  std::sort(out.shards.begin(), out.shards.end(),
            [](const ShardAddress& a, const ShardAddress& b) { return a.text() < b.text(); });
  for (size_t i = 1; i < out.shards.size(); ++i) {
    if (out.shards[i].text() == out.shards[i - 1].text())
      return Bad("shard " + out.shards[i].text() + " is listed twice");
  }
  while (!parameters.empty()) {
    const size_t amp = parameters.find('&');
    const std::string_view one = parameters.substr(0, amp);
    parameters = amp == std::string_view::npos ? "" : parameters.substr(amp + 1);
    const size_t equals = one.find('=');
    const std::string_view name = one.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1);
    if (name == "cluster") {
      out.cluster = value;
      if (!IsName(out.cluster)) return Bad("the cluster's name is of letters, digits and _");
    } else if (name == "secure") {
      WF_ASSIGN(out.secure, ParseSwitch(value, "secure"));
    } else if (name == "compression") {
      if (value != "gzip" && value != "none") return Bad("compression is gzip or none");
      out.compress = value == "gzip";
    } else {
      return Bad("there are the parameters cluster, secure and compression");
    }
  }
  if (out.shards.size() > 1 && out.cluster.empty())
    return Bad("several shards need ?cluster=NAME, as their remote_servers calls them");
  return out;
}

bool IsClickhouseUrl(std::string_view text) {
  return text.substr(0, clickhouse::kScheme.size()) == clickhouse::kScheme;
}

}  // namespace wf::store::clickhouse
