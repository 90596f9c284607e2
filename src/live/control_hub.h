// The control connection, server side: a client sends GET /api/v1/control?version=V and gets an answer as
// soon as there is another version than the one it has, else the same version after a while. So a change
// reaches every client at once, over a connection that the client opened and authenticated itself.
//
// The answer is {"version","policies":[…],"queries":[…],"tracepoints":[…],"shares":{…}}: a member for each
// kind of thing. A version is a hash of the content, so it survives a restart, and restoring the previous
// content is no change. When a client sends a version with its next request, it has applied that version.
// Generations number the versions of this run, so that "does this process have the query" is a comparison of
// numbers.
//
// `wait_ms` shortens the wait: a client that weaves advice needs an answer every interval, to know that the
// server is alive.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/nanos.h"
#include "base/result.h"
#include "net/http_message.h"
#include "pipeline/counters.h"

namespace wf::live {

class ControlHub {
 public:
  // Returns the members after "version": "policies":[…],…
  using ReadMembers = std::function<Result<std::string>(const std::string& tenant)>;
  // A client that sent a request. It has applied `generation` (0: none, or one of another run) and, if
  // `drained`, has reported everything of queries that are no longer in it.
  struct Asker {
    std::string tenant, service, instance;
    uint64_t generation = 0;
    bool drained = false;
    bool leaving = false;  // it will not send another request, and is answered at once
    Nanos wait = 0;        // it is answered within this time
    std::string demand;    // on sampling rates, as the client reported it (rate_shares.h)
  };
  using Asked = std::function<void(const Asker&)>;
  // `token`: agents require a proof that the server knows it (live/agent_link.h).
  ControlHub(ReadMembers read, Asked asked, std::string token, pipeline::Counters& counters);
  ~ControlHub();

  void Wait(const std::string& tenant, const net::HttpRequest& request, net::HttpResponder respond);
  // Call it when something changed: answers the waiting clients. Returns the generation with the change; 0
  // when it cannot be read.
  uint64_t Refresh(const std::string& tenant);
  // The same for every tenant that has sent a request, because another process may have changed what is
  // saved.
  void RefreshAll();
  void Stop();  // answers all waiting clients

 private:
  struct State {
    std::string version;
    std::string body;
    bool current = false;                         // false: must be read again
    std::map<std::string, uint64_t> generations;  // by version; the newest ones
  };
  struct Waiting {
    std::string tenant, nonce;
    Nanos until;
    net::HttpResponder respond;
  };
  // With mutex_ held.
  Result<const State*> StateOf(const std::string& tenant);
  void Expire();
  net::HttpResponse Tell(const std::string& body, const std::string& nonce) const;

  const ReadMembers read_;
  const Asked asked_;
  const std::string token_;
  pipeline::Counters& counters_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, State> states_;
  uint64_t generation_ = 0;
  std::list<Waiting> waiting_;  // sorted by the time of their answer
  bool stopping_ = false;
  std::thread expirer_;
};

}  // namespace wf::live
