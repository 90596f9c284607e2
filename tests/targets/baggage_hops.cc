// baggage_hops NODE_URL: a request of ours that goes through somebody else's service and comes back to us.
//
//   caller (here) → NODE_URL?to=OUR_URL&times=n → OUR_URL, n times (here, on another thread, as another process)
//
// The service in the middle uses OpenTelemetry and knows nothing of us. Prints a result line for each thing checked.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/queries/thread_baggage.h"
#include "client/transport/http_connection.h"
#include "client/transport/test_receiver.h"
#include "wherefore/baggage.h"
#include "wherefore/rpc.h"

namespace {

using namespace wherefore;  // NOLINT(google-build-using-namespace)
using Bag = std::multiset<int64_t>;

constexpr uint64_t kQuery = 0xF00DF00DF00DF00D;
int failed = 0;

void Check(bool holds, const char* what) {
  std::printf("%s %s\n", holds ? "ok" : "not ok", what);
  std::fflush(stdout);
  failed += holds ? 0 : 1;
}

wf::advice::Slot OneColumn() {
  wf::advice::Slot slot;
  slot.columns = 1;
  return slot;
}
void Pack(wf::advice::Value value) {
  wf::advice::Rows rows(1, 0);
  rows.AddColumn(std::move(value));
  rows.EndRow(1);
  client::PackLimits limits;
  limits.tuples = limits.bytes = 1'000'000;
  client::CurrentBaggage()->Pack(kQuery, 0, OneColumn(), limits, 0, "", rows);
}
Bag Seen() {
  Bag bag;
  const auto tuples = client::CurrentBaggage()->Unpack(kQuery, 0, OneColumn());
  for (size_t row = 0; row < tuples.rows().size(); ++row) {
    const auto* number = std::get_if<int64_t>(&tuples.rows().columns(row)[0]);
    for (uint64_t i = 0; number != nullptr && i < tuples.rows().weight(row); ++i)
      bag.insert(*number);
  }
  return bag;
}

// The callee: notes what it sees, packs, and answers with what it would send on.
struct Callee {
  explicit Callee(Tracer& tracer)
      : tracer_(tracer), receiver_([this](int number) { return Answer(number); }) {}
  std::string url() const { return receiver_.url(); }

  std::mutex mutex;
  std::vector<Bag> seen;
  std::vector<size_t> tuples;
  std::vector<std::string> users;

 private:
  std::string Answer(int number) {
    const client::HttpMessage message = receiver_.received()[static_cast<size_t>(number)];
    const auto caller = RequestContext::FromHeaders(
        message.Header("traceparent"), message.Header("tracestate"), message.Header("baggage"));
    if (!caller) return client::TestReceiver::Status("400 Bad Request");
    RpcHandler handler(tracer_, "callee", *caller);
    {
      const std::lock_guard lock(mutex);
      seen.push_back(Seen());
      tuples.push_back(client::CurrentBaggage()->Unpack(kQuery, 0, OneColumn()).tuple_count());
      users.push_back(caller->BaggageEntry("user").value_or("") + "/" +
                      caller->BaggageEntry("node").value_or(""));
    }
    Pack(int64_t{100 + number});
    std::string headers;
    for (const auto& [name, value] : handler.ResponseHeaders())
      headers += name + ": " + value + "\r\n";
    // What it packed travels back in the body too: that is how a protocol of one's own would do it.
    return client::TestReceiver::Status("200 OK", headers, RequestContext::Current().baggage());
  }

  Tracer& tracer_;
  client::TestReceiver receiver_;
};

client::HttpResponse Get(const std::string& url, const RpcHeaders& headers) {
  const auto parsed = client::HttpUrl::Parse(url);
  if (!parsed) return {};
  client::HttpConnection connection(parsed->host, parsed->port);
  client::HttpRequest request;
  request.method = "GET";
  request.path = parsed->path;
  request.headers = headers;
  return connection.Send(request, client::Deadline(std::chrono::seconds(60)));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string node = arguments[1];
  setenv("WHEREFORE_DISABLED", "1", 1);
  Tracer tracer{TracerOptions()};
  Callee callee(tracer);

  uint64_t request_number = 0;
  const auto request = [&] {
    return RequestContext(TraceId{77, ++request_number}, BlockId{1}, 0).WithBaggage("user", "u7");
  };
  {
    const ContextScope scope(request());
    Pack(int64_t{1});
    RpcCall call(tracer, "call");
    const auto response = Get(node + "/?to=" + callee.url() + "&times=2", call.Send());
    Check(response.status == 200 && callee.seen.size() == 2,
          "the service in the middle calls on, twice");
    Check(callee.seen.size() == 2 && callee.seen[0] == Bag({1}) && callee.seen[1] == Bag({1}),
          "tuples pass through a service that knows nothing of them");
    Check(callee.users.size() == 2 && callee.users[0] == "u7/n1",
          "other people's members pass too, and the service's own is there");
    call.Received(response.message.Header("traceresponse"), response.message.Header("baggage"));
    Check(Seen() == Bag({1}), "on the way back it drops what the callee packed, as documented");
    // Each line of the body is the baggage of one call: both hold the caller's instance.
    std::string_view body = response.message.body;
    while (!body.empty()) {
      const size_t end = body.find('\n');
      join_baggage_header(body.substr(0, end));
      body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
    }
    Check(Seen() == Bag({1, 100, 101}), "copies it made count once when they meet again");
  }
  {
    callee.seen.clear();
    callee.tuples.clear();
    const ContextScope scope(request());
    for (int i = 0; i < 400; ++i) Pack("value " + std::to_string(i));
    RpcCall call(tracer, "call");
    const RpcHeaders headers = call.Send();
    bool two = false;
    for (const auto& [name, value] : headers) two = two || value.find(",wf2=") != std::string::npos;
    const auto response = Get(node + "/?to=" + callee.url() + "&times=1", headers);
    Check(two && response.status == 200 && callee.tuples.size() == 1 && callee.tuples[0] == 400,
          "two members of 4,000 bytes pass whole");
  }
  {
    callee.seen.clear();
    const ContextScope scope(request());
    RpcCall call(tracer, "call");
    const RpcHeaders headers = call.Send();
    bool member = false;
    for (const auto& [name, value] : headers) member = member || value.find("wf=") == 0;
    const auto response = Get(node + "/?to=" + callee.url() + "&times=1", headers);
    Check(!member && response.status == 200 && callee.seen.size() == 1 && callee.seen[0].empty(),
          "an empty baggage sends no member");
  }
  return failed == 0 ? 0 : 1;
}
