// Engine: what a store is made of whatever keeps its data: a listener, and named counters.
//
// Thread safety: all calls, from any thread. Its locks are taken last and held shortly, except while the listener runs:
// then an engine must hold no lock that Append or Listen waits for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/store.h"

namespace wf::store {

class Engine : public Store {
 public:
  void Listen(Listener listener) final;

 protected:
  // A batch on its way to where it is durable.
  struct Queued {
    EventBatch batch;
    Done done;
    size_t bytes = 0;     // of the batch in memory
    uint64_t number = 0;  // for engines that count them
  };

  // Shows durable batches to the listener; before their `done` is called.
  void Announce(const std::vector<std::shared_ptr<const EventBatch>>& durable);

  void Count(const std::string& name, int64_t n);
  std::map<std::string, int64_t> Counters() const;

 private:
  std::mutex listener_mutex_;  // held while the listener runs
  Listener listener_;
  mutable std::mutex counters_mutex_;
  std::map<std::string, int64_t> counters_;
};

}  // namespace wf::store
