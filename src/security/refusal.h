// Why a request is turned away before it is looked at: who it is from, or how much of it there is.
#pragma once

#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "net/http_message.h"

namespace wf::security {

struct Refusal {
  enum class Kind {
    kUnknown,    // nobody we know: 401, UNAUTHENTICATED
    kForbidden,  // known, but not for this: 403, PERMISSION_DENIED
    kTooMuch,    // later: 429 with Retry-After, RESOURCE_EXHAUSTED with RetryInfo
    kTooLarge,   // never: 413, RESOURCE_EXHAUSTED
  };
  Kind kind = Kind::kForbidden;
  Error error;
  Nanos retry_after = 0;          // of kTooMuch
  std::string who = "anonymous";  // as far as it is known

  int HttpStatus() const {
    switch (kind) {
      case Kind::kUnknown:
        return 401;
      case Kind::kForbidden:
        return 403;
      case Kind::kTooMuch:
        return 429;
      case Kind::kTooLarge:
        return 413;
    }
    return 403;
  }
  // Whole seconds, at least one.
  std::string RetryAfter() const {
    return std::to_string(retry_after <= kSecond ? 1 : (retry_after + kSecond - 1) / kSecond);
  }
  // Status and headers; the body is the caller's.
  void AddTo(net::HttpResponse& response) const {
    response.status = HttpStatus();
    // No "Basic" challenge: a browser would ask with a window of its own, over ours.
    if (kind == Kind::kUnknown)
      response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"wherefore\"");
    if (kind == Kind::kTooMuch) response.headers.emplace_back("Retry-After", RetryAfter());
  }
};

}  // namespace wf::security
