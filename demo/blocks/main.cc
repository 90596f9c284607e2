// wherefore-blocks: a small replicated block store in the image of HDFS, and who uses it. README.md says what runs.
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "demo/service.h"
#include "settings.h"
#include "wherefore/tracer.h"

namespace {

constexpr char kUsage[] =
    "usage: wherefore-blocks up [--clients KIND[:THREADS[:THINK_MS]],…] [--fault F] [--seconds N]\n"
    "                           [--requests N] [--files N] [--endpoint URL] [--seed N]\n"
    "\n"
    "  KIND   FSread4m, FSread64m, Hget, Hscan, MRsort10g, MRsort100g; StressTest on all eight\n"
    "         hosts; Read8k, Open, Create, Rename, Compact. None: servers only, until Ctrl-C\n"
    "  F      none, static-order, slow-link, even-links, namenode-lock or pause\n";

int UsageError(const std::string& message) {
  std::fprintf(stderr, "wherefore-blocks: %s\n%s", message.c_str(), kUsage);
  return 2;
}

using Flags = std::map<std::string, std::string>;

bool ParseFlags(int argc, char** argv, Flags& flags, std::string& error) {
  for (int i = 2; i < argc; i += 2) {
    const std::string name = argv[i];
    const auto flag = name.rfind("--", 0) == 0 ? flags.find(name.substr(2)) : flags.end();
    if (flag == flags.end() || i + 1 >= argc) {
      error = name + (flag == flags.end() ? ": no such flag" : " needs a value");
      return false;
    }
    flag->second = argv[i + 1];
  }
  return true;
}

// A process is on the machine whose name it sees.
void EnterHost(const std::string& host) {
  if (host.empty()) return;
  if (unshare(CLONE_NEWUTS) == 0 && sethostname(host.data(), host.size()) == 0) return;
  setenv("WHEREFORE_HOST", host.c_str(), 1);
}

using Role = int (*)(const blocks::Settings&);
const std::map<std::string, Role>& Roles() {
  static const std::map<std::string, Role> roles = {{"name-node", blocks::RunNameNode},
                                                    {"data-node", blocks::RunDataNode},
                                                    {"region-server", blocks::RunRegionServer},
                                                    {"task-manager", blocks::RunTaskManager},
                                                    {"client", blocks::RunClient}};
  return roles;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return UsageError("what shall run?");
  const std::string verb = argv[1];
  if (verb == "--help" || verb == "-h" || verb == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const auto role = Roles().find(verb);
  if (verb != "up" && role == Roles().end()) return UsageError(verb + ": no such role");
  Flags flags = {{"endpoint", ""}, {"fault", "none"}, {"files", "10000"},
                 {"seed", "1"},    {"seconds", "10"}, {"requests", "0"}};
  if (verb == "up") {
    flags["clients"] = "";
  } else {
    for (const char* name : {"host", "listen-fd", "peers", "kind", "threads", "think-ms"})
      flags[name] = "";
  }
  std::string error;
  if (!ParseFlags(argc, argv, flags, error)) return UsageError(error);
  const auto number = [&](const char* name) { return std::atof(flags[name].c_str()); };
  blocks::UpPlan plan;
  blocks::Settings& settings = plan.common;
  settings.role = verb;
  settings.endpoint = flags["endpoint"];
  settings.fault = flags["fault"];
  bool known = false;
  for (const char* fault :
       {"none", "static-order", "slow-link", "even-links", "namenode-lock", "pause"})
    known = known || settings.fault == fault;
  if (!known) return UsageError("--fault " + settings.fault + ": no such fault");
  settings.files = static_cast<int>(number("files"));
  if (settings.files < 1) return UsageError("--files " + flags["files"] + ": at least 1");
  settings.seed = static_cast<uint64_t>(number("seed"));
  settings.seconds = number("seconds");
  settings.requests = static_cast<int64_t>(number("requests"));
  if (verb == "up") {
    plan.clients = flags["clients"];
    return blocks::RunUp(plan);
  }
  settings.host = flags["host"];
  settings.kind = flags["kind"];
  settings.listen_fd = std::atoi(flags["listen-fd"].c_str());
  settings.threads = std::max(1, std::atoi(flags["threads"].c_str()));
  settings.think_ms = number("think-ms");
  std::istringstream peers(flags["peers"]);
  for (std::string peer; std::getline(peers, peer, ',');) {
    const size_t equals = peer.find('=');
    if (equals != std::string::npos)
      settings.peers[peer.substr(0, equals)] = peer.substr(equals + 1);
  }
  EnterHost(settings.host);
  if (verb != "client") {
    shop::BlockSignals();
  } else {  // the launcher's are blocked, and so would be ours
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
  }
  wherefore::TracerOptions options;  // the process's connection to whoever asks
  options.endpoint = settings.endpoint;
  options.service_name = settings.kind.empty() ? verb : settings.kind;
  wherefore::Tracer tracer(options);
  // What is asked already is asked of the first request too.
  if (!settings.endpoint.empty()) tracer.AwaitPolicies(std::chrono::seconds(5));
  return role->second(settings);
}
