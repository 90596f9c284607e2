// What a kafka:// URL and a file of properties say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wf::bus::kafka {

struct KafkaUrl {
  std::string brokers;  // host:port,host:port
  std::string topic = "wherefore";
  int32_t partitions = 12;  // of a topic that is made: divides among 2, 3, 4, 6 and 12 tailers
  int32_t replicas = -1;    // the broker's default
  std::vector<std::pair<std::string, std::string>> properties;
};

Result<KafkaUrl> ParseKafkaUrl(std::string_view url);
Result<std::vector<std::pair<std::string, std::string>>> ParseKafkaProperties(
    std::string_view text, const std::string& file);

// Whether a property's value must not be shown.
bool IsSecretProperty(std::string_view name);

}  // namespace wf::bus::kafka
