#include "server/open_bus.h"

namespace wf {
namespace {

constexpr char kHint[] = "give kafka://HOST:PORT[,HOST:PORT…][/TOPIC]";

bool Begins(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

}  // namespace

Status CheckBusUrl(const std::string& url) {
  if (BusIsInProcess(url)) return {};
  if (!Begins(url, "kafka://"))
    return BadInput("--bus: \"" + url + "\" is no address of a bus", kHint);
  return {};
}

bool BusIsInProcess(const std::string& url) { return url == "memory://"; }

Result<std::unique_ptr<Bus>> OpenBus(const std::string& url) {
  WF_TRY(CheckBusUrl(url));
  return BadInput("--bus: \"" + url + "\" is no address of a bus", kHint);
}

}  // namespace wf
