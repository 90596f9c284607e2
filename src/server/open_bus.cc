#include "server/open_bus.h"

#include "bus/kafka/kafka_bus.h"
#include "bus/memory/memory_bus.h"

namespace wf::server {
namespace {

// Of one attempt; a server that starts makes several (serve.cc), and wants to hear signals in between.
constexpr Nanos kOpenPatience = 3 * kSecond;

}  // namespace

bool BusIsInProcess(const std::string& url) { return url == "memory://"; }

std::string ShownBusUrl(const std::string& url) {
  return BusIsInProcess(url) ? url : bus::kafka::ShownKafkaUrl(url);
}

Status CheckBusUrl(const std::string& url) {
  if (BusIsInProcess(url) || url.rfind("kafka://", 0) == 0) return {};
  return BadInput("--bus: \"" + url.substr(0, url.find("://")) + "\" is no bus",
                  "give kafka://HOST:PORT[,HOST:PORT…][/TOPIC]");
}

Result<std::unique_ptr<bus::Bus>> OpenBus(const std::string& url, const std::string& config_file) {
  WF_TRY(CheckBusUrl(url));
  if (BusIsInProcess(url))
    return std::unique_ptr<bus::Bus>(std::make_unique<bus::memory::MemoryBus>());
  bus::kafka::KafkaBusOptions options;
  options.config_file = config_file;
  options.open_patience = kOpenPatience;
  return bus::kafka::OpenKafkaBus(url, options);
}

}  // namespace wf::server
