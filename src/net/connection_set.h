// Inside of the servers: owns the open connections of a server, so that Stop can reach and await
// them. Any thread.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/nanos.h"

namespace wf::net {

template <typename Connection>
class ConnectionSet {
 public:
  // False once Close was called: a connection accepted while stopping is not begun.
  bool Add(std::shared_ptr<Connection> connection) {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    Connection* key = connection.get();
    connections_.emplace(key, std::move(connection));
    return true;
  }

  void Remove(Connection* connection) {
    std::shared_ptr<Connection> last;  // destroyed outside the lock
    std::lock_guard lock(mutex_);
    auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    last = std::move(found->second);
    connections_.erase(found);
    if (connections_.empty()) empty_.notify_all();
  }

  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }

  std::vector<std::shared_ptr<Connection>> All() const {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& [key, connection] : connections_) all.push_back(connection);
    return all;
  }

  // The connection of one listener that has been idle for longest; null when all are busy. A connection has
  // `listener`, and `idle_since`, which is 0 while one of its requests is in progress.
  std::shared_ptr<Connection> LongestIdle(const void* listener) const {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Connection> found;
    Nanos since = 0;
    for (const auto& [key, connection] : connections_) {
      const Nanos idle = connection->idle_since.load(std::memory_order_relaxed);
      if (connection->listener != listener || idle == 0 || (found && idle >= since)) continue;
      found = connection;
      since = idle;
    }
    return found;
  }

  size_t CountIdle() const {
    std::lock_guard lock(mutex_);
    return std::count_if(connections_.begin(), connections_.end(), [](const auto& one) {
      return one.second->idle_since.load(std::memory_order_relaxed) != 0;
    });
  }

  bool WaitUntilEmpty(Nanos patience) {
    std::unique_lock lock(mutex_);
    return empty_.wait_for(lock, std::chrono::nanoseconds(patience),
                           [&] { return connections_.empty(); });
  }

  size_t size() const {
    std::lock_guard lock(mutex_);
    return connections_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  bool closed_ = false;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
};

}  // namespace wf::net
