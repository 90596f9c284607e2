#include "live/agent.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/base64.h"
#include "base/ids.h"
#include "json/json_reader.h"
#include "json/json_writer.h"
#include "live/live_query.h"
#include "live/query_intervals.h"
#include "log/log.h"

namespace wf::live {
namespace {

// While nothing is woven, the server may wait this long before it answers.
constexpr Nanos kQuietWait = 20 * kSecond;
// A server on a busy machine may take this long without being lost. With short intervals it counts as lost
// after two intervals, so that all advice is removed within three.
constexpr Nanos kLongestGrace = kSecond;
constexpr Nanos kPause = 500 * kMilli;      // after a failure
constexpr Nanos kPollEvery = 20 * kMilli;   // reading what woven programs sent
constexpr Nanos kWeaveAgain = 2 * kSecond;  // after weaving failed
constexpr size_t kMostUnsent = 10'000;      // partial results
constexpr Nanos kSendAgain = 200 * kMilli;
// A weaving thread that is stuck must not block the polling thread for longer.
constexpr Nanos kMostApply = kMinute;

}  // namespace

WeaveQuery WeaveHost(const weaver::WeaveOptions& options) {
  return [options](const advice::Program& program,
                   const std::vector<weaver::TracepointDefinition>& definitions,
                   const weaver::PackLimits& limits) {
    weaver::WeaveOptions own = options;
    own.limits = limits;
    // Linked processes of this host have the query, too.
    own.hand_over = weaver::HandOver::kToLinkedProcesses;
    return weaver::Woven::Weave(program, definitions, {}, own);
  };
}

Status CheckWeavePrivileges() {
  // Not by user, because root in a container may lack the capabilities.
  std::ifstream status("/proc/self/status");
  std::string line;
  uint64_t effective = 0;
  while (std::getline(status, line)) {
    if (line.rfind("CapEff:", 0) == 0) effective = std::strtoull(line.c_str() + 7, nullptr, 16);
  }
  constexpr int kSysAdmin = 21, kPerfmon = 38, kBpf = 39;
  const auto has = [&](int capability) { return ((effective >> capability) & 1) != 0; };
  if (has(kSysAdmin) || (has(kBpf) && has(kPerfmon))) return {};
  return Denied("weaving into processes needs root, or CAP_BPF and CAP_PERFMON",
                "tracepoints compiled in with libwherefore need no privilege and no agent");
}

std::string AgentInstance() {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    random = static_cast<uint64_t>(Now()) ^ static_cast<uint64_t>(::getpid());
  return "agent-" + ToHex64(random);
}

std::string HostName() {
  if (const char* given = std::getenv("WHEREFORE_HOST"); given != nullptr && *given != '\0')
    return given;
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

struct Agent::Weaving {
  uint64_t id = 0;
  Wanted wanted;
  std::unique_ptr<weaver::Woven> woven;  // null: not woven yet; tried again
  Nanos try_at = 0;
  std::string why_not;
  std::optional<advice::Results> results;
  Nanos start = 0;  // of the interval that is being collected
  size_t notes_told = 0;
};

Agent::Agent(std::unique_ptr<AgentLink> link, AgentOptions options)
    : link_(std::move(link)),
      options_(std::move(options)),
      run_(AgentInstance()),
      asker_([this] { AskLoop(); }),
      weaver_([this] { WeaveLoop(); }) {}

Agent::~Agent() { Stop(); }

void Agent::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  link_->Cancel();
  changed_.notify_all();
  asker_.join();
  weaver_.join();
  link_->Leave();
}

Agent::Contact Agent::contact() const {
  const std::lock_guard lock(mutex_);
  return contact_;
}

std::string Agent::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

// --- Polling the server

Nanos Agent::ShortestInterval() const {
  const std::lock_guard lock(mutex_);
  Nanos shortest = 0;
  for (const auto& [id, query] : wanted_)
    shortest = shortest == 0 ? query.interval : std::min(shortest, query.interval);
  return shortest;
}

Result<Agent::WantedQueries> Agent::ReadAnswer(const std::string& body,
                                               std::string& version) const {
  JsonParser parser;
  WF_ASSIGN(const JsonValue json, parser.Parse(body));
  version = json.Get("version").String();
  if (version.empty()) return BadInput("the server's answer has no version");
  std::map<std::string, weaver::TracepointDefinition> defined;
  for (const JsonValue one : json.Get("tracepoints").Elements()) {
    auto definition = weaver::ReadTracepoint(one);
    if (!definition.ok()) {
      if (log::LogOnce("tracepoint " + definition.error().message))
        log::Warn("agent: {}", definition.error().message);
      continue;
    }
    defined[definition->name] = std::move(*definition);
  }
  WantedQueries wanted;
  for (const JsonValue one : json.Get("queries").Elements()) {
    const auto id = ParseSpanId(one.Get("id").String());
    const auto bytes = Base64Decode(one.Get("program").String());
    advice::Program program;
    if (!id.ok() || !bytes || !advice::Decode(*bytes, program)) {
      if (log::LogOnce("program " + std::string(one.Get("id").String())))
        log::Warn("agent: query {}: cannot read its program; is the server newer than this agent?",
                  one.Get("id").String());
      continue;
    }
    Wanted query;
    query.content = *bytes;
    query.interval = std::clamp(one.Get("interval_ms").Int().value_or(1000) * kMilli,
                                kShortestInterval, kLongestInterval);
    const auto limit = [&](const char* key, uint32_t otherwise) {
      return static_cast<uint32_t>(
          std::clamp<int64_t>(one.Get(key).Int().value_or(otherwise), 0, UINT32_MAX));
    };
    query.limits.tuples = limit("max_tuples", query.limits.tuples);
    query.limits.bytes = limit("max_bytes", query.limits.bytes);
    bool any = false;
    for (const std::string& name : TracepointsOf(program)) {
      const auto found = defined.find(name);
      weaver::TracepointDefinition definition;
      definition.name = name;  // a compiled-in tracepoint has no place to weave
      if (found != defined.end()) {
        definition = found->second;
        query.content += weaver::ToJson(definition);
        any = true;
      }
      query.definitions.push_back(std::move(definition));
    }
    if (!any) continue;  // only for linked processes
    for (const auto& entry : defined) {
      const weaver::TracepointDefinition& definition = entry.second;
      const bool named =
          std::any_of(query.definitions.begin(), query.definitions.end(),
                      [&](const auto& each) { return each.name == definition.name; });
      if (definition.handoff == weaver::Handoff::kNone || named) continue;
      query.content += weaver::ToJson(definition);
      query.definitions.push_back(definition);  // requests may pass through it
    }
    query.program = std::make_shared<advice::Program>(std::move(program));
    wanted.emplace(id->value, std::move(query));
  }
  return wanted;
}

void Agent::Want(WantedQueries wanted) {
  std::unique_lock lock(mutex_);
  wanted_ = std::move(wanted);
  const uint64_t round = ++wanted_round_;
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::nanoseconds(kMostApply),
                    [&] { return stopping_ || applied_round_ >= round; });
}

// The server does not answer, so all of its queries are removed.
void Agent::Lose() {
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    any = !wanted_.empty();
    if (contact_ == Contact::kConnected) {
      contact_ = Contact::kLost;
      log::Warn("agent: connection to the server lost: {}{}", trouble_,
                any ? "; all queries are removed" : "");
    }
  }
  if (any) Want({});
}

void Agent::AskLoop() {
  std::string version;
  heard_at_ = MonotonicNow();
  while (true) {
    const Nanos interval = ShortestInterval();
    const AgentLink::Patience patience =
        interval == 0 ? AgentLink::Patience{kQuietWait, kQuietWait}
                      : AgentLink::Patience{
                            std::min(interval / 2, kQuietWait),
                            std::max(interval * 3 / 2, std::min(2 * interval, kLongestGrace))};
    auto answer = link_->Ask(version, patience);
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    std::string told;
    auto wanted = answer.ok() ? ReadAnswer(*answer, told) : answer.error();
    if (wanted.ok()) {
      heard_at_ = MonotonicNow();
      {
        const std::lock_guard lock(mutex_);
        if (contact_ == Contact::kLost) log::Info("agent: reconnected to the server");
        contact_ = Contact::kConnected;
        trouble_.clear();
      }
      if (told != version) Want(std::move(*wanted));
      heard_at_ = MonotonicNow();  // weaving may have taken long
      version = told;
      continue;
    }
    std::unique_lock lock(mutex_);
    trouble_ = wanted.error().message;
    const bool lost = MonotonicNow() - heard_at_ >= patience.grace;
    lock.unlock();
    if (lost) {
      Lose();
      version.clear();
    }
    lock.lock();
    changed_.wait_for(lock, std::chrono::nanoseconds(std::min(kPause, patience.wait)),
                      [&] { return stopping_; });
    if (stopping_) return;
  }
}

// --- Weaving

void Agent::Note(uint64_t id, const std::string& text) {
  constexpr size_t kMostNotes = 1'000;
  if (unsent_notes_.size() < kMostNotes) unsent_notes_.emplace_back(id, text);
}

void Agent::Weave(uint64_t id, const Wanted& wanted) {
  auto& weaving = woven_[id];
  if (weaving == nullptr) {
    weaving = std::make_unique<Weaving>();
    weaving->id = id;
    weaving->wanted = wanted;
  }
  auto woven =
      options_.weave(*weaving->wanted.program, weaving->wanted.definitions, weaving->wanted.limits);
  if (!woven.ok()) {
    weaving->try_at = MonotonicNow() + kWeaveAgain;
    if (weaving->why_not != woven.error().message) {
      weaving->why_not = woven.error().message;
      log::Warn("agent: query {}: {}", ToHex64(id), woven.error().message);
      Note(id, woven.error().message +
                   (woven.error().hint.empty() ? "" : " (" + woven.error().hint + ")"));
    }
    return;
  }
  weaving->woven = std::move(*woven);
  weaving->results.emplace(*weaving->wanted.program, QueryIntervals::kMostRows);
  weaving->start = IntervalStart(Now(), weaving->wanted.interval);
  log::Debug("agent: query {} runs at {} places", ToHex64(id), weaving->woven->places().size());
}

void Agent::Unweave(uint64_t id) {
  const auto found = woven_.find(id);
  if (found == woven_.end()) return;
  Weaving& weaving = *found->second;
  if (weaving.woven != nullptr) {
    if (const Status gone = weaving.woven->Unweave(); !gone.ok())
      log::Error("agent: query {}: {}", ToHex64(id), gone.error().message);
    Collect(weaving, weaving.start, Now());
  }
  woven_.erase(found);
}

void Agent::Apply(const WantedQueries& wanted) {
  std::vector<uint64_t> gone;
  for (const auto& [id, weaving] : woven_) {
    const auto still = wanted.find(id);
    if (still == wanted.end() || still->second.content != weaving->wanted.content)
      gone.push_back(id);
  }
  for (const uint64_t id : gone) Unweave(id);
  for (const auto& [id, query] : wanted) {
    if (woven_.count(id) == 0) Weave(id, query);
  }
}

// Collects what was emitted since the last call, as the results of [start, end).
void Agent::Collect(Weaving& weaving, Nanos start, Nanos end) {
  const auto counters = weaving.woven->Collect(*weaving.results);
  if (!counters.ok()) {
    if (log::LogOnce("collect " + ToHex64(weaving.id) + counters.error().message))
      log::Error("agent: query {}: {}", ToHex64(weaving.id), counters.error().message);
    Note(weaving.id, counters.error().message);
    return;
  }
  const auto& notes = weaving.woven->notes();
  for (; weaving.notes_told < notes.size(); ++weaving.notes_told)
    Note(weaving.id, notes[weaving.notes_told]);
  if (counters->hits == 0 && weaving.results->empty() && counters->lost == 0) return;
  JsonWriter json;
  json.BeginObject()
      .Field("query", ToHex64(weaving.id))
      .Field("seq", ++results_)
      .Field("start_ns", start)
      .Field("end_ns", end)
      .Field("partial", Base64Encode(weaving.results->Encode()))
      .Field("tuples", weaving.results->tuples())
      .Field("lost", counters->lost)
      .Field("overflowed", counters->overflowed + counters->marked)
      .Field("packed_tuples_max", counters->packed_tuples_max)
      .Field("baggage_bytes_max", counters->baggage_bytes_max)
      .Field("advice_ns", counters->advice_ns)
      .Field("hits", counters->hits)
      .EndObject();
  weaving.results->Clear();
  if (unsent_.size() >= kMostUnsent) {
    log::Error("agent: results of query {} are lost: the server does not accept them",
               ToHex64(weaving.id));
    return;
  }
  unsent_.push_back({weaving.id, json.Take()});
}

void Agent::CollectDue(Nanos now) {
  for (auto& [id, weaving] : woven_) {
    if (weaving->woven == nullptr) continue;
    const Nanos end = weaving->start + weaving->wanted.interval;
    if (now < end) continue;
    Collect(*weaving, weaving->start, end);
    weaving->start = IntervalStart(now, weaving->wanted.interval);
  }
}

void Agent::SendReports() {
  if (unsent_.empty() && unsent_notes_.empty()) return;
  JsonWriter json;
  json.BeginObject()
      .Field("instance", options_.instance)
      .Field("run", run_)
      .Field("service", "wherefore-agent")
      .Field("host", options_.host)
      .Field("pid", int64_t{::getpid()});
  json.Key("notes").BeginArray();
  for (const auto& [id, text] : unsent_notes_)
    json.BeginObject().Field("query", ToHex64(id)).Field("text", text).EndObject();
  json.EndArray().Key("results").BeginArray();
  for (const Partial& partial : unsent_) json.Raw(partial.json);
  json.EndArray().EndObject();
  const Status sent = link_->Report(json.Take());
  if (!sent.ok()) {
    retry_at_ = MonotonicNow() + kSendAgain;
    if (log::LogOnce("report " + sent.error().message))
      log::Warn("agent: report: {}", sent.error().message);
    if (sent.error().code != ErrorCode::kBadInput) return;
  }
  unsent_.clear();
  unsent_notes_.clear();
}

void Agent::WeaveLoop() {
  while (true) {
    std::optional<WantedQueries> wanted;
    uint64_t round = 0;
    bool stop = false;
    {
      std::unique_lock lock(mutex_);
      const auto woken = [&] { return stopping_ || wanted_round_ != applied_round_; };
      if (woven_.empty() && unsent_.empty()) {
        changed_.wait(lock, woken);
      } else {
        changed_.wait_for(lock, std::chrono::nanoseconds(kPollEvery), woken);
      }
      stop = stopping_;
      if (wanted_round_ != applied_round_) wanted = wanted_;
      round = wanted_round_;
    }
    if (stop) Apply({});
    if (wanted && !stop) Apply(*wanted);
    for (auto& [id, weaving] : woven_) {
      if (weaving->woven == nullptr) {
        if (MonotonicNow() >= weaving->try_at) Weave(id, weaving->wanted);
        continue;
      }
      if (const Status polled = weaving->woven->Poll(0); !polled.ok()) {
        if (log::LogOnce("poll " + ToHex64(id)))
          log::Error("agent: query {}: {}", ToHex64(id), polled.error().message);
      }
    }
    CollectDue(Now());
    if (stop || wanted || MonotonicNow() >= retry_at_) SendReports();
    if (wanted) {
      const std::lock_guard lock(mutex_);
      applied_round_ = round;
      changed_.notify_all();
    }
    if (stop) return;
  }
}

}  // namespace wf::live
