// Incidents: small systems of services that something off the customers' path makes slow (Zeno §7.1, Z1 to Z4). Each is
// a table: which services there are, how many workers each has, what their routes do step by step, what customers ask
// for, and what goes wrong. All work sleeps, so that no delay comes from a busy processor by accident.
#pragma once

#include <string>
#include <vector>

namespace shop {

struct Step {
  enum class Does { kWork, kCall, kLock, kUnlock } does = Does::kWork;
  double ms = 0;        // kWork: about that long
  std::string service;  // kCall: whom, and below for what
  std::string method, path;
  std::string lock;  // kLock, kUnlock: by name
};
Step Work(double ms);
Step Call(std::string service, std::string method, std::string path);
Step Lock(std::string name);
Step Unlock(std::string name);

struct Route {
  std::string method, path;
  std::vector<Step> steps;
};

struct ServicePlan {
  std::string name;
  int workers = 1;
  std::vector<Route> routes;
  // When the trouble begins: calls of this kind now go elsewhere. Empty: nothing changes.
  std::string moves_from, moves_to;
};

// Who sends the off-path work, once the trouble begins.
struct Burst {
  std::string service;  // one of the services
  std::string work;     // the block around it: "sweep"
  Step call;
  int at_once = 1;  // calls in flight; the others follow as these are answered
  // Between one call and the next, whoever makes it; 0: as fast as they are answered.
  double spacing_ms = 0;
  // A call that is not answered in time is made again beside the first, up to so many times; 0: never.
  int retries = 0;
  double patience_ms = 0;
  bool always = false;  // also when nothing goes wrong: harmless by itself
};

struct Incident {
  std::string name, description;
  std::vector<ServicePlan> services;  // callers first: stopped in this order
  std::string entry;                  // the service that customers call
  std::string method, path;
  Burst burst;
  int size = 0;  // calls of the burst, unless told
  // From the beginning of the trouble to the first customer who meets it: it has been there for a while, and most of
  // what happened then is no part of any answer.
  double customers_after_ms = 0;
  std::string culprit_node, culprit_tuple;
};

// Null if there is none of this name.
const Incident* FindIncident(const std::string& name);
std::string IncidentNames();  // "Z1, Z2, …"

struct IncidentPlan {
  const Incident* incident = nullptr;
  std::string endpoint;  // where events are received: the --http listener of wherefore serve
  enum class Culprit { kOn, kOff } culprit = Culprit::kOn;
  int size = 0;  // 0: as the incident says
  uint64_t seed = 1;
};
// Runs it; writes what customers met, as JSON, to stdout. 0: done; 1: requests failed; 3: a process could not run.
int RunIncident(const IncidentPlan& plan);

struct IncidentService {
  const Incident* incident = nullptr;
  std::string service;
  int listen_fd = -1;
  std::string endpoint;
  std::string peers;  // NAME=HOST:PORT,…
  int size = 0;
  uint64_t seed = 1;
};
int RunIncidentService(const IncidentService& settings);

}  // namespace shop
