// How an agent reaches its server: over HTTP, or in the same process (`serve` runs one for its own host).
//
// Advice is accepted only from an authenticated server. Over https the certificate says who it is. Over http the server
// proves with each answer that it knows the token, by a keyed hash over a number that the agent chose and the answer;
// the token itself is never sent. Without token the server must be on this host, run by root or by the agent's own user.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "net/address.h"

namespace wf::live {

class ControlHub;
class LiveQueries;

class AgentLink {
 public:
  virtual ~AgentLink() = default;
  struct Patience {
    Nanos wait = 0;   // the server may take so long while nothing changes
    Nanos grace = 0;  // and so much longer until it is taken for lost
  };
  // What is in force, when it is another than `version`. Blocks; one thread.
  virtual Result<std::string> Ask(const std::string& version, Patience patience) = 0;
  // Another thread than Ask's.
  virtual Status Report(const std::string& json) = 0;
  // Ask returns soon, now and ever after; any thread.
  virtual void Cancel() = 0;
  // Says that nobody will ask again, if the server can be told quickly. After everything else.
  virtual void Leave() {}
};

struct AgentLinkOptions {
  net::Url server;
  std::string token;
  std::string instance;
  // Over https.
  std::string ca_file = {}, certificate_file = {}, key_file = {};
  std::string tenant = {};  // whose queries are woven here; empty: the token's
};
// Denied: the server cannot be authenticated this way.
Result<std::unique_ptr<AgentLink>> MakeHttpAgentLink(const AgentLinkOptions& options);
// Both outlive it.
std::unique_ptr<AgentLink> MakeLocalAgentLink(ControlHub& hub, LiveQueries& queries,
                                              const std::string& instance);

// Headers of the proof.
constexpr char kNonceHeader[] = "wherefore-nonce";
constexpr char kProofHeader[] = "wherefore-proof";
std::string ControlProof(const std::string& token, std::string_view nonce, std::string_view body);

}  // namespace wf::live
