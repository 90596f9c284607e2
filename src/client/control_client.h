// The control connection: one kept-alive HTTP connection on which the server tells us what is in force. We ask with the
// version we have; the server answers when there is another, or after a while with the same. So a change arrives within
// milliseconds, and a quiet server costs one small request every wait. What it tells are sampling policies and queries;
// the answer is an object with a member for each kind of thing, so that it can carry more. While queries run we ask more
// often, so that a server that is gone is noticed within their intervals.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "client/deadline.h"
#include "client/http_connection.h"
#include "client/query_agent.h"

namespace wherefore::client {

class ControlClient {
 public:
  // `install` gets each answer's body, on the background thread, and says whether it could be used.
  using Install = std::function<bool(const std::string&)>;
  // `queries` may be null.
  static std::shared_ptr<ControlClient> Start(HttpUrl endpoint, std::string service,
                                              std::string instance, Install install,
                                              std::shared_ptr<QueryAgent> queries = nullptr);

  ControlClient(HttpUrl endpoint, std::string service, std::string instance, Install install,
                std::shared_ptr<QueryAgent> queries);

  bool AwaitFirst(std::chrono::milliseconds deadline);
  // Returns by the deadline; a thread stuck in the name resolver is left behind.
  void Stop(std::chrono::milliseconds deadline);
  void Forget();  // in a child of fork(), where the thread does not exist

 private:
  void Run();
  void Ask(std::chrono::milliseconds& pause);
  bool Use(const HttpResponse& response);

  const HttpUrl endpoint_;
  const std::string about_;  // service and instance, for the query
  const std::string token_;
  const Install install_;
  const std::shared_ptr<QueryAgent> queries_;
  std::string version_;
  HttpConnection connection_;
  std::atomic<int64_t> give_up_at_ns_{Deadline::kNever};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool fetched_ = false, stopping_ = false, stopped_ = false;
  std::thread thread_;
};

}  // namespace wherefore::client
