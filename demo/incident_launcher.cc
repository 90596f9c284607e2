// Starts the services of an incident, sends customers before the trouble and during it, and says what they met. The
// customers are traced: a request begins when somebody asks, not when a worker takes it.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "incident.h"
#include "peer.h"
#include "processes.h"
#include "service.h"

namespace shop {

using wherefore::Block;
using wherefore::BlockOptions;
using wherefore::RequestContext;

namespace {

// Customers come one at a time while all is well: nobody waits for another then. An odd number each, for medians.
constexpr double kBetweenCustomersMs = 170;
constexpr int kCustomersEachPhase = 5;
// Connections are made and pages touched by the first ones, whose latency tells of nothing else.
constexpr int kFirstCustomers = 2;

struct Met {
  const char* phase;
  std::string trace_id, span_id;
  int64_t latency_ns;
  int status;
};

class IncidentLauncher {
 public:
  explicit IncidentLauncher(const IncidentPlan& plan) : plan_(plan), incident_(*plan.incident) {}
  ~IncidentLauncher() {
    for (Process& process : processes_) {
      StopProcess(process);
      if (process.listen_fd >= 0) close(process.listen_fd);
    }
  }

  int Run() {
    BlockSignals();
    if (const int failed = StartServices(); failed != 0) return failed;
    wherefore::Tracer tracer(IncidentTracer("customers", plan_.endpoint));
    {
      Peer entry(tracer, incident_.entry, AddressOfService(incident_.entry),
                 2 * kCustomersEachPhase);
      SendCustomers("first", kFirstCustomers, tracer, entry);
      SendCustomers("before", kCustomersEachPhase, tracer, entry);
      if (!Begin(tracer))
        return Fail("the trouble does not begin", "its service's message stands above");
      std::this_thread::sleep_for(
          std::chrono::duration<double, std::milli>(incident_.customers_after_ms));
      SendCustomers("during", kCustomersEachPhase, tracer, entry);
    }
    for (Process& process : processes_) StopProcess(process);
    processes_.clear();
    tracer.Shutdown(std::chrono::milliseconds(3000));
    const wherefore::TracerStats stats = tracer.stats();
    if (stats.exported < stats.recorded) {
      return Fail("events of customers did not arrive: " + tracer.LastError(),
                  "is --endpoint the --http address of wherefore serve?");
    }
    return Print();
  }

 private:
  int StartServices() {
    for (const ServicePlan& service : incident_.services) {
      Process process;
      process.role = service.name;
      process.listen_fd = ListenOn("127.0.0.1:0");
      if (process.listen_fd < 0) {
        return Fail("no port for " + service.name + ": " + std::strerror(errno),
                    "free some file descriptors or loopback ports");
      }
      process.address = AddressOf(process.listen_fd);
      processes_.push_back(process);
    }
    std::string peers;
    for (const Process& process : processes_) {
      peers += (peers.empty() ? "" : ",") + process.role + "=" + process.address;
    }
    const int size = plan_.size > 0 ? plan_.size : incident_.size;
    for (Process& process : processes_) {
      if (!StartProcess(process, {"incident-service", "--incident", incident_.name, "--service",
                                  process.role, "--listen-fd", std::to_string(process.listen_fd),
                                  "--endpoint", plan_.endpoint, "--peers", peers, "--size",
                                  std::to_string(size), "--seed", std::to_string(plan_.seed)})) {
        return Fail("cannot start " + process.role + ": " + std::strerror(errno),
                    "check the limits on processes and memory");
      }
    }
    for (const Process& process : processes_) {
      if (!WaitReady(process)) {
        return Fail(process.role + " at " + process.address + " did not become ready within 10 s",
                    "its own message stands above");
      }
    }
    return 0;
  }

  std::string AddressOfService(const std::string& name) const {
    for (const Process& process : processes_) {
      if (process.role == name) return process.address;
    }
    return {};
  }

  // A customer does not wait for the one before; all have been answered when this returns.
  void SendCustomers(const char* phase, int count, wherefore::Tracer& tracer, Peer& entry) {
    std::mt19937_64 random(plan_.seed * 3 + static_cast<uint64_t>(phase[0]));
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> customers;
    for (int i = 0; i < count; ++i) {
      const double jitter = std::uniform_real_distribution<double>(-10, 10)(random);
      std::this_thread::sleep_until(
          start +
          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
              std::chrono::duration<double, std::milli>(i * kBetweenCustomersMs + 10 + jitter)));
      customers.emplace_back([&] {
        BlockOptions options;
        options.parent = RequestContext();
        const auto sent = std::chrono::steady_clock::now();
        Block block(tracer, "customer", options);
        const RequestContext context = block.context();
        const Response answer = entry.Call(incident_.method, incident_.path);
        block.End();
        const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - sent;
        const std::lock_guard lock(mutex_);
        met_.push_back(
            {phase, context.TraceHex(), context.BlockHex(), took.count(), answer.status});
      });
    }
    for (std::thread& customer : customers) customer.join();
  }

  bool Begin(wherefore::Tracer& tracer) {
    const bool on = plan_.culprit == IncidentPlan::Culprit::kOn;
    const bool sends = on || incident_.burst.always;
    for (const Process& process : processes_) {
      Peer peer(tracer, process.role, process.address, 1);
      const std::string target =
          std::string("/trouble?moves=") + (on ? "yes" : "no") + "&sends=" + (sends ? "yes" : "no");
      if (peer.Send(RequestContext(), "POST", target).status != 200) return false;
    }
    return true;
  }

  int Print() {
    bool failed = false;
    std::string requests;
    for (const Met& met : met_) {
      failed |= met.status != 200;
      char line[256];
      std::snprintf(
          line, sizeof line,
          "%s{\"phase\":\"%s\",\"trace_id\":\"%s\",\"span_id\":\"%s\",\"latency_ns\":%" PRId64
          ",\"status\":%d}",
          requests.empty() ? "" : ",", met.phase, met.trace_id.c_str(), met.span_id.c_str(),
          met.latency_ns, met.status);
      requests += line;
    }
    std::printf(
        "{\"incident\":\"%s\",\"culprit\":{\"node\":\"%s\",\"tuple\":\"%s\"},\"requests\":[%s]}\n",
        incident_.name.c_str(), incident_.culprit_node.c_str(), incident_.culprit_tuple.c_str(),
        requests.c_str());
    std::fflush(stdout);
    return failed ? 1 : 0;
  }

  const IncidentPlan& plan_;
  const Incident& incident_;
  std::vector<Process> processes_;
  std::mutex mutex_;
  std::vector<Met> met_;
};

}  // namespace

int RunIncident(const IncidentPlan& plan) { return IncidentLauncher(plan).Run(); }

}  // namespace shop
