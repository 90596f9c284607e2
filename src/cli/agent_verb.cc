// `wherefore agent --server URL`: weaves live queries into the processes of this host, until SIGINT or SIGTERM.
#include <signal.h>

#include <CLI/CLI.hpp>

#include "cli/live_server.h"
#include "cli/verbs.h"
#include "live/agent.h"
#include "log/log.h"
#include "net/address.h"

namespace wf::cli {
namespace {

struct AgentFlags {
  LiveServerFlags server;
  std::string link = "auto", log_level = "info";
  uint32_t string_bytes = weaver::WeaveOptions().string_bytes;
};

Status RunAgent(const AgentFlags& flags, const CommonFlags& common) {
  WF_ASSIGN(const log::Level level, log::ParseLevel(flags.log_level));
  log::SetLevel(level);
  const auto url = net::ParseUrl(flags.server.server);
  if (!url.ok()) return BadInput("--server: " + url.error().message, url.error().hint);
  weaver::WeaveOptions weave;
  WF_ASSIGN(weave.link, weaver::ParseLinkChoice(flags.link));
  weave.string_bytes = flags.string_bytes;
  WF_ASSIGN(const std::string token, LiveServerToken(flags.server, common.store));
  const std::string instance = live::AgentInstance();
  WF_ASSIGN(auto link,
            live::MakeHttpAgentLink({*url, token, instance, common.ca, common.client_cert,
                                     common.client_key, common.tenant}));
  WF_TRY(live::CheckWeavePrivileges());

  // Taken by this thread alone, with sigtimedwait; threads started below inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  live::Agent agent(std::move(link), {instance, live::HostName(), live::WeaveHost(weave)});
  std::string told;
  while (true) {
    const timespec while_waiting{0, 200'000'000};
    if (const int signal = ::sigtimedwait(&signals, nullptr, &while_waiting); signal > 0) {
      log::Info("stopping: {}", signal == SIGINT ? "interrupted" : "terminated");
      pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // a second one ends us at once
      agent.Stop();
      return {};
    }
    // What it does is in the log; here only whether it reached the server at all.
    std::string now =
        agent.contact() == live::Agent::Contact::kConnected ? "connected" : agent.trouble();
    if (now == told || now.empty()) continue;
    told = now;
    if (now == "connected") {
      log::Info("agent: connected to {}", url->HostHeader());
    } else {
      log::Warn("agent: {}", now);
    }
  }
}

}  // namespace

Verb AddAgent(CLI::App& root) {
  Verb verb = MakeVerb(root, "agent", "Run live queries in the processes of this host");
  const auto flags = std::make_shared<AgentFlags>();
  AddLiveServerFlags(*verb.app, flags->server);
  verb.app->get_option("--server")->required();
  verb.app->add_option("--link", flags->link, "how probes are attached: auto, multi or perf")
      ->check(CLI::IsMember({"auto", "multi", "perf"}))
      ->capture_default_str();
  verb.app
      ->add_option("--string-bytes", flags->string_bytes,
                   "maximum string length in bytes, 8 to 256")
      ->check(CLI::Range(8, 256))
      ->capture_default_str();
  verb.app->add_option("--log-level", flags->log_level, "debug, info, warn, error or off")
      ->capture_default_str();
  verb.run = [flags, common = verb.common] { return RunAgent(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
