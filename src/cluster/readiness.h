// Whether this process can do the work of its role now (GET /readyz). This is not the same as being alive
// (/healthz): a process that is not ready should receive no requests, but must not be restarted for it.
//
//   {"ready":false,"role":"receive","checks":[{"check":"bus","ok":false,"message":"…"},…]}
//
// Checks may call the bus or the store, so they run again only when the last result is a second old. Many
// requests cost no more than one. Thread safety: all calls, from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "cluster/role.h"

namespace wf::cluster {

class Readiness {
 public:
  explicit Readiness(Role role) : role_(role) {}

  // Call it before the first Ask. `check` is called by one thread at a time.
  void Add(std::string name, std::function<Status()> check) {
    checks_.push_back({std::move(name), std::move(check), {}});
  }
  // Not ready from now on, because the process stops.
  void Drain() { draining_ = true; }

  struct Answer {
    bool ready = false;
    std::string json;
  };
  Answer Ask();

 private:
  struct Check {
    std::string name;
    std::function<Status()> check;
    Status last;
  };

  const Role role_;
  std::atomic<bool> draining_{false};
  std::mutex mutex_;
  std::vector<Check> checks_;
  Nanos asked_ = 0;  // monotonic; 0: never
};

}  // namespace wf::cluster
