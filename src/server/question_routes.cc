// Routes of the questions, of what people save, of import and export, and of Jaeger's query API.
#include "answer/dataset/dashboard_answer.h"
#include "answer/dataset/dataset_answer.h"
#include "answer/dataset/property_groups_answer.h"
#include "answer/jaeger/jaeger_query.h"
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
  // Questions: GET /api/v1/VERB[/ARG]?flag=value.
  for (const answer::QuestionKind& kind : answer::QuestionKinds()) {
    const auto answer = [context, &kind](const RouteRequest& request) {
      return Respond(answer::Ask(ContextFor(context, request.principal),
                                 {std::string(kind.verb), request.argument,
                                  answer::Params(request.http.query), request.http.body}));
    };
    const std::string path = "/api/v1/" + std::string(kind.verb);
    if (kind.argument != answer::ArgumentUse::kRequired)
      routes.push_back({"GET", path, security::Right::kRead, answer});
    if (kind.argument != answer::ArgumentUse::kNone)
      routes.push_back({"GET", path + "/{argument}", security::Right::kRead, answer});
    // A program does not fit into an address; asking by POST reads all the same.
    if (kind.body == answer::BodyUse::kOptional && kind.argument != answer::ArgumentUse::kNone)
      routes.push_back({"POST", path + "/{argument}", security::Right::kRead, answer});
    if (kind.body == answer::BodyUse::kOptional && kind.argument != answer::ArgumentUse::kRequired)
      routes.push_back({"POST", path, security::Right::kRead, answer});
  }
  // Datasets: GET, POST and DELETE /api/v1/dataset/ACTION[/NAME]. Who may send spans may also say what is extracted from
  // them, so changes need the right to write: the web interface has that one.
  for (const answer::DatasetAction& action : answer::DatasetActions()) {
    const std::string path = "/api/v1/dataset/" + std::string(action.name);
    const auto answer = [context, &action](const RouteRequest& request) {
      std::string argument(action.name);
      if (action.takes_name) argument += "/" + request.argument;
      return Respond(answer::Ask(ContextFor(context, request.principal),
                                 {"dataset", argument, answer::Params(request.http.query),
                                  request.http.body, action.method}));
    };
    routes.push_back(
        {action.method, action.takes_name ? path + "/{dataset}" : path,
         action.use == answer::ActionUse::kRead ? security::Right::kRead : security::Right::kWrite,
         answer});
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
