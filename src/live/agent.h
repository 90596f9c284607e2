// The agent of a host: keeps the control connection to the server, weaves the queries it tells into the processes that
// their tracepoints' definitions name (weaver/weaver.h), and reports what they emitted, interval by interval.
//
// Two threads: one asks the server, the other weaves, collects and reports. The asking one says that it has taken a
// change over only when the other has done so and has reported what removed queries still had; so the server knows
// when a query's last results are in.
//
// The server is asked twice an interval while anything is woven. When it has not answered for two intervals (but at least
// a second) everything is taken out; probes go with this process at the latest.
//
// Thread safety: Start and Stop from one thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "advice/program.h"
#include "advice/results.h"
#include "base/nanos.h"
#include "base/result.h"
#include "live/agent_link.h"
#include "weaver/weaver.h"

namespace wf::live {

// What weaves; tests have their own.
using WeaveQuery = std::function<Result<std::unique_ptr<weaver::Woven>>(
    const advice::Program&, const std::vector<weaver::TracepointDefinition>&,
    const weaver::PackLimits&)>;
WeaveQuery WeaveHost(const weaver::WeaveOptions& options);

// Why this process may not weave, if it may not.
Status CheckWeavePrivileges();

std::string AgentInstance();  // a new one each time
// $WHEREFORE_HOST, else the nodename.
std::string HostName();

struct AgentOptions {
  std::string instance, host;
  WeaveQuery weave;
};

class Agent {
 public:
  Agent(std::unique_ptr<AgentLink> link, AgentOptions options);
  ~Agent();     // stops
  void Stop();  // takes everything out and reports the rest

  // Whether the server has answered, ever and last: for the verb, which says so.
  enum class Contact { kNone, kLost, kConnected };
  Contact contact() const;
  // The last error of asking.
  std::string trouble() const;

 private:
  struct Wanted {
    std::shared_ptr<const advice::Program> program;
    std::vector<weaver::TracepointDefinition> definitions;
    std::string content;  // what it was made of: another content is woven anew
    Nanos interval = kSecond;
    weaver::PackLimits limits;
  };
  using WantedQueries = std::map<uint64_t, Wanted>;
  struct Weaving;

  void AskLoop();
  Result<WantedQueries> ReadAnswer(const std::string& body, std::string& version) const;
  // Tells the weaving thread and waits until it has done so.
  void Want(WantedQueries wanted);
  void Lose();
  Nanos ShortestInterval() const;  // of what is wanted; 0: nothing is

  void WeaveLoop();
  void Apply(const WantedQueries& wanted);
  void Weave(uint64_t id, const Wanted& wanted);
  void Unweave(uint64_t id);
  void CollectDue(Nanos now);
  void Collect(Weaving& weaving, Nanos start, Nanos end);
  void Note(uint64_t id, const std::string& text);
  void SendReports();

  const std::unique_ptr<AgentLink> link_;
  const AgentOptions options_;
  const std::string run_;  // with their number results are known, should they arrive twice

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  WantedQueries wanted_;
  uint64_t wanted_round_ = 0, applied_round_ = 0;
  bool stopping_ = false;
  Contact contact_ = Contact::kNone;
  std::string trouble_;

  // Of the asking thread.
  Nanos heard_at_ = 0;

  // Of the weaving thread.
  std::map<uint64_t, std::unique_ptr<Weaving>> woven_;
  struct Partial {
    uint64_t query = 0;
    std::string json;
  };
  std::vector<Partial> unsent_;
  uint64_t results_ = 0;  // so many have been made: the number of the last
  std::vector<std::pair<uint64_t, std::string>> unsent_notes_;
  Nanos retry_at_ = 0;

  std::thread asker_, weaver_;
};

}  // namespace wf::live
