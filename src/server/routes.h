// The routes of the web and API listener: one table, each with the right it needs. What a route does is one call into
// src/answer; this file knows HTTP, not traces.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/answer.h"
#include "net/http_message.h"
#include "server/authorize.h"
#include "server/control_hub.h"
#include "server/counters.h"
#include "server/worker_pool.h"

namespace wf {

struct RouteRequest {
  const net::HttpRequest& http;
  Principal principal;
  std::string argument;  // what stood for {…} in the path
};

struct Route {
  std::string_view method;
  std::string
      pattern;  // "/api/v1/trace/{id}": {…} takes the rest of the path, but for what stands behind it
  Right right;
  std::function<net::HttpResponse(const RouteRequest&)> answer;  // on a worker
  // Instead of it, for what is answered later: on the io thread, and must not keep it.
  std::function<void(net::HttpRequest, const Principal&, net::HttpResponder)> take = nullptr;
  HostCheck hosts = HostCheck::kStrict;
};

class LiveQueries;
class ProcessRegistry;
struct LiveParts {
  LiveQueries* queries = nullptr;
  ProcessRegistry* processes = nullptr;
};

// What the routes need; borrowed for the life of the server.
struct RouteContext {
  Store& store;
  std::string store_path;
  const Authorizer& authorizer;
  Counters& counters;
  WorkerPool& workers;
  std::function<ServerFacts()> facts;
  std::function<bool()> ready;
  DecodeOptions decode;
  ControlHub& control;
  LiveParts live;
  Tailer* tailer = nullptr;
  const RedMetrics* red = nullptr;
};

std::vector<Route> MakeRoutes(const RouteContext& context);

// Finds the route, authorizes, runs it on a worker and answers.
net::HttpHandler MakeWebHandler(RouteContext context);

int HttpStatusOf(ErrorCode code);
net::HttpResponse ErrorAnswer(const Error& error);

}  // namespace wf
