// The processes of the shop. Each runs until SIGINT or SIGTERM and returns its exit status.
#pragma once

#include <cstdint>
#include <string>

#include "service.h"

namespace shop {

int RunFrontend(const Settings& settings);  // what customers talk to
int RunCompute(const Settings& settings);   // prices, searches, recommends
int RunStorage(const Settings& settings);   // keeps everything; one worker, first come first served
int RunMaintenance(const Settings& settings);  // scans storage now and then
int RunQueueWorker(const Settings& settings);  // an order queue of two partitions and its consumers

// The customers: not traced, as browsers often are not.
struct LoadPlan {
  std::string frontend;  // HOST:PORT
  double rate = 10;      // requests a second, sent on time whether or not earlier ones are answered
  int64_t requests = 0;  // 0: no limit
  double seconds = 12;   // 0: until stopped
  uint64_t seed = 1;
};
int RunLoad(const LoadPlan& plan);

}  // namespace shop
