#include "incident.h"

#include <utility>

namespace shop {

Step Work(double ms) {
  Step step;
  step.ms = ms;
  return step;
}
Step Call(std::string service, std::string method, std::string path) {
  Step step;
  step.does = Step::Does::kCall;
  step.service = std::move(service);
  step.method = std::move(method);
  step.path = std::move(path);
  return step;
}
Step Lock(std::string name) {
  Step step;
  step.does = Step::Does::kLock;
  step.lock = std::move(name);
  return step;
}
Step Unlock(std::string name) {
  Step step = Lock(std::move(name));
  step.does = Step::Does::kUnlock;
  return step;
}

namespace {

// A maintenance task scans storage, which serves one at a time; whoever needs storage meanwhile waits in line.
Incident MaintenanceTask() {
  Incident z;
  z.name = "Z1";
  z.description = "a maintenance task floods storage, and requests queue behind its scans";
  z.services = {
      {"maintenance", 1, {}, {}, {}},
      {"frontend",
       1,
       {{"GET", "/browse", {Work(10), Call("compute", "GET", "/recommend"), Work(15)}}},
       {},
       {}},
      {"compute",
       1,
       {{"GET",
         "/recommend",
         {Work(10), Call("storage", "GET", "/get"), Call("storage", "GET", "/get"), Work(15)}}},
       {},
       {}},
      {"storage",
       1,
       {{"GET", "/get", {Work(20), Call("disk", "GET", "/read")}}, {"GET", "/scan", {Work(15)}}},
       {},
       {}},
      {"disk", 1, {{"GET", "/read", {Work(5)}}}, {}, {}},
  };
  z.entry = "frontend";
  z.method = "GET";
  z.path = "/browse";
  z.burst = {"maintenance", "sweep", Call("storage", "GET", "/scan"), 40, 0, 0, 0, false};
  z.size = 240;
  z.customers_after_ms = 1200;
  z.culprit_node = "storage";
  z.culprit_tuple = "GET /scan";
  return z;
}

// The fetch service loses its site and uses one far away. Its other clients lose patience and ask again, and their
// repeated requests are what fills the line.
Incident ElevatedLatency() {
  Incident z;
  z.name = "Z2";
  z.description = "fetches move to a remote site, clients retry, and the retries fill the line";
  const auto fetch = [](const char* path) {
    return Route{"GET", path, {Work(2), Call("site-near", "GET", "/page"), Work(2)}};
  };
  z.services = {
      {"client-app", 1, {}, {}, {}},
      {"frontend",
       1,
       {{"GET", "/preview", {Work(40), Call("urlfetch", "GET", "/fetch"), Work(40)}}},
       {},
       {}},
      {"urlfetch", 1, {fetch("/fetch")}, "site-near", "site-far"},
      {"site-near", 1, {{"GET", "/page", {Work(6)}}}, {}, {}},
      {"site-far", 1, {{"GET", "/page", {Work(30)}}}, {}, {}},
  };
  z.entry = "frontend";
  z.method = "GET";
  z.path = "/preview";
  z.burst = {"client-app", "refresh", Call("urlfetch", "GET", "/fetch"), 6, 65, 4, 25, true};
  z.size = 40;
  z.customers_after_ms = 1200;
  z.culprit_node = "urlfetch";
  z.culprit_tuple = "GET /fetch retry";
  return z;
}

// Scheduling a query takes a lock for a moment; compacting the same table takes it for long.
Incident LockContention() {
  Incident z;
  z.name = "Z3";
  z.description = "compactions hold the lock that scheduling a query needs";
  z.services = {
      {"statistics", 4, {}, {}, {}},
      {"gateway",
       4,
       {{"POST",
         "/query",
         {Work(10), Call("scheduler", "POST", "/schedule"), Call("executor", "POST", "/execute"),
          Work(10)}}},
       {},
       {}},
      {"scheduler",
       4,
       {{"POST",
         "/schedule",
         {Work(5), Lock("query table"), Work(10), Unlock("query table"), Work(5)}},
        {"POST",
         "/compact",
         {Work(1), Lock("query table"), Call("storage", "GET", "/read"), Work(15),
          Call("storage", "GET", "/read"), Work(15), Call("storage", "GET", "/read"), Work(15),
          Call("storage", "GET", "/read"), Work(15), Unlock("query table")}}},
       {},
       {}},
      {"executor",
       4,
       {{"POST", "/execute", {Work(30), Call("storage", "GET", "/read"), Work(5)}}},
       {},
       {}},
      {"storage", 4, {{"GET", "/read", {Work(15)}}}, {}, {}},
  };
  z.entry = "gateway";
  z.method = "POST";
  z.path = "/query";
  z.burst = {"statistics", "refresh statistics", Call("scheduler", "POST", "/compact"), 3, 0, 0, 0,
             false};
  z.size = 60;
  z.customers_after_ms = 2600;
  z.culprit_node = "scheduler";
  z.culprit_tuple = "POST /compact";
  return z;
}

// Somebody loads more than the service can take in; everybody else's load jobs wait for a worker.
Incident SlowLoadJobs() {
  Incident z;
  z.name = "Z4";
  z.description = "one tenant's load jobs exceed the ingestion capacity, and other jobs wait";
  z.services = {
      {"bulk-loader", 4, {}, {}, {}},
      {"gateway",
       4,
       {{"POST", "/submit", {Work(15), Call("ingest", "POST", "/load"), Work(15)}}},
       {},
       {}},
      {"ingest",
       4,
       {{"POST",
         "/load",
         {Work(15), Call("catalog", "GET", "/schema"), Call("warehouse", "POST", "/append"),
          Work(10)}},
        {"POST", "/bulk", {Work(20), Call("warehouse", "POST", "/append")}}},
       {},
       {}},
      {"catalog", 4, {{"GET", "/schema", {Work(10)}}}, {}, {}},
      {"warehouse", 4, {{"POST", "/append", {Work(20)}}}, {}, {}},
  };
  z.entry = "gateway";
  z.method = "POST";
  z.path = "/submit";
  z.burst = {"bulk-loader", "load everything", Call("ingest", "POST", "/bulk"), 80, 0, 0, 0, false};
  z.size = 400;
  z.customers_after_ms = 1500;
  z.culprit_node = "ingest";
  z.culprit_tuple = "POST /bulk";
  return z;
}

const std::vector<Incident>& Incidents() {
  static const std::vector<Incident> all = {MaintenanceTask(), ElevatedLatency(), LockContention(),
                                            SlowLoadJobs()};
  return all;
}

}  // namespace

const Incident* FindIncident(const std::string& name) {
  for (const Incident& incident : Incidents()) {
    if (incident.name == name) return &incident;
  }
  return nullptr;
}

std::string IncidentNames() {
  std::string names;
  for (const Incident& incident : Incidents()) names += (names.empty() ? "" : ", ") + incident.name;
  return names;
}

}  // namespace shop
