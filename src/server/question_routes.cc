// Routes of the questions, of what people save, of import and export, and of Jaeger's query API.
#include "answer/dataset/dashboard_answer.h"
#include "answer/dataset/dataset_answer.h"
#include "answer/transfer/export_answer.h"
#include "answer/transfer/import_answer.h"
#include "answer/jaeger/jaeger_query.h"
#include "answer/dataset/property_groups_answer.h"
#include "server/routes.h"

namespace wf {
namespace {

net::HttpResponse Respond(Result<SaveOutcome> outcome) {
  if (!outcome.ok()) return ErrorAnswer(outcome.error());
  net::HttpResponse response = Respond(std::move(outcome->answer));
  if (outcome->kind == SaveOutcome::Kind::kConflict) response.status = 409;
  return response;
}

}  // namespace

void AddQuestionRoutes(const RouteContext& context, std::vector<Route>& routes) {
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
}

void AddJaegerQueryRoutes(const RouteContext& context, std::vector<Route>& routes) {
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
}

}  // namespace wf
