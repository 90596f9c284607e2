// What every user of the block store does: ask the name node where a file is, choose a replica, read there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "rpc.h"
#include "settings.h"

namespace blocks {

// Thread-safe.
class StoreClient {
 public:
  explicit StoreClient(const Settings& settings);

  // Bytes read; 0 if it failed.
  uint64_t Read(const std::string& path, uint64_t offset, uint64_t bytes);
  uint64_t Write(const std::string& path, uint64_t bytes);
  // Of the name node: "Open", "Create", "Rename".
  bool Change(const std::string& method, const std::string& path);

 private:
  // The local one if there is one, else the first of the name node's list: that it never chooses among the others is
  // half of the replica selection bug.
  RpcPeer* Choose(const std::string& path);

  const std::string host_;
  RpcPeer name_node_;
  std::map<std::string, std::unique_ptr<RpcPeer>> data_nodes_;  // by host
};

std::string FileName(int number);

}  // namespace blocks
