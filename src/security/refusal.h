// Why a request is refused before it is decoded: because of its sender, or because of its size or rate.
#pragma once

#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "net/http_message.h"

namespace wf::security {

struct Refusal {
  enum class Kind {
    kUnknown,    // unknown sender: 401, UNAUTHENTICATED
    kForbidden,  // known sender without the right: 403, PERMISSION_DENIED
    kTooMuch,    // may be retried later: 429 with Retry-After, RESOURCE_EXHAUSTED with RetryInfo
    kTooLarge,   // never admitted: 413, RESOURCE_EXHAUSTED
  };
  Kind kind = Kind::kForbidden;
  Error error;
  Nanos retry_after = 0;          // for kTooMuch
  std::string who = "anonymous";  // the sender's name, if it is known

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
  // Sets status and headers; the caller sets the body.
  void AddTo(net::HttpResponse& response) const {
    response.status = HttpStatus();
    // No "Basic" challenge: the browser would open its own dialog over ours.
    if (kind == Kind::kUnknown)
      response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"wherefore\"");
    if (kind == Kind::kTooMuch) response.headers.emplace_back("Retry-After", RetryAfter());
  }
};

}  // namespace wf::security
