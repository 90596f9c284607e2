// Routes of libwherefore and the browser client: events in, and what is in force out. Senders call us by any name.
#include "answer/policy_answer.h"
#include "server/receivers.h"
#include "server/routes.h"

namespace wf::server {

void AddControlRoutes(const RouteContext& context, std::vector<Route>& routes) {
  if (context.parts.receives) {
    routes.push_back({"POST", "/api/v1/events", security::Right::kWrite, nullptr,
                      [context](net::HttpRequest request, const security::Principal& principal,
                                net::HttpResponder respond) {
                        const ReceiverContext receiver{
                            context.sink,   context.authorizer, context.counters, context.decode,
                            context.tailer, context.self,       context.limits};
                        ReceiveEvents(receiver, request, principal, std::move(respond));
                      },
                      security::HostCheck::kEventPages});
  }
  if (context.control == nullptr) return;
  routes.push_back({"GET", "/api/v1/control", security::Right::kWrite, nullptr,
                    [context](net::HttpRequest request, const security::Principal& principal,
                              net::HttpResponder respond) {
                      context.control->Wait(principal.tenant, request, std::move(respond));
                    },
                    security::HostCheck::kAnyHost});
  const auto policies_changed = [context](const RouteRequest& request,
                                          Result<answer::Answer> answer) {
    if (answer.ok()) context.control->Refresh(request.principal.tenant);
    return Respond(std::move(answer));
  };
  routes.push_back({"PUT", "/api/v1/policies/{name}", security::Right::kAdminister,
                    [context, policies_changed](const RouteRequest& request) {
                      return policies_changed(
                          request, answer::PutPolicy(ContextFor(context, request.principal),
                                                     request.argument, request.http.body));
                    }});
  routes.push_back({"DELETE", "/api/v1/policies/{name}", security::Right::kAdminister,
                    [context, policies_changed](const RouteRequest& request) {
                      return policies_changed(
                          request, answer::DeletePolicy(ContextFor(context, request.principal),
                                                        request.argument));
                    }});
}

}  // namespace wf::server
