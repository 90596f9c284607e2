#include "live/event_pages.h"

#include <memory>

namespace wf::live {

bool IsEventPost(const net::HttpRequest& request) {
  return request.method == "POST" && request.path == "/api/v1/events";
}

net::HttpHandler ReadableByEventPages(const security::Authorizer& authorizer,
                                      net::HttpHandler handler) {
  return [&authorizer, handler = std::move(handler)](net::HttpRequest request,
                                                     net::HttpResponder respond) {
    const std::string origin(request.headers.Get("origin"));
    if (!IsEventPost(request) || origin.empty()) {
      return handler(std::move(request), std::move(respond));
    }
    const bool listed = authorizer.SendsEvents(origin);
    // A shared holder, because std::function must be copyable.
    const auto held = std::make_shared<net::HttpResponder>(std::move(respond));
    handler(std::move(request),
            net::HttpResponder([held, listed, origin](net::HttpResponse answer) {
              answer.headers.emplace_back("Vary", "Origin");
              if (listed) answer.headers.emplace_back("Access-Control-Allow-Origin", origin);
              (*held)(std::move(answer));
            }));
  };
}

}  // namespace wf::live
