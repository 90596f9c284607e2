// Whether a request is traced (Canopy §4.1): policies that match it → their strategy → a token of each owner's bucket
// and of the global one. The trace starts if one owner gets a token, names all that did, and is recorded at the finest
// level any of them asked for. Without policies the global bucket is asked directly.
//
// Thread-safe. Policies are replaced as a whole; a decision under way finishes with those it began with.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/runtime/token_bucket.h"
#include "wherefore/tracer.h"

namespace wherefore::client {

struct Restraint {
  std::string property;
  std::vector<std::string> values;  // one of them, with '*' for any text
};

struct Policy {
  std::string name;
  std::string owner;
  std::optional<double> probability;  // else `bucket` is the strategy
  std::shared_ptr<TokenBucket> bucket;
  std::vector<Restraint> restraints;  // all must hold
  std::string reached;                // a marked path; empty: requests where they enter
  int64_t expires_ns = 0;             // Unix ns; 0: never
  uint8_t detail = 1;
};

struct StartRequest {
  std::string_view name;
  const std::vector<Label>* properties = nullptr;
  std::string_view reached;
};

struct StartDecision {
  bool start = false;
  std::string owners;  // joined by ","; empty when no policy took part
  uint8_t detail = 0;
};

// '*' stands for any text, also none.
bool GlobMatches(std::string_view glob, std::string_view text);

class Sampling {
 public:
  Sampling(const TracerOptions& options, std::string service, std::string host);

  StartDecision Decide(const StartRequest& request);

  // The server's answer: {"version","policies":[…],"shares":{…}}. False, with no change, if it is malformed.
  // A policy that exists already, with the same rate, keeps its bucket.
  bool Install(std::string_view json);
  // How much of each rate this process could have used since the last call, as a multiple of the rate, for
  // the server to divide the rates among all: "o:OWNER=0.5,p:POLICY=12,g=0.1". Empty when no rate is limited.
  std::optional<std::string> Demand();
  std::string installed() const;  // the text last installed
  uint64_t policies() const;
  uint64_t started() const { return started_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct PolicySet {
    std::vector<Policy> policies;
    std::map<std::string, std::shared_ptr<TokenBucket>> owners;
    std::string text;
  };
  bool Matches(const Policy& policy, const StartRequest& request) const;
  bool PropertyHolds(const Restraint& restraint, const StartRequest& request) const;

  const TokenRate owner_rate_;
  const uint8_t default_detail_;
  const std::string service_, host_;
  TokenBucket global_;
  std::shared_ptr<const PolicySet> set_;   // by std::atomic_load and _store
  std::mutex install_mutex_;               // guards the next two
  std::map<std::string, uint64_t> asked_;  // requests for each rate at the last call of Demand
  int64_t demand_ns_ = 0;
  std::atomic<uint64_t> started_{0}, refused_{0};
};

}  // namespace wherefore::client
