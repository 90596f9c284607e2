#include "client/tracer/control_client.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/runtime/background_thread.h"
#include "client/runtime/json_text.h"

namespace wherefore::client {
namespace {

using std::chrono::milliseconds;

// Longer than the server keeps us waiting (20 s), so that only a dead connection runs into it.
constexpr milliseconds kAnswerWithin{40'000};
constexpr milliseconds kShortestWait{10};
// While sampling rates are limited, so that they are divided anew within seconds.
constexpr milliseconds kDemandToldEvery{2'000};
constexpr milliseconds kGrace{1'500};
// What a query that was taken out still had is reported in milliseconds, unless the server is in trouble.
constexpr milliseconds kDrainWithin{500};
// One small request to a server that has just answered.
constexpr milliseconds kGoodbyeWithin{250};
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{5'000};
// A receiver that is no wherefore server says 404; it will hardly become one.
constexpr milliseconds kNotThere{60'000};

std::string UrlEncode(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (plain) {
      out.push_back(static_cast<char>(c));
    } else {
      out.push_back('%');
      out.push_back("0123456789ABCDEF"[c >> 4]);
      out.push_back("0123456789ABCDEF"[c & 15]);
    }
  }
  return out;
}

std::string TokenFromEnvironment() {
  const char* token = std::getenv("WHEREFORE_TOKEN");
  return token != nullptr ? token : "";
}

}  // namespace

AskPatience PatienceFor(int64_t interval_ns) {
  const milliseconds interval(interval_ns / 1'000'000);
  // Short ones are asked for twice, so that less of the silence that is allowed is our own.
  if (interval >= milliseconds(1'000)) return {std::min(interval, kAnswerWithin / 2), kGrace};
  const milliseconds wait = std::max(kShortestWait, interval / 2);
  return {wait, interval * 5 / 2 - wait};
}

ControlClient::ControlClient(HttpUrl endpoint, std::string service, std::string instance,
                             Install install, std::shared_ptr<QueryAgent> queries, Demand demand)
    : endpoint_(std::move(endpoint)),
      about_("service=" + UrlEncode(service) + "&instance=" + UrlEncode(instance)),
      token_(TokenFromEnvironment()),
      install_(std::move(install)),
      queries_(std::move(queries)),
      demand_(std::move(demand)),
      connection_(endpoint_.host, endpoint_.port) {}

std::shared_ptr<ControlClient> ControlClient::Start(HttpUrl endpoint, std::string service,
                                                    std::string instance, Install install,
                                                    std::shared_ptr<QueryAgent> queries,
                                                    Demand demand) {
  auto client =
      std::make_shared<ControlClient>(std::move(endpoint), std::move(service), std::move(instance),
                                      std::move(install), std::move(queries), std::move(demand));
  try {
    client->thread_ = StartBackgroundThread("wherefore-ctl", [client] { client->Run(); });
  } catch (const std::system_error&) {
    client->stopped_ = true;  // without policies the bucket decides
  }
  return client;
}

void ControlClient::Run() {
  milliseconds pause{0};
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, UntilLost(pause), [&] { return stopping_; });
      if (stopping_) {
        const milliseconds within = goodbye_within_;
        lock.unlock();
        SayGoodbye(within);
        lock.lock();
        stopped_ = true;
        changed_.notify_all();
        return;
      }
    }
    if (queries_) queries_->UnweaveIfLost();
    Ask(pause);
  }
}

// Not longer than until everything has to be taken out.
milliseconds ControlClient::UntilLost(milliseconds at_most) const {
  const int64_t ns = queries_ ? queries_->UntilLostNs() : INT64_MAX;
  return std::min(at_most, milliseconds(ns / 1'000'000 + (ns % 1'000'000 != 0 ? 1 : 0)));
}

// Whether everything of queries that the last answer took out has been reported. It is waited for, so that the server
// hears it with the version that it comes from; not for long if other queries go on.
bool ControlClient::Drained() {
  if (!queries_) return true;
  milliseconds within = std::exchange(installed_, false) ? kDrainWithin : milliseconds(0);
  if (const int64_t interval_ns = queries_->ShortestIntervalNs(); interval_ns != 0)
    within = std::min(within, milliseconds(interval_ns / 2'000'000));
  return queries_->AwaitDrained(within);
}

void ControlClient::Ask(milliseconds& pause) {
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/v1/control?" + about_;
  if (queries_ && queries_->WantsAll()) version_.clear();
  if (!version_.empty()) request.path += "&version=" + UrlEncode(version_);
  if (Drained()) request.path += "&drained=1";
  milliseconds within = kAnswerWithin, wait{0};
  if (const auto demand = demand_ ? demand_() : std::nullopt) {
    request.path += "&demand=" + UrlEncode(*demand);
    wait = kDemandToldEvery;
  }
  if (const int64_t interval_ns = queries_ ? queries_->ShortestIntervalNs() : 0; interval_ns != 0) {
    const AskPatience patience = PatienceFor(interval_ns);
    wait = wait.count() == 0 ? patience.wait : std::min(wait, patience.wait);
    within = UntilLost(patience.wait + patience.grace);
  }
  if (wait.count() != 0) request.path += "&wait_ms=" + std::to_string(wait.count());
  request.headers = {{"User-Agent", "libwherefore"}};
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  const Deadline deadline(within, &give_up_at_ns_);
  const HttpResponse response = connection_.Send(request, deadline);
  if (response.status != 0 || give_up_at_ns_.load(std::memory_order_relaxed) == Deadline::kNever)
    answers_ = response.status == 200;
  if (response.status == 404 || response.status == 405) {
    pause = kNotThere;
    return;
  }
  const bool used = Use(response);
  if (queries_) {
    queries_->Contact(used                ? QueryAgent::Answer::kCame
                      : deadline.passed() ? QueryAgent::Answer::kTimedOut
                                          : QueryAgent::Answer::kFailed);
  }
  if (!used) {
    pause = std::min(std::max(pause * 2, kFirstPause), kLongestPause);
    return;
  }
  pause = milliseconds(0);
  const std::lock_guard lock(mutex_);
  fetched_ = true;
  changed_.notify_all();
}

bool ControlClient::Use(const HttpResponse& response) {
  const auto answer = response.status == 200 ? ParseJson(response.message.body) : std::nullopt;
  const std::string version = answer ? answer->Get("version").text : std::string();
  if (version.empty()) return false;
  if (version == version_) return true;
  if (!install_(response.message.body)) return false;
  if (queries_) queries_->Install(*answer);
  installed_ = true;
  version_ = version;
  return true;
}

// So that nobody waits for us: the end of a query waits for what linked processes still have.
void ControlClient::SayGoodbye(milliseconds within) {
  if (!answers_) return;
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/v1/control?" + about_ + "&leaving=1";
  request.headers = {{"User-Agent", "libwherefore"}};
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  (void)connection_.Send(request, Deadline(within));
}

bool ControlClient::AwaitFirst(milliseconds deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline, [&] { return fetched_ || stopped_; }) && fetched_;
}

void ControlClient::Forget() {
  if (thread_.joinable()) thread_.detach();
}

void ControlClient::Stop(milliseconds deadline) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  goodbye_within_ = std::min(kGoodbyeWithin, deadline / 2);
  give_up_at_ns_.store(SteadyNs(SteadyClock::now()), std::memory_order_relaxed);
  changed_.notify_all();
  EndBackgroundThread(lock, changed_, stopped_, thread_, deadline);
}

}  // namespace wherefore::client
