#include "client/control_client.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/background_thread.h"
#include "client/json_text.h"

namespace wherefore::client {
namespace {

using std::chrono::milliseconds;

// Longer than the server keeps us waiting (20 s), so that only a dead connection runs into it.
constexpr milliseconds kAnswerWithin{40'000};
constexpr milliseconds kShortestWait{100};
// A server that is only slow is not lost; and with the usual interval of a second, one that is has been found out in
// time to take its queries out within three.
constexpr milliseconds kGrace{1'500};
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{5'000};
// A receiver that is no wherefore server says 404; it will hardly become one.
constexpr milliseconds kNotThere{60'000};

std::string PercentEncode(std::string_view text) {
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

ControlClient::ControlClient(HttpUrl endpoint, std::string service, std::string instance,
                             Install install, std::shared_ptr<QueryAgent> queries)
    : endpoint_(std::move(endpoint)),
      about_("service=" + PercentEncode(service) + "&instance=" + PercentEncode(instance)),
      token_(TokenFromEnvironment()),
      install_(std::move(install)),
      queries_(std::move(queries)),
      connection_(endpoint_.host, endpoint_.port) {}

std::shared_ptr<ControlClient> ControlClient::Start(HttpUrl endpoint, std::string service,
                                                    std::string instance, Install install,
                                                    std::shared_ptr<QueryAgent> queries) {
  auto client =
      std::make_shared<ControlClient>(std::move(endpoint), std::move(service), std::move(instance),
                                      std::move(install), std::move(queries));
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
      changed_.wait_for(lock, pause, [&] { return stopping_; });
      if (stopping_) {
        stopped_ = true;
        changed_.notify_all();
        return;
      }
    }
    Ask(pause);
  }
}

void ControlClient::Ask(milliseconds& pause) {
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/v1/control?" + about_;
  if (queries_ && queries_->WantsAll()) version_.clear();
  if (!version_.empty()) request.path += "&version=" + PercentEncode(version_);
  milliseconds within = kAnswerWithin;
  if (const int64_t interval_ns = queries_ ? queries_->ShortestIntervalNs() : 0; interval_ns != 0) {
    const milliseconds wait =
        std::clamp(milliseconds(interval_ns / 1'000'000), kShortestWait, kAnswerWithin / 2);
    request.path += "&wait_ms=" + std::to_string(wait.count());
    within = wait + kGrace;
  }
  request.headers = {{"User-Agent", "libwherefore"}};
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  const Deadline deadline(within, &give_up_at_ns_);
  const HttpResponse response = connection_.Send(request, deadline);
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
  version_ = version;
  return true;
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
  give_up_at_ns_.store(SteadyNs(SteadyClock::now()), std::memory_order_relaxed);
  changed_.notify_all();
  const bool ended = changed_.wait_for(lock, deadline, [&] { return stopped_; });
  if (!thread_.joinable()) return;
  std::thread thread = std::move(thread_);
  lock.unlock();
  if (ended) {
    thread.join();
  } else {
    thread.detach();
  }
}

}  // namespace wherefore::client
