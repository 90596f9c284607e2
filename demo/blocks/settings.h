// One process's part in the block store, as given on its command line.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace blocks {

struct Settings {
  std::string role, host;
  int listen_fd = -1;
  std::string endpoint;                      // of the server that asks us
  std::map<std::string, std::string> peers;  // "name-node", "data-node-A", … → HOST:PORT
  std::string fault = "none";
  std::string kind;  // of a client: FSread4m, …
  int files = 10'000, threads = 1;
  double seconds = 10, think_ms = 0;
  int64_t requests = 0;  // 0: no limit
  uint64_t seed = 1;
};

// The machines of the cluster.
inline constexpr char kHosts[] = "ABCDEFGH";
inline constexpr int kHostCount = 8, kReplicas = 3;

// Each runs until SIGINT or SIGTERM, a client until its time is over, and returns its exit status.
int RunNameNode(const Settings& settings);
int RunDataNode(const Settings& settings);
int RunRegionServer(const Settings& settings);
int RunTaskManager(const Settings& settings);
int RunClient(const Settings& settings);

// `wherefore-blocks up`: all processes, then the clients named, then the end.
struct UpPlan {
  Settings common;
  std::string clients;  // KIND[:THREADS[:THINK_MS]],…
};
int RunUp(const UpPlan& plan);

}  // namespace blocks
