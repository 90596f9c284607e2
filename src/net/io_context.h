// Internal to IoThreads: for the .cc files of this folder that use Asio.
//
// Lifetime. A connection is owned by its server's list and by its own pending operations. Any thread may
// answer at any time, even after the server is gone, so a responder owns this Impl and only a weak reference
// to the connection. PostTo takes the lock that Stop takes: either the io_context still runs and the post is
// done, or it is refused.
#pragma once

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "net/io_threads.h"

namespace wf::net {

struct IoThreads::Impl {
  explicit Impl(int threads) : context(threads), work(context.get_executor()) {}

  // Runs f(connection) on the connection's executor, if both it and the threads still exist; false when not.
  template <typename Connection, typename F>
  bool PostTo(const std::weak_ptr<Connection>& weak, F f) {
    std::lock_guard lock(mutex);
    if (stopped) return false;
    std::shared_ptr<Connection> connection = weak.lock();
    if (!connection) return false;
    auto executor = connection->executor();
    boost::asio::post(executor, [connection = std::move(connection), f = std::move(f)]() mutable {
      f(*connection);
    });
    return true;
  }

  boost::asio::io_context context;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::vector<std::thread> threads;
  std::mutex mutex;
  bool stopped = false;  // guarded by mutex
  Nanos cpu_time_of_ended = 0;
};

}  // namespace wf::net
