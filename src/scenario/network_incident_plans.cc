// The four incidents as programs, networks and inputs. All of them send packets through switches whose flow entries the
// controller has installed: the functional provenance of a request holds these too, as in the paper.
//
// Costs are those of the paper's kind of system: forwarding in tens of microseconds, requests in tens to hundreds of
// milliseconds. With the fault off the inputs are the same but for the trouble itself.
#include <fmt/format.h>

#include <algorithm>

#include "scenario/draws.h"
#include "scenario/network_incident.h"

namespace wf::scenario {
namespace {

// What all have in common: the controller knows where hosts are, switches forward, hosts have an uplink.
constexpr std::string_view kForwarding = R"n(
materialize(location, infinity, infinity, keys(1,2)).
materialize(nextHop, infinity, infinity, keys(1,2,3)).
materialize(uplink, infinity, infinity, keys(1)).
materialize(flow, infinity, infinity, keys(1,2)).

c1 flow(@Switch,Host,Next) :- location(@C,Host,At), nextHop(@C,Switch,At,Next).
c2 flow(@At,Host,Host) :- location(@C,Host,At).
s1 packet(@Next,From,To,Kind,Id) :- packet(@Switch,From,To,Kind,Id), flow(@Switch,To,Next).
)n";

// Z1's twin: a misconfigured maintenance job floods the storage backend (§2).
constexpr std::string_view kMaintenanceRules = R"n(
p1 packet(@Switch,Server,To,read,Id) :- request(@Server,To,Id), uplink(@Server,Switch).
p2 response(@Server,Id) :- packet(@Server,From,Server,readReply,Id).
m1 packet(@Switch,Server,To,scan,Id) :- job(@Server,To,Calls), range(Id,1,Calls), uplink(@Server,Switch).

b1 read(@Storage,From,Id) :- packet(@Storage,From,Storage,read,Id).
b2 packet(@Switch,Storage,From,readReply,Id) :- read(@Storage,From,Id), uplink(@Storage,Switch).
b3 scan(@Storage,From,Id) :- packet(@Storage,From,Storage,scan,Id).
)n";

// A failure moves the service to a far site; clients ask again for what takes long, which makes it take longer.
constexpr std::string_view kRetryRules = R"n(
materialize(site, infinity, infinity, keys(1)).
materialize(standby, infinity, infinity, keys(1)).
materialize(pending, infinity, infinity, keys(1,2)).

q1 site(@Client,Remote) :- failure(@Client), standby(@Client,Remote).
q2 pending(@Client,Id,open,Since) :- request(@Client,Id), Since := f_now().
q3 packet(@Switch,Client,Site,fetch,Id) :- request(@Client,Id), site(@Client,Site), uplink(@Client,Switch).
q4 pending(@Client,Id,done,Since) :- packet(@Client,From,Client,fetched,Id), pending(@Client,Id,_,Since).
q5 response(@Client,Id) :- packet(@Client,From,Client,fetched,Id).
q6 packet(@Switch,Client,Site,refetch,Id) :- periodic(@Client,E,1), pending(@Client,Id,open,Since),
                                             f_now() - Since > 500000000, site(@Client,Site), uplink(@Client,Switch).

f1 fetch(@Site,From,Id) :- packet(@Site,From,Site,fetch,Id).
f2 packet(@Switch,Site,From,fetched,Id) :- fetch(@Site,From,Id), uplink(@Site,Switch).
f3 refetch(@Site,From,Id) :- packet(@Site,From,Site,refetch,Id).
f4 packet(@Switch,Site,From,fetched,Id) :- refetch(@Site,From,Id), uplink(@Site,Switch).
)n";

// A release makes the publisher send an update to every instance; messages that create new ones queue behind.
constexpr std::string_view kReleaseRules = R"n(
materialize(subscriber, infinity, infinity, keys(1,2)).

u1 update(@Publisher,Instance,Version) :- release(@Publisher,Version), subscriber(@Publisher,Instance).
u2 packet(@Switch,Publisher,Instance,update,Version) :- update(@Publisher,Instance,Version), uplink(@Publisher,Switch).
u3 updated(@Instance,Version) :- packet(@Instance,From,Instance,update,Version).

d1 packet(@Switch,Deployer,Publisher,deploy,Instance) :- deployRequest(@Deployer,Publisher,Instance),
                                                         uplink(@Deployer,Switch).
d2 deploy(@Publisher,Instance) :- packet(@Publisher,From,Publisher,deploy,Instance).
d3 packet(@Switch,Publisher,Instance,create,Instance) :- deploy(@Publisher,Instance), uplink(@Publisher,Switch).
d4 created(@Instance) :- packet(@Instance,From,Instance,create,Instance).
)n";

// Changing traffic makes the controller reconfigure the switches; registrations of new instances queue behind.
constexpr std::string_view kTrafficRules = R"n(
materialize(controller, infinity, infinity, keys(1)).
materialize(switch, infinity, infinity, keys(1,2)).
materialize(register, infinity, infinity, keys(1,2)).
materialize(share, infinity, infinity, keys(1,2)).

t1 report(@C,Server,Rate) :- traffic(@Switch,Server,Rate), controller(@Switch,C).
t2 reconfigure(@C,Switch,Server,Rate) :- report(@C,Server,Rate), switch(@C,Switch).
t3 share(@Switch,Server,Rate) :- reconfigure(@C,Switch,Server,Rate).

g1 register(@Switch,Server) :- start(@Server), uplink(@Server,Switch).
g2 registration(@C,Server,Switch) :- register(@Switch,Server), controller(@Switch,C).
g3 location(@C,Server,Switch) :- registration(@C,Server,Switch).
g4 registered(@Server,Switch) :- flow(@Switch,Server,Server), register(@Switch,Server).
)n";

enum DrawFamily : uint64_t {
  kBackground,
  kBackgroundTime,
  kTrafficTime,
  kTrafficServer,
  kTrafficRate
};

// Writes topology and inputs. Servers hang off three edge switches in turn; these meet in the fourth.
class NetworkPlan {
 public:
  NetworkPlan(const ScenarioOptions& options, std::string_view rules)
      : begin_(options.start), draws_(options.seed) {
    incident_.texts.program = std::string(kForwarding) + std::string(rules);
    for (const char* node : {"controller", "s1", "s2", "s3", "s4"}) Node(node);
    for (const char* edge : {"s2", "s3", "s4"}) Link("s1", edge, 100 * kMicro);
    for (const char* at : {"s1", "s2", "s3", "s4"}) Link("controller", at, 500 * kMicro);
    for (const char* edge : {"s2", "s3", "s4"}) {
      for (const char* other : {"s2", "s3", "s4"})
        if (std::string_view(edge) != other)
          Insert(0, fmt::format("nextHop(@controller,{},{},s1)", edge, other));
      Insert(0, fmt::format("nextHop(@controller,s1,{},{})", edge, edge));
    }
    for (const char* what : {"INS", "DEL", "SND", "RCV"}) CostOf(what, 10 * kMicro);
    CostOf("c1", 40 * kMicro);
    CostOf("c2", 40 * kMicro);
    CostOf("s1", 50 * kMicro);
  }

  // A server whose place the controller knows. Returns its switch.
  std::string Server(const std::string& name, Nanos delay = 50 * kMicro) {
    const std::string at = Unplaced(name, delay);
    Insert(0, fmt::format("location(@controller,{},{})", name, at));
    return at;
  }
  std::string Unplaced(const std::string& name, Nanos delay = 50 * kMicro) {
    const std::string at = fmt::format("s{}", 2 + incident_.servers % 3);
    ++incident_.servers;
    Node(name);
    Link(at, name, delay);
    Insert(0, fmt::format("uplink(@{},{})", name, at));
    return at;
  }
  void Insert(Nanos at, const std::string& tuple) {
    incident_.texts.inputs +=
        fmt::format("{{\"at_ns\":{},\"insert\":\"{}\"}}\n", begin_ + at, tuple);
  }
  void CostOf(std::string_view rule, Nanos cost) {
    incident_.texts.topology +=
        fmt::format("{{\"rule\":\"{}\",\"cost_ns\":{},\"jitter_ns\":{}}}\n", rule, cost, cost / 20);
  }
  const Draws& draws() const { return draws_; }
  NetworkIncident& incident() { return incident_; }

 private:
  void Node(std::string_view name) {
    incident_.texts.topology += fmt::format("{{\"node\":\"{}\"}}\n", name);
  }
  void Link(std::string_view a, std::string_view b, Nanos delay) {
    constexpr int64_t kBitsPerSecond = 100'000'000;
    incident_.texts.topology +=
        fmt::format("{{\"link\":[\"{}\",\"{}\"],\"delay_ns\":{},\"bits_per_s\":{}}}\n", a, b, delay,
                    kBitsPerSecond);
  }

  Nanos begin_;
  Draws draws_;
  NetworkIncident incident_;
};

constexpr Nanos kNormalAt = 9 * kSecond, kTroubleAt = 10 * kSecond;

// R1.
NetworkIncident MaintenancePlan(const ScenarioOptions& options, int64_t servers) {
  NetworkPlan plan(options, kMaintenanceRules);
  for (const char* server : {"compute", "storage", "maintenance"}) plan.Server(server);
  plan.CostOf("b1", 100 * kMilli);
  plan.CostOf("b3", 200 * kMilli);
  int64_t id = 0;
  const auto read = [&](Nanos at, const std::string& server) {
    plan.Insert(at, fmt::format("request(@{},storage,{})", server, ++id));
  };
  for (Nanos at = kSecond; at < kNormalAt - kSecond; at += 500 * kMilli)
    read(at + plan.draws().Below(100, kBackgroundTime, static_cast<uint64_t>(at)) * kMilli,
         "compute");
  for (int64_t more = 4; more <= servers; ++more) {  // other clients of the backend
    const std::string name = fmt::format("client{:03}", more);
    plan.Server(name);
    read(kSecond + plan.draws().Below(5000, kBackground, static_cast<uint64_t>(more)) * kMilli,
         name);
  }
  read(kNormalAt, "compute");
  plan.incident().normal = {fmt::format("request(@compute,storage,{})", id),
                            fmt::format("response(@compute,{})", id)};
  // When the request comes, the job has kept the backend busy for a while, and most of it is still to be done.
  if (options.fault == Fault::kOn) plan.Insert(kTroubleAt, "job(@maintenance,storage,90)");
  read(kTroubleAt + 6 * kSecond + plan.draws().Below(1000, kBackground) * kMilli, "compute");
  plan.incident().slow = {fmt::format("request(@compute,storage,{})", id),
                          fmt::format("response(@compute,{})", id)};
  plan.incident().question = "A request to the storage backend took far longer than usual. Why?";
  plan.incident().culprit_node = "storage";
  plan.incident().culprit_tuple = "scan";
  return plan.incident();
}

// R2.
NetworkIncident RetryPlan(const ScenarioOptions& options, int64_t servers) {
  NetworkPlan plan(options, kRetryRules);
  plan.Server("frontend");
  plan.Server("primary");
  plan.Server("remote", 600 * kMilli);
  for (const char* rule : {"f1", "f3"}) plan.CostOf(rule, 150 * kMilli);
  for (const char* rule : {"q2", "q4"}) plan.CostOf(rule, 10 * kMicro);
  plan.Insert(0, "site(@frontend,primary)");
  plan.Insert(0, "standby(@frontend,remote)");
  for (int64_t more = 4; more <= servers; ++more) plan.Server(fmt::format("client{:03}", more));
  int64_t id = 0;
  constexpr Nanos kEvery = 250 * kMilli, kLast = 16 * kSecond;
  for (Nanos at = kSecond; at <= kLast; at += kEvery) {
    ++id;
    const IncidentRequest request = {fmt::format("request(@frontend,{})", id),
                                     fmt::format("response(@frontend,{})", id)};
    if (at == kNormalAt) plan.incident().normal = request;
    if (at == kLast) plan.incident().slow = request;
    const Nanos jitter =
        plan.draws().Below(40, kBackgroundTime, static_cast<uint64_t>(id)) * kMilli;
    plan.Insert(at + jitter, request.inserted);
  }
  if (options.fault == Fault::kOn) plan.Insert(kTroubleAt, "failure(@frontend)");
  plan.incident().question = "Fetches take many times as long as usual. Why?";
  plan.incident().culprit_node = "remote";
  plan.incident().culprit_tuple = "refetch";
  return plan.incident();
}

// R3.
NetworkIncident ReleasePlan(const ScenarioOptions& options, int64_t servers) {
  NetworkPlan plan(options, kReleaseRules);
  for (const char* server : {"publisher", "deployer", "instance-a", "instance-b"})
    plan.Server(server);
  plan.CostOf("u1", 10 * kMilli);
  plan.CostOf("u2", 200 * kMicro);
  plan.CostOf("u3", 5 * kMilli);
  plan.CostOf("d2", 10 * kMilli);
  plan.CostOf("d4", 20 * kMilli);
  for (int64_t i = 5; i <= servers; ++i) {
    const std::string name = fmt::format("instance{:03}", i);
    plan.Server(name);
    plan.Insert(0, fmt::format("subscriber(@publisher,{})", name));
  }
  plan.Insert(kNormalAt, "deployRequest(@deployer,publisher,instance-a)");
  plan.incident().normal = {"deployRequest(@deployer,publisher,instance-a)",
                            "created(@instance-a)"};
  if (options.fault == Fault::kOn) plan.Insert(kTroubleAt, "release(@publisher,2)");
  const Nanos jitter = plan.draws().Below(1000, kBackgroundTime) * kMicro;
  plan.Insert(kTroubleAt + 2 * kMilli + jitter, "deployRequest(@deployer,publisher,instance-b)");
  plan.incident().slow = {"deployRequest(@deployer,publisher,instance-b)", "created(@instance-b)"};
  plan.incident().question =
      "Creating an instance took far longer than usual after the release. Why?";
  plan.incident().culprit_node = "publisher";
  plan.incident().culprit_tuple = "update";
  return plan.incident();
}

// R4.
NetworkIncident TrafficPlan(const ScenarioOptions& options, int64_t servers) {
  NetworkPlan plan(options, kTrafficRules);
  for (const char* at : {"s1", "s2", "s3", "s4"}) {
    plan.Insert(0, fmt::format("controller(@{},controller)", at));
    plan.Insert(0, fmt::format("switch(@controller,{})", at));
  }
  plan.CostOf("t2", 20 * kMilli);
  plan.CostOf("t3", 200 * kMicro);
  plan.CostOf("g2", 100 * kMicro);
  plan.CostOf("g3", 20 * kMilli);
  std::vector<std::string> names;
  for (int64_t i = 3; i <= servers; ++i) {
    names.push_back(fmt::format("server{:03}", i));
    plan.Server(names.back());
  }
  const auto change = [&](Nanos at, uint64_t number) {
    const Draws& draws = plan.draws();
    const auto& server = names[static_cast<size_t>(
        draws.Below(static_cast<int64_t>(names.size()), kTrafficServer, number))];
    plan.Insert(
        at, fmt::format("traffic(@s1,{},{})", server, draws.Between(1, 100, kTrafficRate, number)));
  };
  uint64_t number = 0;
  for (Nanos at = kSecond; at < 8 * kSecond; at += kSecond) change(at, ++number);
  // Traffic changes for so long before the instance starts; the controller has done about half of the work by then.
  constexpr Nanos kBurst = 3 * kSecond;
  const int64_t changes = std::max<int64_t>(20, servers * 6 / 10);
  for (int64_t i = 0; i < changes && options.fault == Fault::kOn; ++i) {
    ++number;
    change(kTroubleAt + plan.draws().Below(kBurst / kMicro, kTrafficTime, number) * kMicro, number);
  }
  for (const auto& [name, at] :
       {std::pair("server-a", kNormalAt), std::pair("server-b", kTroubleAt + kBurst)}) {
    const std::string edge = plan.Unplaced(name);
    plan.Insert(at, fmt::format("start(@{})", name));
    IncidentRequest& request = at == kNormalAt ? plan.incident().normal : plan.incident().slow;
    request = {fmt::format("start(@{})", name), fmt::format("registered(@{},{})", name, edge)};
  }
  plan.incident().question = "A new instance was registered far later than usual. Why?";
  plan.incident().culprit_node = "controller";
  plan.incident().culprit_tuple = "reconfigure";
  return plan.incident();
}

struct Entry {
  ScenarioDescription description;
  int64_t servers, least;
  NetworkIncident (*plan)(const ScenarioOptions&, int64_t servers);
};

constexpr Entry kEntries[] = {
    {{"R1", "a maintenance job floods the storage backend, and a request waits (Zeno §7.1)"},
     3,
     3,
     MaintenancePlan},
    {{"R2", "after a failure clients retry at a far site, and everybody waits longer"},
     3,
     3,
     RetryPlan},
    {{"R3", "a release updates every instance, and messages that create one wait"},
     115,
     5,
     ReleasePlan},
    {{"R4", "changing traffic reconfigures the network, and registrations wait"},
     95,
     4,
     TrafficPlan},
};

const Entry* Find(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kEntries), std::end(kEntries),
                   [&](const Entry& entry) { return entry.description.name == name; });
  return found == std::end(kEntries) ? nullptr : found;
}

}  // namespace

const std::vector<ScenarioDescription>& NetworkIncidents() {
  static const std::vector<ScenarioDescription> all = [] {
    std::vector<ScenarioDescription> descriptions;
    for (const Entry& entry : kEntries) descriptions.push_back(entry.description);
    return descriptions;
  }();
  return all;
}

bool IsNetworkIncident(std::string_view name) { return Find(name) != nullptr; }

Result<NetworkIncident> PlanNetworkIncident(const ScenarioOptions& options) {
  const Entry* entry = Find(options.name);
  if (entry == nullptr)
    return BadInput(fmt::format("scenario {}: no such scenario", options.name),
                    "wherefore scenario list shows them");
  const int64_t servers = options.size.value_or(entry->servers);
  constexpr int64_t kMost = 5000;
  if (servers < entry->least || servers > kMost) {
    return BadInput(fmt::format("--size {}: {} has from {} to {} servers", servers, options.name,
                                entry->least, kMost),
                    fmt::format("{} when not given", entry->servers));
  }
  return entry->plan(options, servers);
}

}  // namespace wf::scenario
