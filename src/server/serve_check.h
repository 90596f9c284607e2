// What can be known wrong of serve's options before anything is opened.
#pragma once

#include "base/result.h"
#include "server/serve_options.h"

namespace wf::server {

// Addresses, rules, and parts that do not fit together. For `serve --check`, too.
Status CheckServeOptions(const ServeOptions& options);

}  // namespace wf::server
