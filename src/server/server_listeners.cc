#include "server/server_listeners.h"

#include <memory>

namespace wf::server {
namespace {

// Which roles have a listener. The web and API listener is everybody's: health, metrics and what the role can answer.
enum class Whose : uint8_t { kEverybody, kReceivers };

struct ListenerSpec {
  const char* name;
  std::string ServeOptions::*address;
  Whose whose;
};
constexpr ListenerSpec kListeners[] = {
    {"http", &ServeOptions::http, Whose::kEverybody},
    {"otlp_grpc", &ServeOptions::otlp_grpc, Whose::kReceivers},
    {"otlp_http", &ServeOptions::otlp_http, Whose::kReceivers},
    {"zipkin", &ServeOptions::zipkin, Whose::kReceivers},
    {"jaeger", &ServeOptions::jaeger, Whose::kReceivers},
};

// The flag's name for messages: otlp_grpc → --otlp-grpc.
std::string FlagOf(std::string name) {
  for (char& c : name) c = c == '_' ? '-' : c;
  return "--" + name;
}

}  // namespace

Status CheckListeners(const ServeOptions& options) {
  for (const ListenerSpec& spec : kListeners) {
    auto address = net::ParseListenAddress(options.*spec.address);
    if (!address.ok()) {
      return Error{ErrorCode::kBadInput, FlagOf(spec.name) + ": " + address.error().message,
                   address.error().hint};
    }
  }
  if (const auto address = net::ParseListenAddress(options.int_reports); !address.ok())
    return Error{ErrorCode::kBadInput, "--int: " + address.error().message, address.error().hint};
  return {};
}

Result<BoundListeners> BindListeners(const ServeOptions& options, const ListenerHandlers& handlers,
                                     net::HttpServer& http, net::GrpcServer& grpc,
                                     const std::shared_ptr<net::TlsKeys>& tls) {
  const auto budget =
      std::make_shared<net::ByteBudget>(static_cast<size_t>(options.max_inflight_bytes));
  net::HttpListenOptions http_options;
  http_options.max_body_bytes = http_options.max_wire_body_bytes =
      static_cast<size_t>(options.max_request_bytes);
  http_options.budget = budget;
  http_options.tls = tls;
  http_options.admit = handlers.admit_http;
  net::GrpcListenOptions grpc_options;
  grpc_options.max_message_bytes = static_cast<size_t>(options.max_request_bytes);
  grpc_options.budget = budget;
  grpc_options.tls = tls;
  grpc_options.admit = handlers.admit_grpc;

  BoundListeners bound_addresses;
  for (const ListenerSpec& spec : kListeners) {
    const std::string name = spec.name;
    WF_ASSIGN(net::ListenAddress wanted, net::ParseListenAddress(options.*spec.address));
    if (spec.whose == Whose::kReceivers && !cluster::PartsOf(options.role).receives)
      wanted.off = true;
    const auto listen = [&]() -> Result<net::ListenAddress> {
      if (name == "http") return http.Listen(wanted, http_options, handlers.web);
      if (name == "otlp_grpc") return grpc.Listen(wanted, grpc_options, handlers.otlp_grpc);
      if (name == "otlp_http") return http.Listen(wanted, http_options, handlers.otlp_http);
      if (name == "zipkin") return http.Listen(wanted, http_options, handlers.zipkin);
      return http.Listen(wanted, http_options, handlers.jaeger);
    };
    auto bound = listen();
    if (!bound.ok()) {
      return EnvironmentError(
          FlagOf(name) + " " + net::ToString(wanted) + ": " + bound.error().message,
          "another program may hold the port: choose one with " + FlagOf(name) +
              " PORT (0 picks a free one), or off");
    }
    bound_addresses.emplace_back(name, net::ToString(*bound));
  }
  return bound_addresses;
}

}  // namespace wf::server
