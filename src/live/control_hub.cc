#include "live/control_hub.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

#include "answer/frame/answer.h"
#include "base/hash.h"
#include "base/ids.h"
#include "live/agent_link.h"

namespace wf::live {
namespace {

// Long enough to be rare, short enough for any proxy in between (most give up after a minute).
constexpr Nanos kLongestWait = 20 * kSecond;
constexpr size_t kLongestNonce = 200;
constexpr Nanos kShortestWait = 10 * kMilli;
constexpr size_t kMostWaiting = 10'000;
// How many versions keep their generation; a client that sends an older one gets the newest.
constexpr size_t kMostGenerations = 1'000;

Nanos WaitOf(const net::HttpRequest& request) {
  const std::string* text = request.Query("wait_ms");
  int64_t milliseconds = 0;
  if (text == nullptr) return kLongestWait;
  const char* end = text->data() + text->size();
  if (const auto read = std::from_chars(text->data(), end, milliseconds);
      read.ec != std::errc() || read.ptr != end || milliseconds > kLongestWait / kMilli)
    return kLongestWait;
  return std::max(kShortestWait, milliseconds * kMilli);
}

}  // namespace

ControlHub::ControlHub(ReadMembers read, Asked asked, std::string token,
                       pipeline::Counters& counters)
    : read_(std::move(read)),
      asked_(std::move(asked)),
      token_(std::move(token)),
      counters_(counters),
      expirer_([this] { Expire(); }) {}

net::HttpResponse ControlHub::Tell(const std::string& body, const std::string& nonce) const {
  net::HttpResponse answer{
      200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}}, body};
  if (!nonce.empty()) answer.headers.emplace_back(kProofHeader, ControlProof(token_, nonce, body));
  return answer;
}

ControlHub::~ControlHub() {
  Stop();
  expirer_.join();
}

Result<const ControlHub::State*> ControlHub::StateOf(const std::string& tenant) {
  State& state = states_[tenant];
  if (state.current) return &state;
  WF_ASSIGN(const std::string members, read_(tenant));
  state.version = ToHex64(HashBytes(members));
  state.body = "{\"version\":\"" + state.version + "\"," + members + "}\n";
  state.current = true;
  if (state.generations.size() >= kMostGenerations) {
    const uint64_t oldest = generation_ - kMostGenerations / 2;
    for (auto at = state.generations.begin(); at != state.generations.end();)
      at = at->second < oldest ? state.generations.erase(at) : std::next(at);
  }
  state.generations[state.version] = ++generation_;
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
                    answer::ErrorJson(state.error())});
  }
  const std::string* version = request.Query("version");
  const std::string nonce(request.headers.Get(kNonceHeader).substr(0, kLongestNonce));
  const bool leaving = request.Query("leaving") != nullptr;
  if (asked_) {
    const std::string *service = request.Query("service"), *instance = request.Query("instance"),
                      *demand = request.Query("demand");
    const auto& told = (*state)->generations;
    const auto taken = version == nullptr ? told.end() : told.find(*version);
    asked_({tenant, service == nullptr ? "" : *service, instance == nullptr ? "" : *instance,
            taken == told.end() ? 0 : taken->second, request.Query("drained") != nullptr, leaving,
            WaitOf(request), demand == nullptr ? "" : *demand});
  }
  if (version == nullptr || *version != (*state)->version || stopping_ || leaving ||
      waiting_.size() >= kMostWaiting) {
    net::HttpResponse answer = Tell((*state)->body, nonce);
    lock.unlock();
    return respond(std::move(answer));
  }
  if (!request.remote_address.empty()) counters_.Add("control_waits", 1);  // not our own agent
  const Nanos until = MonotonicNow() + WaitOf(request);
  auto before = waiting_.end();
  while (before != waiting_.begin() && std::prev(before)->until > until) --before;
  waiting_.insert(before, Waiting{tenant, nonce, until, std::move(respond)});
  wake_.notify_one();
}

uint64_t ControlHub::Refresh(const std::string& tenant) {
  std::list<Waiting> told;
  std::string body;
  uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    State& before = states_[tenant];
    const std::string version = before.version;
    const uint64_t had = version.empty() ? 0 : before.generations[version];
    before.current = false;
    const auto state = StateOf(tenant);
    if (!state.ok()) return 0;  // the next client that sends a request gets the error
    if ((*state)->version == version) return before.generations[version] = had;
    generation = before.generations[before.version];
    body = (*state)->body;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto next = std::next(at);
      if (at->tenant == tenant) told.splice(told.end(), waiting_, at);
      at = next;
    }
  }
  counters_.Add("control_changes", 1);
  for (Waiting& waiting : told) waiting.respond(Tell(body, waiting.nonce));
  return generation;
}

void ControlHub::RefreshAll() {
  std::vector<std::string> tenants;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [tenant, state] : states_) tenants.push_back(tenant);
  }
  for (const std::string& tenant : tenants) Refresh(tenant);
}

void ControlHub::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

void ControlHub::Expire() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::list<std::pair<Waiting, std::string>> told;
    const Nanos now = MonotonicNow();
    while (!waiting_.empty() && (stopping_ || waiting_.front().until <= now)) {
      const std::string& body = states_[waiting_.front().tenant].body;
      told.emplace_back(std::move(waiting_.front()), body);
      waiting_.pop_front();
    }
    lock.unlock();
    for (auto& [waiting, body] : told) waiting.respond(Tell(body, waiting.nonce));
    lock.lock();
    if (stopping_ && waiting_.empty()) return;
    if (stopping_) continue;
    if (waiting_.empty()) {
      wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    } else {
      // A new waiting client also wakes us, because it may be the next to answer.
      wake_.wait_for(lock, std::chrono::nanoseconds(waiting_.front().until - MonotonicNow()));
    }
  }
}

}  // namespace wf::live
