// Routes that every role has: whether it lives, whether it can work, what it counts.
#include <map>
#include <memory>
#include <mutex>

#include "answer/questions/questions.h"
#include "json/json_writer.h"
#include "server/routes.h"

namespace wf::server {

namespace {

// A shared store is asked by many processes, and counts what they all keep: not at every scrape.
class StoreFacts {
 public:
  Result<store::StoreStatus> Read(const RouteContext& context, const std::string& tenant) {
    if (context.store_use == StoreUse::kAlone) return context.store.ReadStatus(tenant);
    const std::lock_guard lock(mutex_);
    Known& known = known_[tenant];
    if (const Nanos now = MonotonicNow(); known.read == 0 || now - known.read > kFresh) {
      known.status = context.store.ReadStatus(tenant);
      known.read = MonotonicNow();
    }
    return known.status;
  }

 private:
  static constexpr Nanos kFresh = 10 * kSecond;
  struct Known {
    Result<store::StoreStatus> status = store::StoreStatus{};
    Nanos read = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace

void AddHealthRoutes(const RouteContext& context, std::vector<Route>& routes) {
  const auto facts = std::make_shared<StoreFacts>();
  routes.push_back(
      {"POST", "/api/v1/flush", security::Right::kAdminister, [context](const RouteRequest&) {
         const Status status = context.store.Flush();
         if (!status.ok()) return ErrorAnswer(status.error());
         return Respond(answer::JsonAnswer("{\"flushed\":true}"));
       }});

  if (!context.parts.answers) {  // else it is a question like any other
    routes.push_back(
        {"GET", "/api/v1/status", security::Right::kRead, [context](const RouteRequest& request) {
           return Respond(answer::Ask(ContextFor(context, request.principal),
                                      {"status", "", answer::Params(request.http.query)}));
         }});
  }
  routes.push_back(
      {"GET", "/api/v1/whoami", security::Right::kRead, [](const RouteRequest& request) {
         JsonWriter json;
         json.BeginObject().Field("name", request.principal.name);
         json.Field("tenant", request.principal.tenant).Key("rights").BeginArray();
         for (const security::Right right :
              {security::Right::kRead, security::Right::kWrite, security::Right::kAdminister})
           if (request.principal.Has(right)) json.String(security::RightName(right));
         json.EndArray().EndObject();
         return Respond(answer::JsonAnswer(json.Take() + "\n"));
       }});
  // On the io thread: whoever asks wants to know whether the process lives, however busy its workers are.
  routes.push_back(
      {"GET", "/healthz", security::Right::kRead, nullptr,
       [](const net::HttpRequest&, const security::Principal&, net::HttpResponder respond) {
         respond(net::HttpResponse{200, {{"Content-Type", "text/plain"}}, "ok\n"});
       },
       security::HostCheck::kStrict, Route::Audience::kAnybody});
  routes.push_back({"GET", "/readyz", security::Right::kRead,
                    [context](const RouteRequest&) {
                      cluster::Readiness::Answer answer = context.readiness.Ask();
                      return net::HttpResponse{
                          answer.ready ? 200 : 503,
                          {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                          std::move(answer.json)};
                    },
                    nullptr, security::HostCheck::kStrict, Route::Audience::kAnybody});
  routes.push_back(
      {"GET", "/metrics", security::Right::kRead, [context, facts](const RouteRequest& request) {
         auto counters = FactsFor(context, request.principal).counters;
         // With a label below, of those that may be seen.
         std::erase_if(counters, [](const auto& c) { return c.first.rfind("tenant_", 0) == 0; });
         if (const auto status = facts->Read(context, request.principal.tenant); status.ok()) {
           counters.insert(status->counters.begin(), status->counters.end());
           counters["store_disk_bytes"] = status->disk_bytes;
           counters["store_pending_rows"] = status->pending_rows;
         }
         const bool open = request.http.headers.Get("accept").find(
                               "application/openmetrics-text") != std::string_view::npos;
         const auto format =
             open ? pipeline::MetricsFormat::kOpenMetrics : pipeline::MetricsFormat::kPrometheus;
         std::string text = pipeline::PrometheusText(counters, format);
         if (context.limits != nullptr) {
           std::optional<std::string> only = request.principal.tenant;
           if (request.principal.every_tenant) only.reset();
           text += context.limits->MetricsText(only, format);
         }
         if (context.red != nullptr) text += context.red->Text(request.principal.tenant, format);
         if (open) text += "# EOF\n";
         return net::HttpResponse{
             200,
             {{"Content-Type", open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                    : "text/plain; version=0.0.4"}},
             std::move(text)};
       }});
}

}  // namespace wf::server
