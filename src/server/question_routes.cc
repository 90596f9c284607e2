// Routes of the questions, of what people save, of import and export, and of Jaeger's query API.
#include "answer/dataset/dashboard_answer.h"
#include "answer/dataset/property_groups_answer.h"
#include "answer/jaeger/jaeger_query.h"
#include "answer/questions/questions.h"
#include "answer/transfer/export_answer.h"
#include "answer/transfer/import_answer.h"
#include "server/routes.h"

namespace wf::server {
namespace {

net::HttpResponse Respond(Result<answer::SaveOutcome> outcome) {
  if (!outcome.ok()) return ErrorAnswer(outcome.error());
  net::HttpResponse response = server::Respond(std::move(outcome->answer));
  if (outcome->kind == answer::SaveOutcome::Kind::kConflict) response.status = 409;
  return response;
}

}  // namespace

void AddQuestionRoutes(const RouteContext& context, std::vector<Route>& routes) {
  // Questions: GET /api/v1/VERB[/ARG]?flag=value, as the table has them. Who may send spans may also say what is
  // extracted from them, so changes of datasets need the right to write: the web interface has that one.
  for (const answer::QuestionRoute& route : answer::QuestionRoutes()) {
    routes.push_back(
        {route.method, route.path,
         route.right == answer::QuestionRight::kRead ? security::Right::kRead
                                                     : security::Right::kWrite,
         [context, route](const RouteRequest& request) {
           return Respond(answer::Ask(
               ContextFor(context, request.principal),
               answer::QuestionAt(route, request.argument, answer::Params(request.http.query),
                                  request.http.body)));
         }});
  }
  routes.push_back(
      {"GET", "/api/v1/dashboards", security::Right::kRead, [context](const RouteRequest& r) {
         return Respond(answer::AnswerDashboards(ContextFor(context, r.principal)));
       }});
  const std::string dashboard = "/api/v1/dashboards/{dashboard}";
  routes.push_back({"GET", dashboard, security::Right::kRead, [context](const RouteRequest& r) {
                      return Respond(
                          answer::AnswerDashboard(ContextFor(context, r.principal), r.argument));
                    }});
  routes.push_back({"PUT", dashboard, security::Right::kWrite, [context](const RouteRequest& r) {
                      return Respond(answer::SaveDashboard(ContextFor(context, r.principal),
                                                           r.argument, r.http.body));
                    }});
  routes.push_back({"DELETE", dashboard, security::Right::kWrite, [context](const RouteRequest& r) {
                      return Respond(
                          answer::DeleteDashboard(ContextFor(context, r.principal), r.argument));
                    }});
  routes.push_back(
      {"GET", "/api/v1/property-groups", security::Right::kRead, [context](const RouteRequest& r) {
         return Respond(answer::AnswerPropertyGroups(ContextFor(context, r.principal)));
       }});
  routes.push_back(
      {"PUT", "/api/v1/property-groups", security::Right::kWrite, [context](const RouteRequest& r) {
         return Respond(answer::SavePropertyGroups(ContextFor(context, r.principal), r.http.body));
       }});
  routes.push_back(
      {"POST", "/api/v1/import", security::Right::kWrite, [context](const RouteRequest& request) {
         return Respond(answer::AnswerImport(ContextFor(context, request.principal),
                                             answer::Params(request.http.query),
                                             request.http.body));
       }});
  routes.push_back(
      {"GET", "/api/v1/export", security::Right::kRead, [context](const RouteRequest& request) {
         return Respond(answer::AnswerExport(ContextFor(context, request.principal),
                                             {"export", "", answer::Params(request.http.query)}));
       }});
}

void AddJaegerQueryRoutes(const RouteContext& context, std::vector<Route>& routes) {
  // Jaeger's query API, so that Grafana reads us.
  for (const char* path : {"/api/services", "/api/services/{service}", "/api/operations",
                           "/api/traces", "/api/traces/{trace}", "/api/dependencies",
                           "/api/metrics/{metric}", "/api/v3/{question}"}) {
    routes.push_back(
        {"GET", path, security::Right::kRead, [context](const RouteRequest& request) {
           auto answer = answer::AnswerJaegerQuery(context.store, request.principal.tenant, "GET",
                                                   request.http.path, request.http.query);
           if (!answer)
             return ErrorAnswer(NotFound(request.http.path + ": not a Jaeger query route"));
           return net::HttpResponse{
               answer->status, {{"Content-Type", "application/json"}}, std::move(answer->body)};
         }});
  }
}

}  // namespace wf::server
