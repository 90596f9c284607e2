// The control connection, server side: a client asks GET /api/v1/control?version=V and is answered when there is another
// version than the one it has, else after a while with the same. So a change reaches every client at once, over a
// connection that it opened and authenticated itself.
//
// The answer is {"version","policies":[…]}; later kinds of things get members of their own. A version is a hash of the
// content: it survives a restart, and what is put back as it was is no change.
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
#include "server/counters.h"

namespace wf {

class ControlHub {
 public:
  // `read` gives a tenant's policies: a JSON array.
  using ReadPoliciesJson = std::function<Result<std::string>(const std::string& tenant)>;
  ControlHub(ReadPoliciesJson read, Counters& counters);
  ~ControlHub();

  void Wait(const std::string& tenant, const net::HttpRequest& request, net::HttpResponder respond);
  void Refresh(const std::string& tenant);  // something changed: tells those who wait
  void Stop();                              // answers all who wait

 private:
  struct State {
    std::string version;
    std::string body;
  };
  struct Waiting {
    std::string tenant;
    Nanos until;
    net::HttpResponder respond;
  };
  // With mutex_ held.
  Result<const State*> StateOf(const std::string& tenant);
  void Expire();

  const ReadPoliciesJson read_;
  Counters& counters_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, State> states_;
  std::list<Waiting> waiting_;
  bool stopping_ = false;
  std::thread expirer_;
};

}  // namespace wf
