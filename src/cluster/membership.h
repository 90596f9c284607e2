// Who else works over the same store. Every process of a cluster saves a small text there every two seconds, with a number
// that grows; who has not done so for seven, by the reader's own monotonic clock, is dead. So no clocks are compared, and
// a process that was killed is missed within seconds. One that stops takes its text away.
//
// What they tell each other is the demand on rates that they share (rate_shares.h); and the first of those that tail, by name,
// does the housekeeping of the store. Two may both think to be the first for some seconds: what they do is harmless twice.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "cluster/role.h"
#include "pipeline/counters.h"
#include "store/document_store.h"

namespace wf::cluster {

struct MembershipOptions {
  store::DocumentStore* store = nullptr;  // null: there is nobody else
  std::string instance;                   // a name that nobody else has
  Role role = Role::kAll;
  Nanos period = kSecond;           // of rounds: the others are heard
  Nanos tell_period = 2 * kSecond;  // every so often we tell
  Nanos forget_after = 7 * kSecond;
  Nanos delete_after = 60 * kSecond;
  std::function<Nanos()> clock = MonotonicNow;
};

class Membership {
 public:
  // `tell`: a JSON object about us, asked for every round. `heard`: after every round, what the others that live told last,
  // by instance; on the membership's thread.
  using Told = std::map<std::string, std::string>;
  Membership(MembershipOptions options, pipeline::Counters& counters,
             std::function<std::string()> tell, std::function<void(const Told&)> heard);
  ~Membership();  // calls Stop

  void Start();  // rounds on a thread of its own
  void Stop();   // and takes our text away
  Status Round();

  // Whether we are the first of those that tail.
  bool LeadsTailers() const;
  int64_t members() const;  // with us

 private:
  struct Seen {
    std::string text;
    Role role = Role::kAll;
    Nanos changed = 0;
  };

  const MembershipOptions options_;
  pipeline::Counters& counters_;
  const std::function<std::string()> tell_;
  const std::function<void(const Told&)> heard_;
  uint64_t number_ = 0;  // the rounds' own, as the next
  Nanos told_ = INT64_MIN;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Seen> others_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace wf::cluster
