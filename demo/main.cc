// wherefore-demo: a small shop of service processes that can be put into trouble. README.md says what runs.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "http_server.h"
#include "incident.h"
#include "launcher.h"
#include "roles.h"
#include "service.h"

namespace {

constexpr char kUsage[] =
    "usage: wherefore-demo up [--endpoint URL] [--trouble none|maintenance-flood] [--rate N]\n"
    "                         [--seconds N] [--requests N] [--seed N] [--storage-workers N]\n"
    "       wherefore-demo ROLE (--listen HOST:PORT | --listen-fd N) [--endpoint URL] [--trouble "
    "T]\n"
    "                      [--compute HOST:PORT] [--storage HOST:PORT] [--queue-worker HOST:PORT]\n"
    "       wherefore-demo load --frontend HOST:PORT [--rate N] [--seconds N] [--requests N]\n"
    "       wherefore-demo incident Z1|Z2|Z3|Z4 --endpoint URL [--culprit on|off] [--size N] "
    "[--seed "
    "N]\n"
    "\n"
    "  ROLE      frontend, compute, storage, maintenance or queue-worker\n"
    "  --endpoint  where OTLP/HTTP is received (default $WHEREFORE_ENDPOINT, else\n"
    "              http://127.0.0.1:4318)\n"
    "  --seconds   how long customers come; 0: until Ctrl-C\n";

int UsageError(const std::string& message) {
  std::fprintf(stderr, "wherefore-demo: %s\n%s", message.c_str(), kUsage);
  return 2;
}

using Flags = std::map<std::string, std::string>;

// Known flags with their defaults; an unknown one or one without a value is the user's error.
bool ParseFlags(int argc, char** argv, Flags& flags, std::string& error) {
  for (int i = 2; i < argc; i += 2) {
    const std::string name = argv[i];
    const auto flag = name.rfind("--", 0) == 0 ? flags.find(name.substr(2)) : flags.end();
    if (flag == flags.end()) {
      error = name + ": no such flag";
      return false;
    }
    if (i + 1 >= argc) {
      error = name + " needs a value";
      return false;
    }
    flag->second = argv[i + 1];
  }
  return true;
}

// Reads flags[name] as a number of at least `least`.
bool Number(const Flags& flags, const std::string& name, double least, double& value,
            std::string& error) {
  const std::string& text = flags.at(name);
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= least && value <= 1e9)) {
    error = "--" + name + " " + text + ": not a number of at least " + std::to_string(least);
    return false;
  }
  return true;
}

using RoleFunction = int (*)(const shop::Settings&);
const std::map<std::string, RoleFunction>& Roles() {
  static const std::map<std::string, RoleFunction> roles = {
      {"frontend", shop::RunFrontend},        {"compute", shop::RunCompute},
      {"storage", shop::RunStorage},          {"maintenance", shop::RunMaintenance},
      {"queue-worker", shop::RunQueueWorker},
  };
  return roles;
}

const std::map<std::string, std::string>& PeersNeeded() {
  static const std::map<std::string, std::string> needed = {{"frontend", "compute"},
                                                            {"compute", "storage"},
                                                            {"maintenance", "storage"},
                                                            {"queue-worker", "storage"}};
  return needed;
}

int RunRole(const std::string& role, const Flags& flags) {
  shop::Settings settings;
  settings.endpoint = flags.at("endpoint");
  settings.trouble = flags.at("trouble");
  std::string error;
  double workers = 0, fd = 0;
  if (!Number(flags, "storage-workers", 1, workers, error)) return UsageError(error);
  settings.storage_workers = static_cast<int>(workers);
  for (const char* peer : {"frontend", "compute", "storage", "maintenance", "queue-worker"}) {
    if (!flags.at(peer).empty()) settings.peers[peer] = flags.at(peer);
  }
  const auto needed = PeersNeeded().find(role);
  if (needed != PeersNeeded().end() && settings.peers.count(needed->second) == 0) {
    return UsageError(role + " needs --" + needed->second + " HOST:PORT");
  }
  if (role == "frontend" && settings.peers.count("queue-worker") == 0) {
    return UsageError("frontend needs --queue-worker HOST:PORT");
  }
  if (!flags.at("listen-fd").empty()) {
    if (!Number(flags, "listen-fd", 3, fd, error)) return UsageError(error);
    settings.listen_fd = static_cast<int>(fd);
  } else if (!flags.at("listen").empty()) {
    settings.listen_fd = shop::ListenOn(flags.at("listen"));
    if (settings.listen_fd < 0) {
      std::fprintf(stderr, "wherefore-demo: cannot listen on %s: %s\n  choose another port\n",
                   flags.at("listen").c_str(), std::strerror(errno));
      return 3;
    }
    std::printf("%s: http://%s\n", role.c_str(), shop::AddressOf(settings.listen_fd).c_str());
    std::fflush(stdout);
  } else {
    return UsageError(role + " needs --listen HOST:PORT");
  }
  shop::BlockSignals();
  return Roles().at(role)(settings);
}

// The incidents that `wherefore scenario Z1` runs, and each of their services.
int RunIncidentVerb(const std::string& verb, const std::string& name, const Flags& flags) {
  const shop::Incident* incident = shop::FindIncident(name);
  if (incident == nullptr) {
    return UsageError("incident " + name + ": there are " + shop::IncidentNames());
  }
  std::string error;
  double size = 0, seed = 0, fd = 0;
  if (!Number(flags, "size", 0, size, error) || !Number(flags, "seed", 0, seed, error))
    return UsageError(error);
  if (flags.at("endpoint").empty())
    return UsageError(verb + " needs --endpoint, the --http address of wherefore serve");
  if (verb == "incident") {
    if (flags.at("culprit") != "on" && flags.at("culprit") != "off")
      return UsageError("--culprit " + flags.at("culprit") + ": on or off");
    shop::IncidentPlan plan;
    plan.incident = incident;
    plan.endpoint = flags.at("endpoint");
    plan.culprit = flags.at("culprit") == "on" ? shop::IncidentPlan::Culprit::kOn
                                               : shop::IncidentPlan::Culprit::kOff;
    plan.size = static_cast<int>(size);
    plan.seed = static_cast<uint64_t>(seed);
    return shop::RunIncident(plan);
  }
  if (!Number(flags, "listen-fd", 3, fd, error)) return UsageError(error);
  shop::IncidentService settings;
  settings.incident = incident;
  settings.service = flags.at("service");
  settings.listen_fd = static_cast<int>(fd);
  settings.endpoint = flags.at("endpoint");
  settings.peers = flags.at("peers");
  settings.size = static_cast<int>(size);
  settings.seed = static_cast<uint64_t>(seed);
  shop::BlockSignals();
  return shop::RunIncidentService(settings);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return UsageError("what shall run?");
  const std::string verb = argv[1];
  if (verb == "--help" || verb == "-h" || verb == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (verb == "incident" || verb == "incident-service") {
    const bool named = verb == "incident" && argc > 2 && argv[2][0] != '-';
    Flags flags = {{"endpoint", ""}, {"size", "0"}, {"seed", "1"}};
    if (verb == "incident") flags["culprit"] = "on";
    if (verb == "incident-service") {
      for (const char* name : {"incident", "service", "listen-fd", "peers"}) flags[name] = "";
    }
    std::string error;
    // The name stands where another verb's first flag would.
    if (!ParseFlags(argc - (named ? 1 : 0), argv + (named ? 1 : 0), flags, error))
      return UsageError(error);
    const std::string name = named ? argv[2] : verb == "incident" ? "" : flags["incident"];
    return RunIncidentVerb(verb, name, flags);
  }
  Flags flags = {{"endpoint", ""}, {"trouble", "none"}, {"storage-workers", "1"}};
  const bool role = Roles().count(verb) != 0;
  if (role) {
    for (const char* name :
         {"listen", "listen-fd", "frontend", "compute", "storage", "maintenance", "queue-worker"}) {
      flags[name] = "";
    }
  } else if (verb == "up" || verb == "load") {
    flags.insert({{"rate", "10"}, {"seconds", "12"}, {"requests", "0"}, {"seed", "1"}});
    if (verb == "load") flags["frontend"] = "";
  } else {
    return UsageError(verb + ": no such role");
  }
  std::string error;
  if (!ParseFlags(argc, argv, flags, error)) return UsageError(error);
  if (flags["trouble"] != "none" && flags["trouble"] != "maintenance-flood") {
    return UsageError("--trouble " + flags["trouble"] + ": the shop knows none, maintenance-flood");
  }
  if (role) return RunRole(verb, flags);

  shop::LoadPlan load;
  double requests = 0, seed = 0, workers = 0;
  if (!Number(flags, "rate", 0.001, load.rate, error) ||
      !Number(flags, "seconds", 0, load.seconds, error) ||
      !Number(flags, "requests", 0, requests, error) || !Number(flags, "seed", 0, seed, error) ||
      !Number(flags, "storage-workers", 1, workers, error)) {
    return UsageError(error);
  }
  load.requests = static_cast<int64_t>(requests);
  load.seed = static_cast<uint64_t>(seed);
  if (verb == "load") {
    load.frontend = flags["frontend"];
    if (load.frontend.find(':') == std::string::npos) {
      return UsageError("load needs --frontend HOST:PORT");
    }
    shop::BlockSignals();
    return shop::RunLoad(load);
  }
  shop::UpPlan plan;
  plan.endpoint = flags["endpoint"];
  plan.trouble = flags["trouble"];
  plan.storage_workers = static_cast<int>(workers);
  plan.load = load;
  return shop::RunUp(plan);
}
