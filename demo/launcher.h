// `wherefore-demo up`: starts every process of the shop, sends customers, stops everything.
#pragma once

#include <string>

#include "roles.h"

namespace shop {

struct UpPlan {
  std::string endpoint;  // where all processes export to; empty: the client library's default
  std::string trouble = "none";
  int storage_workers = 1;
  LoadPlan load;
};

// 0: the load ran through, or was stopped by SIGINT or SIGTERM; 1: requests failed; 3: a process
// could not be started or died.
int RunUp(const UpPlan& plan);

}  // namespace shop
