// A data node: blocks on its disk.
#include <functional>

#include "demo/http_server.h"
#include "demo/service.h"
#include "local_disk.h"
#include "settings.h"
#include "store_client.h"
#include "wherefore/tracepoint.h"

namespace blocks {
namespace {

constexpr uint64_t kDisk = 64u << 20;

class DataNode {
 public:
  Message Handle(const Message& call) {
    Message answer;
    if (call.texts.empty() || (call.method == "Read" && call.numbers.size() < 2)) {
      answer.failed = 1;
    } else if (call.method == "Read") {
      WHEREFORE_TRACEPOINT("DN.DataTransferProtocol", {"op", call.method}, {"src", call.texts[0]},
                           {"size", call.numbers[1]});
      const int64_t began = shop::NowNs();
      answer.body =
          disk_.Read(Place(call.texts[0]) + call.numbers[0], call.numbers[1], [](uint64_t delta) {
            WHEREFORE_TRACEPOINT("DataNodeMetrics.incrBytesRead", {"delta", delta});
          });
      WHEREFORE_TRACEPOINT("DN.DiskRead", {"ns", shop::NowNs() - began});
    } else {
      WHEREFORE_TRACEPOINT("DN.DataTransferProtocol", {"op", call.method}, {"src", call.texts[0]},
                           {"size", call.body.size()});
      disk_.Write(Place(call.texts[0]), call.body, [](uint64_t delta) {
        WHEREFORE_TRACEPOINT("DataNodeMetrics.incrBytesWritten", {"delta", delta});
      });
    }
    return answer;
  }

 private:
  static uint64_t Place(const std::string& path) { return std::hash<std::string>()(path) % kDisk; }

  LocalDisk disk_{kDisk};
};

}  // namespace

int RunDataNode(const Settings& settings) {
  DataNode data_node;
  const RpcServer server(settings.listen_fd,
                         [&](const Message& call) { return data_node.Handle(call); });
  shop::WaitForStop();
  return 0;
}

}  // namespace blocks
