#include "live/agent_link.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>

#include "live/control_hub.h"
#include "live/live_queries.h"
#include "net/http_client.h"
#include "net/keyed_hash.h"
#include "security/authorize.h"

namespace wf::live {
namespace {

constexpr char kService[] = "wherefore-agent";
constexpr Nanos kLeaveWithin = 500 * kMilli;

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

// The owner of the socket that listens on this port on this host, from the kernel's table.
std::optional<uint32_t> ListenerOwner(uint16_t port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);  // the header line
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state, queues, timer, retransmits;
      uint32_t owner = 0;
      if (!(words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> owner))
        continue;
      const size_t colon = local.rfind(':');
      if (state == "0A" && colon != std::string::npos &&
          std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port)
        return owner;
    }
  }
  return std::nullopt;
}

Status CheckOwner(const net::Url& server) {
  const auto owner = ListenerOwner(server.port);
  if (!owner)
    return EnvironmentError(server.HostHeader() + ": connection refused", "is the server running?");
  if (*owner == 0 || *owner == ::geteuid()) return {};
  return Denied(server.HostHeader() + ": the server runs as another user (" +
                    std::to_string(*owner) + ") and has not proved its identity",
                "give --token-file with the token of its server.json");
}

class HttpAgentLink : public AgentLink {
 public:
  explicit HttpAgentLink(const AgentLinkOptions& options)
      : options_(options), ask_(options.server, AskOptions()), report_(options.server, Trust()) {}

  Result<std::string> Ask(const std::string& version, Patience patience) override {
    if (NeedsOwner()) WF_TRY(CheckOwner(options_.server));
    give_up_at_ = MonotonicNow() + patience.wait + patience.grace;
    std::string target = "/api/v1/control?service=" + std::string(kService) +
                         "&instance=" + options_.instance +
                         "&drained=1&wait_ms=" + std::to_string(patience.wait / kMilli);
    if (!version.empty()) target += "&version=" + version;
    auto headers = Headers();
    std::string nonce;
    if (Proves()) {
      WF_ASSIGN(nonce, security::RandomToken());
      headers.emplace_back(kNonceHeader, nonce);
    }
    auto answer = ask_.Send("GET", target, headers);
    if (!answer.ok()) return answer.error();
    if (answer->status != 200)
      return EnvironmentError(
          options_.server.HostHeader() + ": HTTP " + std::to_string(answer->status),
          "is it a wherefore server, and is the token right?");
    if (Proves() &&
        answer->headers.Get(kProofHeader) != ControlProof(options_.token, nonce, answer->body))
      return Denied(options_.server.HostHeader() + ": the server did not prove its identity",
                    "give --token-file with the token of its server.json");
    return std::move(answer->body);
  }

  Status Report(const std::string& json) override {
    auto answer = report_.Post("/api/v1/control/report", "application/json", json, Headers());
    if (!answer.ok()) return answer.error();
    if (answer->status / 100 == 2) return {};
    const Error error = EnvironmentError(options_.server.HostHeader() + ": HTTP " +
                                         std::to_string(answer->status) + " to a report");
    // A report that the server will never accept must not be sent again and again.
    return answer->status / 100 == 4 && answer->status != 429 ? BadInput(error.message) : error;
  }

  void Cancel() override { cancelled_ = true; }

  void Leave() override {
    net::HttpClientOptions options = Trust();
    options.timeout = kLeaveWithin;
    (void)net::HttpClient(options_.server, options)
        .Send("GET",
              "/api/v1/control?service=" + std::string(kService) +
                  "&instance=" + options_.instance + "&leaving=1",
              Headers());
  }

 private:
  net::HttpClientOptions Trust() const {
    net::HttpClientOptions options;
    options.ca_file = options_.ca_file;
    options.certificate_file = options_.certificate_file;
    options.key_file = options_.key_file;
    return options;
  }
  net::HttpClientOptions AskOptions() {
    net::HttpClientOptions options = Trust();
    options.timeout = kMinute;
    options.give_up = [this] { return cancelled_.load() || MonotonicNow() >= give_up_at_.load(); };
    return options;
  }
  bool Proves() const { return !options_.server.tls && !options_.token.empty(); }
  bool NeedsOwner() const { return !options_.server.tls && options_.token.empty(); }
  net::HttpClient::Headers Headers() const {
    net::HttpClient::Headers headers;
    if (!options_.tenant.empty()) headers.emplace_back("X-Scope-OrgID", options_.tenant);
    if (options_.server.tls && !options_.token.empty())
      headers.emplace_back("Authorization", "Bearer " + options_.token);
    return headers;
  }

  const AgentLinkOptions options_;
  std::atomic<bool> cancelled_{false};
  std::atomic<Nanos> give_up_at_{0};
  net::HttpClient ask_, report_;
};

class LocalAgentLink : public AgentLink {
 public:
  LocalAgentLink(ControlHub& hub, LiveQueries& queries, std::string instance)
      : hub_(hub), queries_(queries), instance_(std::move(instance)) {}

  Result<std::string> Ask(const std::string& version, Patience patience) override {
    // Shared with the answer, which may arrive after we have given up.
    struct Pending {
      std::mutex mutex;
      std::condition_variable come;
      std::optional<net::HttpResponse> response;
    };
    const auto pending = std::make_shared<Pending>();
    net::HttpRequest request;
    request.query = {{"service", kService},
                     {"instance", instance_},
                     {"version", version},
                     {"drained", "1"},
                     {"wait_ms", std::to_string(patience.wait / kMilli)}};
    hub_.Wait("default", request, net::HttpResponder([pending](net::HttpResponse response) {
                const std::lock_guard lock(pending->mutex);
                pending->response = std::move(response);
                pending->come.notify_all();
              }));
    std::unique_lock lock(pending->mutex);
    while (!pending->response && !cancelled_)
      pending->come.wait_for(lock, std::chrono::milliseconds(20));
    if (!pending->response) return EnvironmentError("cancelled");
    if (pending->response->status != 200) return EnvironmentError("the server cannot report it");
    return std::move(pending->response->body);
  }

  Status Report(const std::string& json) override {
    WF_TRY(queries_.Report("default", json));
    return {};
  }
  void Cancel() override { cancelled_ = true; }

 private:
  ControlHub& hub_;
  LiveQueries& queries_;
  const std::string instance_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

std::string ControlProof(const std::string& token, std::string_view nonce, std::string_view body) {
  std::string text(nonce);
  text += '\n';
  text += body;
  return net::KeyedHash(token, text);
}

Result<std::unique_ptr<AgentLink>> MakeHttpAgentLink(const AgentLinkOptions& options) {
  if (!options.server.tls && options.token.empty() && !IsLoopback(options.server.host))
    return Denied(options.server.HostHeader() + ": cannot verify that this is your server",
                  "give --token-file with the token of its server.json, or use https://");
  return std::unique_ptr<AgentLink>(std::make_unique<HttpAgentLink>(options));
}

std::unique_ptr<AgentLink> MakeLocalAgentLink(ControlHub& hub, LiveQueries& queries,
                                              const std::string& instance) {
  return std::make_unique<LocalAgentLink>(hub, queries, instance);
}

}  // namespace wf::live
