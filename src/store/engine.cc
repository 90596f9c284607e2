#include "store/engine.h"

#include <utility>

namespace wf::store {

void Engine::Listen(Listener listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = std::move(listener);
}

void Engine::Announce(const std::vector<std::shared_ptr<const EventBatch>>& durable) {
  const std::lock_guard listening(listener_mutex_);
  if (!listener_) return;
  for (const auto& batch : durable) listener_(batch);
}

void Engine::Count(const std::string& name, int64_t n) {
  const std::lock_guard lock(counters_mutex_);
  counters_[name] += n;
}

std::map<std::string, int64_t> Engine::Counters() const {
  const std::lock_guard lock(counters_mutex_);
  return counters_;
}

}  // namespace wf::store
