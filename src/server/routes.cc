#include "server/routes.h"

#include <memory>

#include "base/utf8.h"
#include "json/json_writer.h"
#include "server/live_routes.h"

namespace wf::server {
namespace {

// No inline script or style, nothing from elsewhere, no framing: a trace's attribute values come from anywhere.
constexpr char kContentSecurityPolicy[] =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

void AddSecurityHeaders(net::HttpResponse& response) {
  response.headers.emplace_back("Content-Security-Policy", kContentSecurityPolicy);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  // For browsers older than frame-ancestors.
  response.headers.emplace_back("X-Frame-Options", "DENY");
  response.headers.emplace_back("Permissions-Policy",
                                "camera=(), geolocation=(), microphone=(), payment=(), usb=()");
}

// "/api/v1/trace/{id}" against "/api/v1/trace/abc": the argument is "abc". {…} takes the rest of the path, but for what
// stands behind it in the pattern.
bool Matches(std::string_view pattern, std::string_view path, std::string& argument) {
  const size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return pattern == path;
  if (path.size() <= brace || path.substr(0, brace) != pattern.substr(0, brace)) return false;
  const std::string_view behind = pattern.substr(pattern.find('}') + 1);
  path.remove_prefix(brace);
  if (path.size() <= behind.size() || path.substr(path.size() - behind.size()) != behind)
    return false;
  argument = path.substr(0, path.size() - behind.size());
  return true;
}

std::string RoutesJson(const std::vector<Route>& routes) {
  JsonWriter json;
  json.BeginArray();
  for (const Route& route : routes) {
    json.BeginObject()
        .Field("method", route.method)
        .Field("path", route.pattern)
        .Field("right", security::RightName(route.right))
        .EndObject();
  }
  json.EndArray();
  return json.Take();
}

}  // namespace

net::HttpResponse Respond(answer::Answer answer) {
  net::HttpResponse response{200,
                             {{"Content-Type", answer.content_type}, {"Cache-Control", "no-store"}},
                             std::move(answer.body)};
  if (answer.faults) response.headers.emplace_back("Wherefore-Faults", "true");
  return response;
}

net::HttpResponse Respond(Result<answer::Answer> answer) {
  if (!answer.ok()) return ErrorAnswer(answer.error());
  return Respond(std::move(answer).value());
}

answer::ServerFacts FactsFor(const RouteContext& context, const security::Principal& principal) {
  answer::ServerFacts facts = context.facts();
  if (!principal.every_tenant) {
    facts.counters.clear();
    facts.tailer = {};
  }
  if (context.limits != nullptr)
    for (const auto& [name, value] : context.limits->Counted(principal.tenant))
      facts.counters["tenant_" + name] = value;
  return facts;
}

answer::AnswerContext ContextFor(const RouteContext& context,
                                 const security::Principal& principal) {
  return {.store = context.store,
          .tenant = principal.tenant,
          .store_path = context.store_path,
          .now = Now(),
          .facts = [context, principal] { return FactsFor(context, principal); },
          .decode = context.decode,
          .tailer = context.tailer,
          .files_path = context.files_path,
          .kept_paths = context.kept_paths};
}

int HttpStatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kBadInput:
      return 400;
    case ErrorCode::kOverloaded:
      return 503;
    case ErrorCode::kDenied:
      return 403;
    case ErrorCode::kEnvironment:
      return 500;
  }
  return 500;
}

net::HttpResponse ErrorAnswer(const Error& error) {
  net::HttpResponse response{
      HttpStatusOf(error.code), {{"Content-Type", "application/json"}}, answer::ErrorJson(error)};
  if (error.code == ErrorCode::kOverloaded) response.headers.emplace_back("Retry-After", "1");
  return response;
}

std::vector<Route> MakeRoutes(const RouteContext& context) {
  std::vector<Route> routes;
  if (context.parts.answers) AddQuestionRoutes(context, routes);
  AddControlRoutes(context, routes);
  if (context.live.queries != nullptr) AddLiveRoutes(context, routes);
  if (context.parts.answers) AddJaegerQueryRoutes(context, routes);
  AddHealthRoutes(context, routes);
  const auto listing = std::make_shared<std::string>();
  routes.push_back(
      {"GET", "/api/v1/routes", security::Right::kRead,
       [listing](const RouteRequest&) { return Respond(answer::JsonAnswer(*listing)); }});
  *listing = RoutesJson(routes);  // the UI's pages, below, are no API
  if (context.parts.answers) AddPageRoutes(routes);
  return routes;
}

namespace {

// The route for a request, or what to answer when there is none. `allowed` becomes the methods that the path has,
// when it has only others than the request's: the answer is then 405.
Result<const Route*> FindRoute(const std::vector<Route>& routes, const net::HttpRequest& request,
                               std::string& argument, std::string& allowed) {
  const std::string_view method =
      request.method == "HEAD" ? "GET" : std::string_view(request.method);
  for (const Route& route : routes) {
    std::string found;
    if (!Matches(route.pattern, request.path, found)) continue;
    if (route.method != method) {
      if (route.pattern == "/{page}" || allowed.find(route.method) != std::string::npos) continue;
      allowed += allowed.empty() ? "" : ", ";
      allowed += route.method == "GET" ? "GET, HEAD" : route.method;
      continue;
    }
    // An API path that no API route knows must not turn into a page.
    if (route.pattern == "/{page}" && (!allowed.empty() || request.path.rfind("/api/", 0) == 0))
      break;
    argument = std::move(found);
    return &route;
  }
  if (!allowed.empty())
    return BadInput(request.method + " is not a method of " + request.path,
                    "GET /api/v1/routes lists them");
  return NotFound(request.path + ": no such route", "GET /api/v1/routes lists them");
}

// The path, but not the query nor the body: those may hold anything.
void Audit(const RouteContext& context, const net::HttpRequest& request, const std::string& who,
           const std::string& tenant, int status) {
  constexpr size_t kMost = 300;
  security::AuditEntry entry{who,
                             RepairUtf8(std::string_view(tenant).substr(0, kMost)),
                             request.remote_address,
                             RepairUtf8((request.method + " " + request.path).substr(0, kMost)),
                             "ok",
                             status};
  if (status >= 400)
    entry.outcome = status == 401 || status == 403 || status == 429 ? "denied" : "failed";
  context.audit->Write(entry);
}

}  // namespace

net::HttpHandler MakeWebHandler(RouteContext context) {
  const auto routes = std::make_shared<const std::vector<Route>>(MakeRoutes(context));
  return [context, routes](net::HttpRequest request, net::HttpResponder respond) {
    std::string argument;
    std::string allowed;
    const auto route = FindRoute(*routes, request, argument, allowed);
    const bool open = route.ok() && (*route)->audience == Route::Audience::kAnybody;
    const security::Right needed = open         ? security::Right::kNone
                                   : route.ok() ? (*route)->right
                                                : security::Right::kRead;
    auto principal =
        context.authorizer.Authorize(security::CredentialsOf(request), needed,
                                     route.ok() ? (*route)->hosts : security::HostCheck::kStrict);
    const bool audited = needed == security::Right::kAdminister && context.audit != nullptr;
    if (!principal.ok() || !route.ok()) {
      net::HttpResponse response = ErrorAnswer(principal.ok() ? route.error() : principal.error());
      if (!principal.ok()) {
        context.counters.Add("http_denied", 1);
        principal.refusal().AddTo(response);
        if (audited)
          Audit(context, request, principal.refusal().who,
                std::string(request.headers.Get("x-scope-orgid")), response.status);
      } else if (!allowed.empty()) {
        response.status = 405;
        response.headers.emplace_back("Allow", allowed);
      }
      AddSecurityHeaders(response);
      return respond(std::move(response));
    }

    if (context.limits != nullptr && needed == security::Right::kRead && (*route)->answer) {
      if (const auto refused = context.limits->AdmitQuestion(principal->tenant)) {
        net::HttpResponse response = ErrorAnswer(refused->error);
        response.headers.pop_back();  // the Retry-After of any overload
        refused->AddTo(response);
        AddSecurityHeaders(response);
        return respond(std::move(response));
      }
    }
    if ((*route)->take) {
      const auto held = std::make_shared<net::HttpResponder>(std::move(respond));
      return (*route)->take(std::move(request), *principal,
                            net::HttpResponder([held](net::HttpResponse response) {
                              AddSecurityHeaders(response);
                              (*held)(std::move(response));
                            }));
    }

    // The responder moves into the task; a shared holder, because std::function wants to be copyable.
    const auto job = std::make_shared<std::pair<net::HttpRequest, net::HttpResponder>>(
        std::move(request), std::move(respond));
    const Route& found = **route;
    OwnWorkPtr work;
    if (context.self != nullptr)
      work = context.self->Begin(job->first.method + " " + found.pattern, SpanKind::kServer);
    if (work != nullptr) work->Step("wait for a worker");
    const bool taken = context.workers.Run([context, audited, job, routes, &found,
                                            principal = *principal, argument, work] {
      net::HttpResponse response;
      if (work != nullptr) work->Step("answer");
      try {
        response = found.answer({job->first, principal, argument});
        // Out of memory, most likely: this request fails, the server goes on.
      } catch (const std::exception& error) {
        response = ErrorAnswer(EnvironmentError(std::string("the request failed: ") + error.what(),
                                                "narrow the time range or lower the limit"));
      }
      if (audited) Audit(context, job->first, principal.name, principal.tenant, response.status);
      AddSecurityHeaders(response);
      if (work != nullptr) {
        work->Note("http.response.status_code", std::to_string(response.status));
        work->Note("bytes", std::to_string(response.body.size()));
        if (response.status >= 500) work->Fail("HTTP " + std::to_string(response.status));
      }
      job->second(std::move(response));
    });
    if (!taken) {
      if (work != nullptr) work->Fail("too many requests at once");
      context.counters.Add("http_questions_refused", 1);
      net::HttpResponse response =
          ErrorAnswer(Overloaded("too many requests at once", "try again in a second"));
      AddSecurityHeaders(response);
      job->second(std::move(response));
    }
  };
}

}  // namespace wf::server
