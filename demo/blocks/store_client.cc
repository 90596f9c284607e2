#include "store_client.h"

#include <algorithm>
#include <cstdio>

#include "wherefore/tracepoint.h"

namespace blocks {
namespace {

constexpr uint64_t kLargestRead = 4u << 20;

}  // namespace

std::string FileName(int number) {
  char name[32];
  std::snprintf(name, sizeof name, "/files/%05d", number);
  return name;
}

StoreClient::StoreClient(const Settings& settings)
    : host_(settings.host), name_node_("name-node", settings.peers.at("name-node")) {
  for (int i = 0; i < kHostCount; ++i) {
    const std::string host(1, kHosts[i]);
    data_nodes_[host] =
        std::make_unique<RpcPeer>("data-node-" + host, settings.peers.at("data-node-" + host));
  }
}

RpcPeer* StoreClient::Choose(const std::string& path) {
  const Message locations = name_node_.Call({"GetBlockLocations", {path, host_}, {}, {}, 0});
  if (locations.failed != 0 || locations.texts.empty()) return nullptr;
  const auto local = std::find(locations.texts.begin(), locations.texts.end(), host_);
  const auto chosen =
      data_nodes_.find(local != locations.texts.end() ? *local : locations.texts.front());
  return chosen == data_nodes_.end() ? nullptr : chosen->second.get();
}

uint64_t StoreClient::Read(const std::string& path, uint64_t offset, uint64_t bytes) {
  WHEREFORE_TRACEPOINT("ClientProtocols", {"protocol", "DataTransferProtocol"});
  RpcPeer* const data_node = Choose(path);
  if (data_node == nullptr) return 0;
  uint64_t done = 0;
  while (done < bytes) {
    const uint64_t part = std::min(bytes - done, kLargestRead);
    const Message answer = data_node->Call({"Read", {path}, {offset + done, part}, {}, 0});
    if (answer.failed != 0) return 0;
    done += part;
  }
  return done;
}

uint64_t StoreClient::Write(const std::string& path, uint64_t bytes) {
  RpcPeer* const data_node = Choose(path);
  if (data_node == nullptr) return 0;
  const Message answer = data_node->Call({"Write", {path}, {}, std::string(bytes, 'w'), 0});
  return answer.failed == 0 ? bytes : 0;
}

bool StoreClient::Change(const std::string& method, const std::string& path) {
  return name_node_.Call({method, {path, path + ".new"}, {}, {}, 0}).failed == 0;
}

}  // namespace blocks
