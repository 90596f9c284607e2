#include "server/live_routes.h"

#include <charconv>
#include <memory>

#include "live/live_queries.h"
#include "live/tracepoint_registry.h"

namespace wf::server {
namespace {

net::HttpResponse Json(Result<std::string> body) {
  if (!body.ok()) return ErrorAnswer(body.error());
  return {200,
          {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
          std::move(body).value()};
}

net::HttpResponse Told(Result<answer::Answer> answer) {
  if (!answer.ok()) return ErrorAnswer(answer.error());
  return {200,
          {{"Content-Type", answer->content_type}, {"Cache-Control", "no-store"}},
          std::move(answer->body)};
}

void AddTracepointRoutes(const RouteContext& context, std::vector<Route>& routes) {
  const LiveParts& live = context.live;
  routes.push_back({"GET", "/api/v1/tracepoints", security::Right::kRead,
                    [context, live](const RouteRequest& request) {
                      return Told(live::AnswerTracepoints(ContextFor(context, request.principal),
                                                          *live.processes,
                                                          answer::Params(request.http.query)));
                    }});
  const std::string one = "/api/v1/tracepoints/{name}";
  routes.push_back(
      {"GET", one, security::Right::kRead, [context, live](const RouteRequest& request) {
         return Told(live::AnswerTracepoint(ContextFor(context, request.principal), *live.processes,
                                            request.argument));
       }});
  const auto changed = [context](const RouteRequest& request, Result<answer::Answer> answer) {
    if (answer.ok()) context.control->Refresh(request.principal.tenant);
    return Told(std::move(answer));
  };
  routes.push_back(
      {"PUT", one, security::Right::kAdminister, [context, changed](const RouteRequest& request) {
         return changed(request, live::PutTracepoint(ContextFor(context, request.principal),
                                                     request.argument, request.http.body));
       }});
  routes.push_back(
      {"DELETE", one, security::Right::kAdminister,
       [context, live, changed](const RouteRequest& request) {
         const auto users = live.queries->Users(request.principal.tenant, request.argument);
         if (!users.empty())
           return ErrorAnswer(
               BadInput("tracepoint \"" + request.argument + "\": query " + users[0] + " uses it",
                        "remove the query first: wherefore query --remove " + users[0]));
         return changed(request, live::DeleteTracepoint(ContextFor(context, request.principal),
                                                        request.argument));
       }});
}

// Server-sent events. A browser that lost the connection says which interval it had last; whoever wants the past from
// the start asks for everything after 0.
net::HttpResponse Stream(const LiveParts& live, const RouteRequest& request) {
  std::string_view after = request.http.headers.Get("last-event-id");
  if (const std::string* wanted = request.http.Query("after_ns");
      wanted != nullptr && after.empty())
    after = *wanted;
  std::optional<Nanos> after_ns;
  if (!after.empty()) {
    Nanos value = 0;
    const char* end = after.data() + after.size();
    if (const auto read = std::from_chars(after.data(), end, value);
        read.ec != std::errc() || read.ptr != end)
      return ErrorAnswer(BadInput(
          "after_ns: \"" + std::string(after.substr(0, 40)) + "\" is not a time in Unix ns",
          "give the start_ns of the last interval you received"));
    after_ns = value;
  }
  auto stream = live.queries->Listen(request.principal.tenant, request.argument, after_ns);
  if (!stream.ok()) return ErrorAnswer(stream.error());
  net::HttpResponse response{
      200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}}, ""};
  response.stream = std::move(*stream);
  return response;
}

void AddQueryRoutes(const RouteContext& context, std::vector<Route>& routes) {
  const LiveParts& live = context.live;
  routes.push_back(
      {"GET", "/api/v1/queries", security::Right::kRead, [live](const RouteRequest& request) {
         return Json(live.queries->List(request.principal.tenant));
       }});
  // Advice goes into other people's processes: only the administrator may send it there.
  routes.push_back({"POST", "/api/v1/queries", security::Right::kAdminister,
                    [live](const RouteRequest& request) {
                      return Json(live.queries->Start(request.principal.tenant, request.http.body));
                    }});
  routes.push_back({"POST", "/api/v1/queries/check", security::Right::kRead,
                    [live](const RouteRequest& request) {
                      return Json(live.queries->Check(request.principal.tenant, request.http.body));
                    }});
  routes.push_back({"GET", "/api/v1/queries/{query}/stream", security::Right::kRead,
                    [live](const RouteRequest& request) { return Stream(live, request); }});
  const std::string one = "/api/v1/queries/{query}";
  routes.push_back({"GET", one, security::Right::kRead, [live](const RouteRequest& request) {
                      return Json(live.queries->Show(request.principal.tenant, request.argument));
                    }});
  routes.push_back(
      {"DELETE", one, security::Right::kAdminister, [live](const RouteRequest& request) {
         return Json(live.queries->Remove(request.principal.tenant, request.argument));
       }});
}

}  // namespace

void AddLiveRoutes(const RouteContext& context, std::vector<Route>& routes) {
  AddTracepointRoutes(context, routes);
  AddQueryRoutes(context, routes);
  // What linked processes and agents saw; they call us by any name.
  routes.push_back({"POST", "/api/v1/control/report", security::Right::kWrite,
                    [live = context.live](const RouteRequest& request) {
                      return Json(
                          live.queries->Report(request.principal.tenant, request.http.body));
                    },
                    nullptr, security::HostCheck::kAnyHost});
}

}  // namespace wf::server
