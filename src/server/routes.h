// The routes of the web and API listener: one table, each with the right it needs. What a route does is one call into
// src/answer; this file knows HTTP, not traces.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/frame/answer.h"
#include "cluster/readiness.h"
#include "cluster/role.h"
#include "live/control_hub.h"
#include "net/http_message.h"
#include "pipeline/counters.h"
#include "security/audit_log.h"
#include "security/authorize.h"
#include "security/tenant_limits.h"
#include "server/event_sink.h"
#include "server/self_trace.h"
#include "server/worker_pool.h"

namespace wf::live {
class LiveQueries;
class ProcessRegistry;
}  // namespace wf::live

namespace wf::server {

struct RouteRequest {
  const net::HttpRequest& http;
  security::Principal principal;
  std::string argument;  // what stood for {…} in the path
};

struct Route {
  std::string_view method;
  // "/api/v1/trace/{id}": {…} takes the rest of the path, but for what stands behind it.
  std::string pattern;
  security::Right right;
  std::function<net::HttpResponse(const RouteRequest&)> answer;  // on a worker
  // Instead of it, for what is answered later: on the io thread, and must not keep it.
  std::function<void(net::HttpRequest, const security::Principal&, net::HttpResponder)> take =
      nullptr;
  security::HostCheck hosts = security::HostCheck::kStrict;
  // Whether those may have it, too, who are nobody to a server with accounts: the pages that ask who one is, and what
  // load balancers look at.
  enum class Audience { kKnown, kAnybody } audience = Audience::kKnown;
};

struct LiveParts {
  live::LiveQueries* queries = nullptr;
  live::ProcessRegistry* processes = nullptr;
};

// Whether other processes have the store open, too.
enum class StoreUse : uint8_t { kAlone, kShared };

// What the routes need; borrowed for the life of the server.
struct RouteContext {
  cluster::RoleParts parts;
  store::Store& store;
  EventSink sink;
  std::string store_path;  // as it may be shown
  std::string files_path;  // where files of datasets lie
  const security::Authorizer& authorizer;
  pipeline::Counters& counters;
  WorkerPool& workers;
  std::function<answer::ServerFacts()> facts;
  cluster::Readiness& readiness;
  decode::DecodeOptions decode;
  live::ControlHub* control = nullptr;  // null, as the live parts: this role has none
  LiveParts live;
  pipeline::Tailer* tailer = nullptr;
  const pipeline::RedMetrics* red = nullptr;
  SelfTrace* self = nullptr;                 // null: requests are not traced
  security::TenantLimits* limits = nullptr;  // these two only in tests
  security::AuditLog* audit = nullptr;
  StoreUse store_use = StoreUse::kAlone;
  answer::KeptPaths* kept_paths = nullptr;
};

// Those of the role, in the order they are matched.
std::vector<Route> MakeRoutes(const RouteContext& context);
// Of it: health_routes.cc, question_routes.cc, control_routes.cc, live_routes.cc.
void AddHealthRoutes(const RouteContext& context, std::vector<Route>& routes);
void AddQuestionRoutes(const RouteContext& context, std::vector<Route>& routes);
void AddJaegerQueryRoutes(const RouteContext& context, std::vector<Route>& routes);
void AddControlRoutes(const RouteContext& context, std::vector<Route>& routes);
void AddPageRoutes(std::vector<Route>& routes);

// What the server tells of itself to this one: who may act for some tenants only is not told of the others.
answer::ServerFacts FactsFor(const RouteContext& context, const security::Principal& principal);
// What the answers to a request need.
answer::AnswerContext ContextFor(const RouteContext& context, const security::Principal& principal);
net::HttpResponse Respond(answer::Answer answer);
net::HttpResponse Respond(Result<answer::Answer> answer);

// Finds the route, authorizes, runs it on a worker and answers.
net::HttpHandler MakeWebHandler(RouteContext context);

int HttpStatusOf(ErrorCode code);
net::HttpResponse ErrorAnswer(const Error& error);

}  // namespace wf::server
