// The control connection: one kept-alive HTTP connection over which the server sends what is in force. The
// client sends the version it has; the server answers when there is another version, or after a while with
// the same. So a change arrives within milliseconds, and an idle connection costs one small request per wait.
// The answer carries sampling policies and queries, in an object with a member for each kind of thing, so
// that it can carry more. While queries run the client polls more often, so that a lost server is noticed
// within their intervals.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "client/queries/query_agent.h"
#include "client/runtime/deadline.h"
#include "client/transport/http_connection.h"

namespace wherefore::client {

// How long the server may keep us waiting while something with this shortest interval is woven, and how much longer an
// answer may take before the connection counts as silent. From an answer to there it is at most two and a half intervals,
// so that all is taken out within three of losing the server, and not less without need: a server that is only slow is
// not lost.
struct AskPatience {
  std::chrono::milliseconds wait, grace;
};
AskPatience PatienceFor(int64_t interval_ns);

class ControlClient {
 public:
  // `install` gets each answer's body, on the background thread, and says whether it could be used.
  using Install = std::function<bool(const std::string&)>;
  // What to tell of our demand on sampling rates (Sampling::Demand), each time the server is asked; nothing: none is limited.
  using Demand = std::function<std::optional<std::string>()>;
  // `queries` may be null, `demand` empty.
  static std::shared_ptr<ControlClient> Start(HttpUrl endpoint, std::string service,
                                              std::string instance, Install install,
                                              std::shared_ptr<QueryAgent> queries = nullptr,
                                              Demand demand = {});

  ControlClient(HttpUrl endpoint, std::string service, std::string instance, Install install,
                std::shared_ptr<QueryAgent> queries, Demand demand);

  bool AwaitFirst(std::chrono::milliseconds deadline);
  // Returns by the deadline; a thread stuck in the name resolver is left behind.
  void Stop(std::chrono::milliseconds deadline);
  void Forget();  // in a child of fork(), where the thread does not exist

 private:
  void Run();
  std::chrono::milliseconds UntilLost(std::chrono::milliseconds at_most) const;
  bool Drained();
  void Ask(std::chrono::milliseconds& pause);
  bool Use(const HttpResponse& response);
  void SayGoodbye(std::chrono::milliseconds within);

  const HttpUrl endpoint_;
  const std::string about_;  // service and instance, for the query
  const std::string token_;
  const Install install_;
  const std::shared_ptr<QueryAgent> queries_;
  const Demand demand_;
  // Used by the client's thread only.
  std::string version_;
  bool installed_ = false;  // from the last answer
  bool answers_ = false;    // the server answered the last request
  HttpConnection connection_;
  std::atomic<int64_t> give_up_at_ns_{Deadline::kNever};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool fetched_ = false, stopping_ = false, stopped_ = false;
  std::chrono::milliseconds goodbye_within_{0};
  std::thread thread_;
};

}  // namespace wherefore::client
