// All that the client library reads from the network: answers of the receiver and headers of incoming requests.
// The first byte chooses the reader, so that one corpus serves all of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client/events/otlp_encoder.h"
#include "client/sampling/sampling.h"
#include "client/transport/http_connection.h"
#include "client/transport/http_message.h"
#include "wherefore/context.h"

namespace {

using wherefore::RequestContext;
using namespace wherefore::client;  // NOLINT(google-build-using-namespace)

void Require(bool condition) {
  if (!condition) std::abort();
}

void FuzzMessage(HttpKind kind, StreamState stream, std::string_view input) {
  std::string buffer(input);
  HttpMessage message;
  while (!buffer.empty()) {
    const size_t before = buffer.size();
    const TakeResult result = TakeHttpMessage(kind, stream, buffer, message);
    if (result != TakeResult::kTaken) break;
    Require(buffer.size() < before);
    Require(message.body.size() <= kMaxHttpBody);
  }
}

void FuzzContext(std::string_view input) {
  const size_t split = input.find('\n');
  const std::string_view state =
      split == std::string_view::npos ? std::string_view() : input.substr(split + 1);
  const auto context = RequestContext::FromHeaders(input.substr(0, split), state);
  if (!context) return;
  // What we accept we can send on, and it is accepted there.
  const auto again = RequestContext::FromHeaders(context->Traceparent(), context->tracestate());
  Require(again.has_value());
  Require(again->Traceparent() == context->Traceparent());
  Require(again->tracestate() == context->tracestate());
}

void FuzzBaggage(std::string_view input) {
  const auto context = RequestContext::FromHeaders(
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", {}, input);
  Require(context.has_value());
  // What we add can be read back, and what was there is still accepted.
  const RequestContext more = context->WithBaggage("key", input.substr(0, 100));
  const auto again =
      RequestContext::FromHeaders(more.Traceparent(), more.tracestate(), more.baggage());
  Require(again.has_value());
  Require(again->baggage() == more.baggage());
  if (more.baggage() != context->baggage())
    Require(*again->BaggageEntry("key") == input.substr(0, 100));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      FuzzMessage(HttpKind::kResponse, StreamState::kOpen, input);
      break;
    case 1:
      FuzzMessage(HttpKind::kResponse, StreamState::kEnded, input);
      break;
    case 2:
      FuzzMessage(HttpKind::kRequest, StreamState::kOpen, input);
      break;
    case 3:
      DecodeAnswer(input);
      break;
    case 4:
      FuzzContext(input);
      break;
    case 5:
      HttpUrl::Parse(input);
      break;
    case 6: {  // what the server says on the control connection
      Sampling sampling({}, "service", "host");
      if (sampling.Install(input)) sampling.Decide({"name", nullptr, {}});
      break;
    }
    case 7:
      FuzzBaggage(input);
      break;
  }
  return 0;
}
