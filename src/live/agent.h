// The agent of a host: keeps the control connection to the server, weaves the server's queries into the
// processes that their tracepoints' definitions name (weaver/weaver.h), and reports what the queries emitted,
// interval by interval.
//
// Two threads: one polls the server, the other weaves, collects and reports. The polling thread acknowledges
// a change only when the weaving thread has applied it and has reported what removed queries still had, so
// the server knows when it has the last results of a query.
//
// The server is polled twice an interval while anything is woven. When it has not answered for two intervals
// (but at least a second), all advice is removed; the kernel removes the probes at the latest when this
// process ends.
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

// The function that weaves; tests pass their own.
using WeaveQuery = std::function<Result<std::unique_ptr<weaver::Woven>>(
    const advice::Program&, const std::vector<weaver::TracepointDefinition>&,
    const weaver::PackLimits&)>;
WeaveQuery WeaveHost(const weaver::WeaveOptions& options);

// An error with the reason if this process may not weave.
Status CheckWeavePrivileges();

std::string AgentInstance();  // a new one for each call
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
  void Stop();  // removes all advice and reports the remaining results

  // Whether the server has ever answered, and whether it answered last time; for the verb, which shows it.
  enum class Contact { kNone, kLost, kConnected };
  Contact contact() const;
  // The last error of polling.
  std::string trouble() const;

 private:
  struct Wanted {
    std::shared_ptr<const advice::Program> program;
    std::vector<weaver::TracepointDefinition> definitions;
    std::string content;  // what it was made from; if this changes, the query is woven anew
    Nanos interval = kSecond;
    weaver::PackLimits limits;
  };
  using WantedQueries = std::map<uint64_t, Wanted>;
  struct Weaving;

  void AskLoop();
  Result<WantedQueries> ReadAnswer(const std::string& body, std::string& version) const;
  // Passes `wanted` to the weaving thread and waits until it has been applied.
  void Want(WantedQueries wanted);
  void Lose();
  Nanos ShortestInterval() const;  // of the wanted queries; 0: there are none

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
  const std::string run_;  // run and number identify a result, in case it arrives twice

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  WantedQueries wanted_;
  uint64_t wanted_round_ = 0, applied_round_ = 0;
  bool stopping_ = false;
  Contact contact_ = Contact::kNone;
  std::string trouble_;

  // Used by the polling thread only.
  Nanos heard_at_ = 0;

  // Used by the weaving thread only.
  std::map<uint64_t, std::unique_ptr<Weaving>> woven_;
  struct Partial {
    uint64_t query = 0;
    std::string json;
  };
  std::vector<Partial> unsent_;
  uint64_t results_ = 0;  // how many were made, which is the number of the last
  std::vector<std::pair<uint64_t, std::string>> unsent_notes_;
  Nanos retry_at_ = 0;

  std::thread asker_, weaver_;
};

}  // namespace wf::live
