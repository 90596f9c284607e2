// Routes of live queries: tracepoints, queries, their streams, and what processes report.
#pragma once

#include <vector>

#include "server/routes.h"

namespace wf::server {

void AddLiveRoutes(const RouteContext& context, std::vector<Route>& routes);

}  // namespace wf::server
