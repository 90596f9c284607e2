// How an agent reaches its server: over HTTP, or in the same process (`serve` runs one for its own host).
//
// Advice is accepted only from an authenticated server. Over https the certificate authenticates it. Over
// http the server proves with each answer that it knows the token, by a keyed hash over a nonce of the agent
// and the answer; the token itself is never sent. Without a token the server must be on this host, run by
// root or by the agent's own user.
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
    Nanos wait = 0;   // how long the server may take while nothing changes
    Nanos grace = 0;  // how much longer until the server counts as lost
  };
  // Returns what is in force once its version differs from `version`. Blocks; call it from one thread.
  virtual Result<std::string> Ask(const std::string& version, Patience patience) = 0;
  // Call it from another thread than Ask.
  virtual Status Report(const std::string& json) = 0;
  // Makes Ask return soon, now and on every later call. Any thread.
  virtual void Cancel() = 0;
  // Tells the server that the agent will not poll again, if that is quick. Call it last.
  virtual void Leave() {}
};

struct AgentLinkOptions {
  net::Url server;
  std::string token;
  std::string instance;
  // For https.
  std::string ca_file = {}, certificate_file = {}, key_file = {};
  std::string tenant = {};  // whose queries are woven here; empty: the tenant of the token
};
// Denied: the server cannot be authenticated this way.
Result<std::unique_ptr<AgentLink>> MakeHttpAgentLink(const AgentLinkOptions& options);
// `hub` and `queries` must outlive the link.
std::unique_ptr<AgentLink> MakeLocalAgentLink(ControlHub& hub, LiveQueries& queries,
                                              const std::string& instance);

// Headers of the proof.
constexpr char kNonceHeader[] = "wherefore-nonce";
constexpr char kProofHeader[] = "wherefore-proof";
std::string ControlProof(const std::string& token, std::string_view nonce, std::string_view body);

}  // namespace wf::live
