#include "server/routes.h"

#include <memory>

#include "answer/dashboard_answer.h"
#include "answer/dataset_answer.h"
#include "answer/export_answer.h"
#include "answer/import_answer.h"
#include "answer/jaeger_query.h"
#include "answer/policy_answer.h"
#include "answer/property_groups_answer.h"
#include "json/json_writer.h"
#include "server/live_routes.h"
#include "server/receivers.h"
#include "server/static_files.h"

namespace wf {
namespace {

// No inline script or style, nothing from elsewhere, no framing: a trace's attribute values come from anywhere.
constexpr char kContentSecurityPolicy[] =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

net::HttpResponse Respond(Answer answer) {
  net::HttpResponse response{200,
                             {{"Content-Type", answer.content_type}, {"Cache-Control", "no-store"}},
                             std::move(answer.body)};
  if (answer.faults) response.headers.emplace_back("Wherefore-Faults", "true");
  return response;
}

net::HttpResponse Respond(Result<Answer> answer) {
  if (!answer.ok()) return ErrorAnswer(answer.error());
  return Respond(std::move(answer).value());
}

net::HttpResponse Respond(Result<SaveOutcome> outcome) {
  if (!outcome.ok()) return ErrorAnswer(outcome.error());
  net::HttpResponse response = Respond(std::move(outcome->answer));
  if (outcome->kind == SaveOutcome::Kind::kConflict) response.status = 409;
  return response;
}

void AddSecurityHeaders(net::HttpResponse& response) {
  response.headers.emplace_back("Content-Security-Policy", kContentSecurityPolicy);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

AnswerContext ContextFor(const RouteContext& context, const Principal& principal) {
  return {context.store, principal.tenant, context.store_path, Now(),
          context.facts, context.decode,   context.tailer};
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

net::HttpResponse ServeFile(const StaticFile& file) {
  const bool hashed = file.path.substr(0, 8) == "/assets/";  // the name changes with the content
  return {200,
          {{"Content-Type", std::string(ContentTypeOf(file.path))},
           {"Cache-Control", hashed ? "public, max-age=31536000, immutable" : "no-cache"}},
          std::string(file.content)};
}

// The UI's own paths (/search, /trace/…) all open index.html; a path with a file's ending must exist.
net::HttpResponse ServeUi(const RouteRequest& request) {
  const std::string& path = request.http.path;
  if (const StaticFile* file = FindStaticFile(path)) return ServeFile(*file);
  const bool names_file = path.substr(path.rfind('/') + 1).find('.') != std::string::npos;
  if (const StaticFile* index = FindStaticFile("/index.html"); index != nullptr && !names_file)
    return ServeFile(*index);
  return ErrorAnswer(NotFound(path + ": there is no such page",
                              "open / for the web interface, /api/v1/routes for the API"));
}

std::string RoutesJson(const std::vector<Route>& routes) {
  JsonWriter json;
  json.BeginArray();
  for (const Route& route : routes) {
    json.BeginObject()
        .Field("method", route.method)
        .Field("path", route.pattern)
        .Field("right", RightName(route.right))
        .EndObject();
  }
  json.EndArray();
  return json.Take();
}

}  // namespace

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
      HttpStatusOf(error.code), {{"Content-Type", "application/json"}}, ErrorJson(error)};
  if (error.code == ErrorCode::kOverloaded) response.headers.emplace_back("Retry-After", "1");
  return response;
}

std::vector<Route> MakeRoutes(const RouteContext& context) {
  std::vector<Route> routes;
  // Questions: GET /api/v1/VERB[/ARG]?flag=value.
  for (const QuestionKind& kind : QuestionKinds()) {
    const auto answer = [context, &kind](const RouteRequest& request) {
      return Respond(Ask(ContextFor(context, request.principal),
                         {std::string(kind.verb), request.argument, Params(request.http.query),
                          request.http.body}));
    };
    const std::string path = "/api/v1/" + std::string(kind.verb);
    if (kind.argument != ArgumentUse::kRequired)
      routes.push_back({"GET", path, Right::kRead, answer});
    if (kind.argument != ArgumentUse::kNone)
      routes.push_back({"GET", path + "/{argument}", Right::kRead, answer});
    // A program does not fit into an address; asking by POST reads all the same.
    if (kind.body == BodyUse::kOptional && kind.argument != ArgumentUse::kNone)
      routes.push_back({"POST", path + "/{argument}", Right::kRead, answer});
    if (kind.body == BodyUse::kOptional && kind.argument != ArgumentUse::kRequired)
      routes.push_back({"POST", path, Right::kRead, answer});
  }
  // Datasets: GET, POST and DELETE /api/v1/dataset/ACTION[/NAME]. Who may send spans may also say what is extracted from
  // them, so changes need the right to write: the web interface has that one.
  for (const DatasetAction& action : DatasetActions()) {
    const std::string path = "/api/v1/dataset/" + std::string(action.name);
    const auto answer = [context, &action](const RouteRequest& request) {
      std::string argument(action.name);
      if (action.takes_name) argument += "/" + request.argument;
      return Respond(
          Ask(ContextFor(context, request.principal),
              {"dataset", argument, Params(request.http.query), request.http.body, action.method}));
    };
    routes.push_back({action.method, action.takes_name ? path + "/{dataset}" : path,
                      action.use == ActionUse::kRead ? Right::kRead : Right::kWrite, answer});
  }
  routes.push_back({"GET", "/api/v1/dashboards", Right::kRead, [context](const RouteRequest& r) {
                      return Respond(AnswerDashboards(ContextFor(context, r.principal)));
                    }});
  const std::string dashboard = "/api/v1/dashboards/{dashboard}";
  routes.push_back({"GET", dashboard, Right::kRead, [context](const RouteRequest& r) {
                      return Respond(AnswerDashboard(ContextFor(context, r.principal), r.argument));
                    }});
  routes.push_back({"PUT", dashboard, Right::kWrite, [context](const RouteRequest& r) {
                      return Respond(
                          SaveDashboard(ContextFor(context, r.principal), r.argument, r.http.body));
                    }});
  routes.push_back({"DELETE", dashboard, Right::kWrite, [context](const RouteRequest& r) {
                      return Respond(DeleteDashboard(ContextFor(context, r.principal), r.argument));
                    }});
  routes.push_back(
      {"GET", "/api/v1/property-groups", Right::kRead, [context](const RouteRequest& r) {
         return Respond(AnswerPropertyGroups(ContextFor(context, r.principal)));
       }});
  routes.push_back(
      {"PUT", "/api/v1/property-groups", Right::kWrite, [context](const RouteRequest& r) {
         return Respond(SavePropertyGroups(ContextFor(context, r.principal), r.http.body));
       }});
  routes.push_back(
      {"POST", "/api/v1/import", Right::kWrite, [context](const RouteRequest& request) {
         return Respond(AnswerImport(ContextFor(context, request.principal),
                                     Params(request.http.query), request.http.body));
       }});
  routes.push_back({"GET", "/api/v1/export", Right::kRead, [context](const RouteRequest& request) {
                      return Respond(AnswerExport(ContextFor(context, request.principal),
                                                  {"export", "", Params(request.http.query)}));
                    }});
  routes.push_back({"POST", "/api/v1/flush", Right::kAdminister, [context](const RouteRequest&) {
                      const Status status = context.store.Flush();
                      if (!status.ok()) return ErrorAnswer(status.error());
                      return Respond(JsonAnswer("{\"flushed\":true}"));
                    }});

  // libwherefore and the browser client: events in, and what is in force out. Senders call us by any name.
  routes.push_back(
      {"POST", "/api/v1/events", Right::kWrite, nullptr,
       [context](net::HttpRequest request, const Principal&, net::HttpResponder respond) {
         const ReceiverContext receiver{context.store, context.authorizer, context.counters,
                                        context.decode, context.tailer};
         ReceiveEvents(receiver, request, std::move(respond));
       },
       HostCheck::kEventPages});
  routes.push_back(
      {"GET", "/api/v1/control", Right::kWrite, nullptr,
       [context](net::HttpRequest request, const Principal& principal, net::HttpResponder respond) {
         context.control.Wait(principal.tenant, request, std::move(respond));
       },
       HostCheck::kAnyHost});
  const auto policies_changed = [context](const RouteRequest& request, Result<Answer> answer) {
    if (answer.ok()) context.control.Refresh(request.principal.tenant);
    return Respond(std::move(answer));
  };
  routes.push_back({"PUT", "/api/v1/policies/{name}", Right::kAdminister,
                    [context, policies_changed](const RouteRequest& request) {
                      return policies_changed(request,
                                              PutPolicy(ContextFor(context, request.principal),
                                                        request.argument, request.http.body));
                    }});
  routes.push_back({"DELETE", "/api/v1/policies/{name}", Right::kAdminister,
                    [context, policies_changed](const RouteRequest& request) {
                      return policies_changed(
                          request,
                          DeletePolicy(ContextFor(context, request.principal), request.argument));
                    }});

  AddLiveRoutes(context, routes);

  // Jaeger's query API, so that Grafana reads us.
  for (const char* path : {"/api/services", "/api/services/{service}", "/api/operations",
                           "/api/traces", "/api/traces/{trace}", "/api/dependencies",
                           "/api/metrics/{metric}", "/api/v3/{question}"}) {
    routes.push_back(
        {"GET", path, Right::kRead, [context](const RouteRequest& request) {
           auto answer = AnswerJaegerQuery(context.store, request.principal.tenant, "GET",
                                           request.http.path, request.http.query);
           if (!answer)
             return ErrorAnswer(NotFound(request.http.path + ": not a Jaeger query route"));
           return net::HttpResponse{
               answer->status, {{"Content-Type", "application/json"}}, std::move(answer->body)};
         }});
  }

  routes.push_back({"GET", "/healthz", Right::kRead, [](const RouteRequest&) {
                      return net::HttpResponse{200, {{"Content-Type", "text/plain"}}, "ok\n"};
                    }});
  routes.push_back({"GET", "/readyz", Right::kRead, [context](const RouteRequest&) {
                      const bool ready = context.ready();
                      return net::HttpResponse{
                          ready ? 200 : 503,
                          {{"Content-Type", "text/plain"}},
                          ready ? "ready\n" : "not ready: the server is stopping\n"};
                    }});
  routes.push_back(
      {"GET", "/metrics", Right::kRead, [context](const RouteRequest& request) {
         auto counters = context.facts().counters;
         if (auto status = context.store.ReadStatus(request.principal.tenant); status.ok()) {
           counters.insert(status->counters.begin(), status->counters.end());
           counters["store_disk_bytes"] = status->disk_bytes;
           counters["store_pending_rows"] = status->pending_rows;
         }
         const bool open = request.http.headers.Get("accept").find(
                               "application/openmetrics-text") != std::string_view::npos;
         const auto format = open ? MetricsFormat::kOpenMetrics : MetricsFormat::kPrometheus;
         std::string text = PrometheusText(counters, format);
         if (context.red != nullptr) text += context.red->Text(request.principal.tenant, format);
         if (open) text += "# EOF\n";
         return net::HttpResponse{
             200,
             {{"Content-Type", open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                    : "text/plain; version=0.0.4"}},
             std::move(text)};
       }});
  const auto listing = std::make_shared<std::string>();
  routes.push_back({"GET", "/api/v1/routes", Right::kRead,
                    [listing](const RouteRequest&) { return Respond(JsonAnswer(*listing)); }});
  *listing = RoutesJson(routes);  // the UI's pages, below, are no API
  routes.push_back({"GET", "/{page}", Right::kRead, ServeUi});
  routes.push_back({"GET", "/", Right::kRead, ServeUi});
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
  return NotFound(request.path + ": there is no such route", "GET /api/v1/routes lists them");
}

}  // namespace

net::HttpHandler MakeWebHandler(RouteContext context) {
  const auto routes = std::make_shared<const std::vector<Route>>(MakeRoutes(context));
  return [context, routes](net::HttpRequest request, net::HttpResponder respond) {
    std::string argument;
    std::string allowed;
    const auto route = FindRoute(*routes, request, argument, allowed);
    const Right needed = route.ok() ? (*route)->right : Right::kRead;
    auto principal =
        context.authorizer.Authorize({request.headers.Get("authorization"),
                                      request.headers.Get("host"), request.headers.Get("origin")},
                                     needed, route.ok() ? (*route)->hosts : HostCheck::kStrict);
    if (!principal.ok() || !route.ok()) {
      net::HttpResponse response = ErrorAnswer(principal.ok() ? route.error() : principal.error());
      if (!principal.ok()) {
        context.counters.Add("http_denied", 1);
      } else if (!allowed.empty()) {
        response.status = 405;
        response.headers.emplace_back("Allow", allowed);
      }
      AddSecurityHeaders(response);
      return respond(std::move(response));
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
    const bool taken = context.workers.Run([job, routes, &found, principal = *principal, argument] {
      net::HttpResponse response;
      try {
        response = found.answer({job->first, principal, argument});
      } catch (const std::exception&
                   error) {  // out of memory, most likely: this request fails, the server goes on
        response = ErrorAnswer(EnvironmentError(std::string("the answer failed: ") + error.what(),
                                                "ask for less: narrow the time, lower the limit"));
      }
      AddSecurityHeaders(response);
      job->second(std::move(response));
    });
    if (!taken) {
      context.counters.Add("http_questions_refused", 1);
      net::HttpResponse response =
          ErrorAnswer(Overloaded("too many questions at once", "try again in a second"));
      AddSecurityHeaders(response);
      job->second(std::move(response));
    }
  };
}

}  // namespace wf
