// Whether this process can do its role's work now (GET /readyz), which is another question than whether it is alive
// (/healthz): a process that is not ready should be sent nothing, but must not be restarted for it.
//
//   {"ready":false,"role":"receive","checks":[{"check":"bus","ok":false,"message":"…"},…]}
//
// Checks may ask the bus or the store, so they are asked again only when the last answer is a second old; many who ask
// cost no more than one. Thread safety: all calls, from any thread.
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

  // Before anybody asks. `check` is called by one thread at a time.
  void Add(std::string name, std::function<Status()> check) {
    checks_.push_back({std::move(name), std::move(check), {}});
  }
  // From now on not ready: the process stops.
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
