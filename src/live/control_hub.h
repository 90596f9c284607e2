// The control connection, server side: a client asks GET /api/v1/control?version=V and is answered when there is another
// version than the one it has, else after a while with the same. So a change reaches every client at once, over a
// connection that it opened and authenticated itself.
//
// The answer is {"version","policies":[…],"queries":[…],"tracepoints":[…],"shares":{…}}: a member for each kind of thing. A version is
// a hash of the content: it survives a restart, and what is put back as it was is no change. A version that comes back
// with the next question has been taken over by whoever asks; generations count the versions of this run, so that "has
// this process got the query" is a comparison of numbers.
//
// `wait_ms` shortens the wait: who weaves advice wants to hear from us every interval, to know that we are there.
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
  // Gives the members behind "version": "policies":[…],…
  using ReadMembers = std::function<Result<std::string>(const std::string& tenant)>;
  // Somebody asked, having taken over `generation` (0: nothing, or of another run), and, if `drained`, having reported
  // everything of queries that are not in it any more.
  struct Asker {
    std::string tenant, service, instance;
    uint64_t generation = 0;
    bool drained = false;
    bool leaving = false;  // it will not ask again; it is answered at once
    Nanos wait = 0;        // it is answered within
    std::string demand;    // on sampling rates, as it was told (rate_shares.h)
  };
  using Asked = std::function<void(const Asker&)>;
  // `token`: what agents want proved that we know (live/agent_link.h).
  ControlHub(ReadMembers read, Asked asked, std::string token, pipeline::Counters& counters);
  ~ControlHub();

  void Wait(const std::string& tenant, const net::HttpRequest& request, net::HttpResponder respond);
  // Something changed: tells those who wait. The generation that has it; 0 when it cannot be read.
  uint64_t Refresh(const std::string& tenant);
  // The same for every tenant that has asked: somebody else may have changed what is saved.
  void RefreshAll();
  void Stop();  // answers all who wait

 private:
  struct State {
    std::string version;
    std::string body;
    bool current = false;                         // else read anew
    std::map<std::string, uint64_t> generations;  // of versions, the newer ones
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
  std::list<Waiting> waiting_;  // who is to be answered first stands first
  bool stopping_ = false;
  std::thread expirer_;
};

}  // namespace wf::live
