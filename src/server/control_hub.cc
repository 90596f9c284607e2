#include "server/control_hub.h"

#include <iterator>
#include <utility>

#include "answer/answer.h"
#include "base/hash.h"
#include "base/ids.h"

namespace wf {
namespace {

// Long enough to be rare, short enough for any proxy in between (most give up after a minute).
constexpr Nanos kLongestWait = 20 * kSecond;
constexpr size_t kMostWaiting = 10'000;

net::HttpResponse Tell(const std::string& body) {
  return {200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}}, body};
}

}  // namespace

ControlHub::ControlHub(ReadPoliciesJson read, Counters& counters)
    : read_(std::move(read)), counters_(counters), expirer_([this] { Expire(); }) {}

ControlHub::~ControlHub() {
  Stop();
  expirer_.join();
}

Result<const ControlHub::State*> ControlHub::StateOf(const std::string& tenant) {
  if (const auto known = states_.find(tenant); known != states_.end()) return &known->second;
  WF_ASSIGN(const std::string policies, read_(tenant));
  State& state = states_[tenant];
  state.version = ToHex64(HashBytes(policies));
  state.body = "{\"version\":\"" + state.version + "\",\"policies\":" + policies + "}\n";
  return &state;
}

void ControlHub::Wait(const std::string& tenant, const net::HttpRequest& request,
                      net::HttpResponder respond) {
  std::unique_lock lock(mutex_);
  const auto state = StateOf(tenant);
  if (!state.ok()) {
    lock.unlock();
    return respond({503,
                    {{"Content-Type", "application/json"}, {"Retry-After", "1"}},
                    ErrorJson(state.error())});
  }
  const std::string* version = request.Query("version");
  if (version == nullptr || *version != (*state)->version || stopping_ ||
      waiting_.size() >= kMostWaiting) {
    net::HttpResponse answer = Tell((*state)->body);
    lock.unlock();
    return respond(std::move(answer));
  }
  counters_.Add("control_waits", 1);
  waiting_.push_back({tenant, Now() + kLongestWait, std::move(respond)});
  wake_.notify_one();
}

void ControlHub::Refresh(const std::string& tenant) {
  std::list<Waiting> told;
  std::string body;
  {
    const std::lock_guard lock(mutex_);
    const auto before = states_.find(tenant);
    const std::string version = before == states_.end() ? std::string() : before->second.version;
    states_.erase(tenant);
    const auto state = StateOf(tenant);
    if (!state.ok() || (*state)->version == version) return;  // the next who asks is told the error
    body = (*state)->body;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto next = std::next(at);
      if (at->tenant == tenant) told.splice(told.end(), waiting_, at);
      at = next;
    }
  }
  counters_.Add("control_changes", 1);
  for (Waiting& waiting : told) waiting.respond(Tell(body));
}

void ControlHub::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

// They wait in order of arrival, all equally long: the front one is next.
void ControlHub::Expire() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::list<std::pair<net::HttpResponder, std::string>> told;
    const Nanos now = Now();
    while (!waiting_.empty() && (stopping_ || waiting_.front().until <= now)) {
      told.emplace_back(std::move(waiting_.front().respond), states_[waiting_.front().tenant].body);
      waiting_.pop_front();
    }
    lock.unlock();
    for (auto& [respond, body] : told) respond(Tell(body));
    lock.lock();
    if (stopping_ && waiting_.empty()) return;
    if (waiting_.empty()) {
      wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    } else {
      wake_.wait_for(lock, std::chrono::nanoseconds(waiting_.front().until - Now()),
                     [&] { return stopping_; });
    }
  }
}

}  // namespace wf
