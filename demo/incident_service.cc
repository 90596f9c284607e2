// One service of an incident: serves its routes as the table says, and sends the off-path work if it is the one who
// does. `POST /trouble`, untraced, is how the launcher says that it begins.
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "fair_mutex.h"
#include "incident.h"
#include "peer.h"
#include "service.h"
#include "wherefore/instrument.h"

namespace shop {

using wherefore::Block;
using wherefore::BlockKind;
using wherefore::BlockOptions;
using wherefore::ContextScope;
using wherefore::RequestContext;
using wherefore::TracedLock;

namespace {

const ServicePlan& PlanOf(const Incident& incident, const std::string& service) {
  for (const ServicePlan& plan : incident.services) {
    if (plan.name == service) return plan;
  }
  std::abort();  // the launcher names services of the table only
}

class Service {
 public:
  explicit Service(const IncidentService& settings)
      : settings_(settings),
        incident_(*settings.incident),
        plan_(PlanOf(incident_, settings.service)),
        tracer_(IncidentTracer(settings.service, settings.endpoint)) {
    for (std::string_view rest = settings.peers; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      const size_t equals = pair.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string name(pair.substr(0, equals));
      peers_.emplace(name, std::make_unique<Peer>(
                               tracer_, name, std::string(pair.substr(equals + 1)), kConnections));
    }
    // All locks are known, so that the map is only read once requests come.
    for (const Route& route : plan_.routes) {
      for (const Step& step : route.steps) {
        if (step.does == Step::Does::kLock) locks_[step.lock];
      }
    }
  }

  int Run() {
    {
      const HttpServer server(settings_.listen_fd, plan_.workers,
                              [this](const Request& request) { return Handle(request); });
      WaitForStop();
      stopping_ = true;
    }
    if (burst_.joinable()) burst_.join();
    tracer_.Shutdown(std::chrono::milliseconds(3000));
    return tracer_.stats().dropped == 0 ? 0 : 1;
  }

 private:
  // As many as any burst has in flight, retries included.
  static constexpr int kConnections = 96;

  Response Handle(const Request& request) {
    if (request.path == "/trouble") {
      moved_ = request.Parameter("moves") == "yes";
      if (incident_.burst.service == plan_.name && request.Parameter("sends") == "yes")
        burst_ = std::thread([this] { SendBurst(); });
      return {200, "it begins"};
    }
    for (const Route& route : plan_.routes) {
      if (route.path != request.path || route.method != request.method) continue;
      BlockOptions options;
      options.kind = BlockKind::kServer;
      options.parent = RequestContext::FromHeaders(request.message.Header("traceparent"),
                                                   request.message.Header("tracestate"))
                           .value_or(RequestContext());
      const bool again = !request.Parameter("attempt").empty();
      Block block(tracer_, route.method + " " + route.path + (again ? " retry" : ""), options);
      block.Label("wherefore.arrival_ns", request.arrival_ns);
      if (again) block.Label("http.request.resend_count", request.Parameter("attempt"));
      return Follow(route.steps, 0, route.steps.size());
    }
    return {404, "no such route"};
  }

  // Steps [from, until); what a lock guards is followed with the lock held.
  Response Follow(const std::vector<Step>& steps, size_t from, size_t until) {
    for (size_t i = from; i < until; ++i) {
      const Step& step = steps[i];
      switch (step.does) {
        case Step::Does::kWork:
          WorkFor(step.ms * 0.98, step.ms * 1.02);
          break;
        case Step::Does::kCall: {
          const Response answer = CallStep(step, {});
          if (answer.status != 200) return {502, step.service + ": " + answer.body};
          break;
        }
        case Step::Does::kLock: {
          size_t end = i + 1;
          while (end < until &&
                 !(steps[end].does == Step::Does::kUnlock && steps[end].lock == step.lock))
            ++end;
          const TracedLock lock(locks_.at(step.lock), step.lock);
          const Response inside = Follow(steps, i + 1, end);
          if (inside.status != 200) return inside;
          i = end;
          break;
        }
        case Step::Does::kUnlock:
          break;
      }
    }
    return {200, "done"};
  }

  Response CallStep(const Step& step, const std::string& query) {
    const std::string& service =
        moved_ && step.service == plan_.moves_from ? plan_.moves_to : step.service;
    return peers_.at(service)->Call(step.method, step.path + query);
  }

  // Each call is a request of its own: none is because of another.
  void SendBurst() {
    const Burst& burst = incident_.burst;
    std::atomic<int> next{0};
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> senders;
    for (int i = 0; i < std::min(burst.at_once, settings_.size); ++i) {
      senders.emplace_back([&] {
        for (int number; !stopping_ && (number = next.fetch_add(1)) < settings_.size;) {
          std::this_thread::sleep_until(
              start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                          std::chrono::duration<double, std::milli>(burst.spacing_ms * number)));
          BlockOptions options;
          options.parent = RequestContext();
          const Block work(tracer_, burst.work, options);
          CallImpatiently(burst);
        }
      });
    }
    for (std::thread& sender : senders) sender.join();
  }

  // Each attempt waits for its answer, but the next one does not wait for it. Ends when all have ended.
  void CallImpatiently(const Burst& burst) {
    std::atomic<bool> answered{false};
    std::vector<std::thread> attempts;
    const RequestContext context = RequestContext::Current();
    for (int attempt = 0; attempt <= burst.retries && !answered && !stopping_; ++attempt) {
      const auto call = [&, attempt] {
        CallStep(burst.call, attempt == 0 ? "" : "?attempt=" + std::to_string(attempt));
        answered = true;
      };
      if (burst.retries == 0) return call();
      attempts.emplace_back([&, call] {
        const ContextScope scope(context);
        call();
      });
      for (double waited = 0; waited < burst.patience_ms && !answered; waited += 2) WorkFor(2, 2);
    }
    for (std::thread& attempt : attempts) attempt.join();
  }

  const IncidentService& settings_;
  const Incident& incident_;
  const ServicePlan& plan_;
  wherefore::Tracer tracer_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;
  std::map<std::string, FairMutex> locks_;
  std::atomic<bool> moved_{false}, stopping_{false};
  std::thread burst_;
};

}  // namespace

int RunIncidentService(const IncidentService& settings) {
  SeedWork(settings.seed);
  return Service(settings).Run();
}

}  // namespace shop
