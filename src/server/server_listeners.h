// The listeners of a server: which there are, which a role has, and binding them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/grpc_server.h"
#include "net/http_server.h"
#include "server/serve_options.h"

namespace wf::server {

// Every address can be read, whether the role has the listener or not: one configuration serves all roles.
Status CheckListeners(const ServeOptions& options);

// Name → address, in the order they are printed; "off" for those that are.
using BoundListeners = std::vector<std::pair<std::string, std::string>>;

struct ListenerHandlers {
  net::HttpHandler web, otlp_http, zipkin, jaeger;
  net::GrpcMethods otlp_grpc;
  std::function<std::optional<net::HttpResponse>(const net::HttpRequest&)> admit_http;
  std::function<std::optional<net::GrpcReply>(const net::GrpcRequest&)> admit_grpc;
};

// Binds those that the role has; the first answers already while the last is bound.
Result<BoundListeners> BindListeners(const ServeOptions& options, const ListenerHandlers& handlers,
                                     net::HttpServer& http, net::GrpcServer& grpc,
                                     const std::shared_ptr<net::TlsKeys>& tls);

}  // namespace wf::server
