#include "bus/kafka/kafka_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "bus/kafka/kafka_bus.h"

namespace wf::bus::kafka {
namespace {

constexpr std::string_view kScheme = "kafka://";
constexpr std::string_view kForm = "write kafka://HOST:PORT[,HOST:PORT]/TOPIC";

Result<std::string> Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    unsigned value = 0;
    const char* begin = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2)
      return BadInput("bus URL: % without two hexadecimal digits", "write % itself as %25");
    out.push_back(static_cast<char>(value));
    i += 2;
  }
  return out;
}

Result<int32_t> Number(std::string_view name, std::string_view text, int32_t most) {
  int32_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
    return BadInput(fmt::format("bus URL: {}={}", name, text),
                    fmt::format("give a number from 1 to {}", most));
  return value;
}

// Kafka's own rule, less what our endings need.
bool GoodTopic(std::string_view topic) {
  return !topic.empty() && topic.size() <= 230 && topic != "." && topic != ".." &&
         std::all_of(topic.begin(), topic.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

Status CheckBrokers(std::string_view brokers) {
  for (size_t begin = 0; begin <= brokers.size();) {
    const size_t comma = std::min(brokers.find(',', begin), brokers.size());
    const std::string_view one = brokers.substr(begin, comma - begin);
    const size_t colon = one.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
      return BadInput(fmt::format("bus URL: broker `{}` has no HOST:PORT", one),
                      std::string(kForm));
    WF_TRY(Number("port", one.substr(colon + 1), 65535));
    begin = comma + 1;
  }
  return {};
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace

bool IsSecretProperty(std::string_view name) {
  constexpr std::array<std::string_view, 6> kSecret = {"password", "secret", "key",
                                                       "token",    "jaas",   "oauthbearer.config"};
  return std::any_of(kSecret.begin(), kSecret.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

Result<KafkaUrl> ParseKafkaUrl(std::string_view url) {
  KafkaUrl out;
  if (url.substr(0, kScheme.size()) != kScheme)
    return BadInput("bus URL: not one of Kafka", std::string(kForm));
  url.remove_prefix(kScheme.size());
  const size_t question = std::min(url.find('?'), url.size());
  std::string_view query = url.substr(std::min(question + 1, url.size()));
  url = url.substr(0, question);
  const size_t slash = std::min(url.find('/'), url.size());
  out.brokers = url.substr(0, slash);
  if (out.brokers.find('@') != std::string::npos) {
    return BadInput("bus URL: user and password do not stand before the host",
                    "give sasl.username and sasl.password in the file of --bus-config");
  }
  WF_TRY(CheckBrokers(out.brokers));
  if (slash + 1 < url.size()) out.topic = url.substr(slash + 1);
  if (!GoodTopic(out.topic)) {
    return BadInput(fmt::format("bus URL: topic `{}`", out.topic),
                    "use letters, digits, `.`, `_` and `-`, at most 230");
  }
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = one.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return BadInput("bus URL: a parameter without a value", "write PROPERTY=VALUE");
    WF_ASSIGN(std::string name, Unescape(one.substr(0, equals)));
    WF_ASSIGN(std::string value, Unescape(one.substr(equals + 1)));
    if (name == "partitions") {
      WF_ASSIGN(out.partitions, Number(name, value, 10'000));
    } else if (name == "replicas") {
      WF_ASSIGN(out.replicas, Number(name, value, 100));
    } else {
      out.properties.emplace_back(std::move(name), std::move(value));
    }
  }
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> ParseKafkaProperties(
    std::string_view text, const std::string& file) {
  std::vector<std::pair<std::string, std::string>> out;
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.empty() || one.front() == '#') continue;
    const size_t equals = one.find('=');
    // The line itself is not shown: it may be a password.
    if (equals == std::string_view::npos || equals == 0)
      return BadInput(fmt::format("{}: line {}: not PROPERTY=VALUE", file, line),
                      "write one property of librdkafka a line");
    out.emplace_back(Trim(one.substr(0, equals)), Trim(one.substr(equals + 1)));
  }
  return out;
}

std::string ShownKafkaUrl(std::string_view url) {
  return std::string(url.substr(0, std::min(url.find('?'), url.size())));
}

}  // namespace wf::bus::kafka
