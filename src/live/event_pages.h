// Pages of other sites that send events with the browser client (--events-origins): which request that is,
// and the CORS header that lets such a page read the answer, so that it knows whether to send again. The
// client sends text/plain, for which browsers need no permission, so there is no preflight to answer.
#pragma once

#include "net/http_message.h"
#include "security/authorize.h"

namespace wf::live {

// The one request that pages of listed sites may send.
bool IsEventPost(const net::HttpRequest& request);

// Wraps `handler`: adds the header to its answers to listed sites. Borrows the authorizer for the handler's
// life.
net::HttpHandler ReadableByEventPages(const security::Authorizer& authorizer,
                                      net::HttpHandler handler);

}  // namespace wf::live
