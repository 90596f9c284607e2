// The name node: which data nodes hold a file. One lock guards the names; whoever changes them holds it alone.
#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>

#include "demo/http_server.h"
#include "demo/service.h"
#include "edit_log.h"
#include "settings.h"
#include "store_client.h"
#include "wherefore/tracepoint.h"

namespace blocks {
namespace {

class NameNode {
 public:
  explicit NameNode(const Settings& settings)
      : static_order_(settings.fault == "static-order"),
        change_takes_(settings.fault == "namenode-lock" ? 60 : 0) {
    std::mt19937_64 draw(settings.seed);
    std::string hosts(kHosts);
    for (int file = 0; file < settings.files; ++file) {
      std::shuffle(hosts.begin(), hosts.end(), draw);
      std::string chosen = hosts.substr(0, kReplicas);
      std::sort(chosen.begin(), chosen.end());
      replicas_[FileName(file)] = chosen;
    }
  }

  Message Handle(const Message& call) {
    if (call.texts.size() < 2) return Failed();
    if (call.method == "GetBlockLocations") return Locate(call.texts[0]);
    if (call.method == "Open") {
      const std::shared_lock lock(mutex_);
      return replicas_.count(call.texts[0]) != 0 ? Message{} : Failed();
    }
    if (call.method == "Create" || call.method == "Rename" || call.method == "Compact")
      return Change(call);
    return Failed();
  }

 private:
  static Message Failed() {
    Message answer;
    answer.failed = 1;
    return answer;
  }
  // As HDFS: written to the log of edits while the names are locked, and on the disk before the answer.
  Message Change(const Message& call) {
    uint64_t edit = 0;
    {
      const std::unique_lock lock(mutex_);
      if (call.method == "Compact") {  // the fault: a long time alone
        std::this_thread::sleep_for(std::chrono::milliseconds(change_takes_));
        return {};
      }
      if (call.method == "Create") {
        replicas_[call.texts[0]] = "ABC";
      } else {
        auto node = replicas_.extract(call.texts[0]);
        if (node.empty()) return Failed();
        node.key() = call.texts[1];
        replicas_.insert(std::move(node));
      }
      edit = edits_.Append(call.method + '\t' + call.texts[0] + '\t' + call.texts[1] + '\n');
    }
    return edits_.Sync(edit) ? Message{} : Failed();
  }
  Message Locate(const std::string& path) {
    std::string hosts;
    {
      const int64_t asked = shop::NowNs();
      const std::shared_lock lock(mutex_);
      WHEREFORE_TRACEPOINT("NN.Locked", {"ns", shop::NowNs() - asked});
      const auto found = replicas_.find(path);
      if (found == replicas_.end()) return Failed();
      hosts = found->second;
    }
    // All are in one rack, so any order is right; always the same one is the other half of the bug.
    thread_local std::mt19937_64 draw{std::random_device()()};
    if (!static_order_) std::shuffle(hosts.begin(), hosts.end(), draw);
    Message answer;
    for (const char host : hosts) answer.texts.emplace_back(1, host);
    WHEREFORE_TRACEPOINT("NN.GetBlockLocations", {"src", path}, {"replicas", answer.texts});
    return answer;
  }

  const bool static_order_;
  const int change_takes_;
  std::shared_mutex mutex_;
  std::map<std::string, std::string> replicas_;  // path → hosts
  EditLog edits_;
};

}  // namespace

int RunNameNode(const Settings& settings) {
  NameNode name_node(settings);
  const RpcServer server(settings.listen_fd,
                         [&](const Message& call) { return name_node.Handle(call); });
  shop::WaitForStop();
  return 0;
}

}  // namespace blocks
