// Runs the tasks of sort jobs: reads a split from the block store, sorts it, spills it to the local disk, reads it back.
#include <algorithm>
#include <random>
#include <vector>

#include "demo/service.h"
#include "local_disk.h"
#include "settings.h"
#include "store_client.h"

namespace blocks {
namespace {

constexpr uint64_t kWorkDisk = 16u << 20;

class TaskManager {
 public:
  explicit TaskManager(const Settings& settings) : files_(settings.files), store_(settings) {}

  Message Handle(const Message& call) {
    Message answer;
    const uint64_t bytes =
        call.numbers.empty() ? 0 : std::min<uint64_t>(call.numbers[0], kWorkDisk);
    thread_local std::mt19937_64 draw{std::random_device()()};
    const std::string path = FileName(static_cast<int>(draw() % static_cast<uint64_t>(files_)));
    answer.failed = bytes > 0 && store_.Read(path, 0, bytes) == bytes ? 0 : 1;
    std::vector<uint64_t> records(bytes / sizeof(uint64_t));
    for (uint64_t& record : records) record = draw();
    std::sort(records.begin(), records.end());
    const std::string split(reinterpret_cast<const char*>(records.data()),
                            records.size() * sizeof(uint64_t));
    disk_.Write(0, split, [](uint64_t) {});
    disk_.Read(0, bytes, [](uint64_t) {});
    return answer;
  }

 private:
  const int files_;
  StoreClient store_;
  LocalDisk disk_{kWorkDisk};
};

}  // namespace

int RunTaskManager(const Settings& settings) {
  TaskManager task_manager(settings);
  const RpcServer server(settings.listen_fd,
                         [&](const Message& call) { return task_manager.Handle(call); });
  shop::WaitForStop();
  return 0;
}

}  // namespace blocks
