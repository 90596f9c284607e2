// A region server, as of a database that keeps its tables in the block store: rows of 10 kB, scans of 4 MB.
#include <chrono>
#include <random>
#include <shared_mutex>
#include <thread>

#include "demo/http_server.h"
#include "demo/service.h"
#include "settings.h"
#include "store_client.h"
#include "wherefore/tracepoint.h"

namespace blocks {
namespace {

class RegionServer {
 public:
  explicit RegionServer(const Settings& settings) : files_(settings.files), store_(settings) {}

  Message Handle(const Message& call) {
    Message answer;
    thread_local std::mt19937_64 draw{std::random_device()()};
    const std::string path = FileName(static_cast<int>(draw() % static_cast<uint64_t>(files_)));
    const int64_t asked = shop::NowNs();
    const std::shared_lock running(world_);  // nothing runs while the world is stopped
    WHEREFORE_TRACEPOINT("RS.Running", {"ns", shop::NowNs() - asked});
    const uint64_t bytes = call.method == "Get" ? 10'000 : 4u << 20;
    answer.failed = store_.Read(path, 0, bytes) == bytes ? 0 : 1;
    return answer;
  }
  // The fault: a collector that stops the world for far too long.
  void StopWorldNowAndThen() {
    while (shop::SleepUnlessStopped(1000)) {
      const std::unique_lock stopped(world_);
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
    }
  }

 private:
  const int files_;
  StoreClient store_;
  std::shared_mutex world_;
};

}  // namespace

int RunRegionServer(const Settings& settings) {
  RegionServer region_server(settings);
  const RpcServer server(settings.listen_fd,
                         [&](const Message& call) { return region_server.Handle(call); });
  if (settings.fault == "pause") {
    region_server.StopWorldNowAndThen();
  } else {
    shop::WaitForStop();
  }
  return 0;
}

}  // namespace blocks
