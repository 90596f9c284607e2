// Addresses, URLs and request targets: no crash, and what was accepted is accepted again in its own spelling.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/address.h"
#include "net/http_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto address = wf::net::ParseListenAddress(text); address.ok()) {
    auto again = wf::net::ParseListenAddress(wf::net::ToString(*address));
    WF_CHECK(again.ok() && wf::net::ToString(*again) == wf::net::ToString(*address));
  }
  if (auto url = wf::net::ParseUrl(text); url.ok()) {
    auto again =
        wf::net::ParseUrl((url->tls ? "https://" : "http://") + url->HostHeader() + url->target);
    WF_CHECK(again.ok() && again->port == url->port && again->target == url->target);
  }
  if (auto target = wf::net::ParseTarget(text); target.ok()) WF_CHECK(!target->path.empty());
  auto error = wf::net::ErrorResponse(400, "x", text, text);
  WF_CHECK(error.body.front() == '{');
  return 0;
}
