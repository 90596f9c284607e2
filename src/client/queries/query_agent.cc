#include "client/queries/query_agent.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "client/baggage/baggage_counts.h"
#include "client/baggage/baggage_wire.h"
#include "client/queries/advice_runner.h"
#include "client/queries/query_report.h"
#include "client/queries/tracepoint_registry.h"
#include "client/runtime/background_thread.h"
#include "client/runtime/tick_clock.h"

namespace wherefore::client {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kShortestInterval = 10 * kMillisecond;
constexpr int64_t kLongestInterval = 3'600'000 * kMillisecond;
// Then its last hits are in: they read their clock under the lock that we take.
constexpr int64_t kAfterTheEnd = 1 * kMillisecond;
// While nothing is woven, and nobody wakes us.
constexpr int64_t kIdle = 60'000 * kMillisecond;
constexpr milliseconds kReportWithin{5'000};
constexpr int64_t kAfterAFailure = 500 * kMillisecond;
// Whether somebody weaves a query here is looked for this often: it takes two system calls.
constexpr int64_t kLookForTuples = 200 * kMillisecond;
// What waits for a server that does not answer; of older intervals the server has no use any more.
// Events of the emit plan take the most: EmittedPieces, in base64.
constexpr size_t kMostWaiting = 24 << 20;
// Programs for queries that nobody reads are the server's affair; this bounds what it can make of our memory.
constexpr size_t kMostQueries = 256;

int64_t MonotonicNs() { return ClockNs(CLOCK_MONOTONIC); }

bool QueriesAreOff() {
  const char* value = std::getenv("WHEREFORE_QUERIES");
  const std::string_view text = value != nullptr ? value : "";
  return text == "off" || text == "0" || text == "false";
}

std::shared_ptr<const ProcessIdentity> FindIdentity(const std::string& service) {
  auto identity = std::make_shared<ProcessIdentity>();
  const char* host = std::getenv("WHEREFORE_HOST");
  if (host != nullptr && *host != '\0') {
    identity->host = host;
  } else {
    utsname names{};
    uname(&names);
    identity->host = names.nodename;
  }
  identity->name = service;
  identity->pid = getpid();
  return identity;
}

// Tracepoints are the process's: only one agent weaves at a time.
std::mutex& WeavingMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

int64_t WholeNumber(const JsonNode& node, int64_t otherwise, int64_t least, int64_t most) {
  if (node.type != JsonNode::Type::kNumber || !(node.number >= static_cast<double>(least)))
    return otherwise;
  return node.number >= static_cast<double>(most) ? most : static_cast<int64_t>(node.number);
}

std::shared_ptr<const LiveQuery> ReadQuery(const JsonNode& node) {
  auto query = std::make_shared<LiveQuery>();
  uint64_t id;
  std::string bytes;
  if (!ParseQueryId(node.Get("id").text, id) || !FromBase64(node.Get("program").text, bytes))
    return nullptr;
  if (!wf::advice::Decode(bytes, query->program) || query->program.query != id) return nullptr;
  query->interval_ns =
      kMillisecond * WholeNumber(node.Get("interval_ms"), 1000, kShortestInterval / kMillisecond,
                                 kLongestInterval / kMillisecond);
  query->limits.tuples =
      static_cast<uint32_t>(WholeNumber(node.Get("max_tuples"), query->limits.tuples, 0, 1 << 20));
  query->limits.bytes =
      static_cast<uint32_t>(WholeNumber(node.Get("max_bytes"), query->limits.bytes, 0, 1 << 20));
  if (node.Get("plan").text == "emit") query->plan = QueryPlan::kEmit;
  query->places = wf::advice::EmittedPlaces(query->program);
  return query;
}

bool Wants(const LiveQuery& query, std::string_view tracepoint) {
  for (const wf::advice::Advice& advice : query.program.advice) {
    if (std::find(advice.tracepoints.begin(), advice.tracepoints.end(), tracepoint) !=
        advice.tracepoints.end()) {
      return true;
    }
  }
  return false;
}

}  // namespace

QueryAgent::QueryAgent(QueryAgentOptions options)
    : options_(std::move(options)),
      process_(FindIdentity(options_.service)),
      run_(QueryIdText(RandomId())),
      connection_(options_.endpoint.host, options_.endpoint.port),
      give_up_at_ns_(Deadline::kNever),
      kernel_tuples_(process_),
      calibration_ticks_(Ticks()),
      calibration_ns_(MonotonicNs()) {}

std::shared_ptr<QueryAgent> QueryAgent::Start(QueryAgentOptions options) {
  if (QueriesAreOff()) return nullptr;
  AllowAdvice();
  return std::make_shared<QueryAgent>(std::move(options));
}

// A process without tracepoints needs no thread, unless others pack for it.
void QueryAgent::StartThreadOnce(Work work) {
  if (started_ || stopping_ || (TracepointCount() == 0 && work == Work::kTracepoints)) return;
  try {
    thread_ =
        StartBackgroundThread("wherefore-query", [self = shared_from_this()] { self->Run(); });
    started_ = true;
  } catch (const std::system_error&) {  // tried again with the next answer
  }
}

void QueryAgent::Install(const JsonNode& answer) {
  const JsonNode& told = answer.Get("queries");
  std::vector<std::shared_ptr<const LiveQuery>> fresh;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    speaks_ = true;
    for (const auto& [unused, node] : told.children) {
      if (told.type != JsonNode::Type::kArray || fresh.size() == kMostQueries) break;
      auto query = ReadQuery(node);
      if (query == nullptr) {
        refused_programs_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      // One that runs already goes on: ids are never used again.
      for (const auto& running : queries_) {
        if (running->program.query == query->program.query && running->plan == query->plan)
          query = running;
      }
      const bool twice = std::any_of(fresh.begin(), fresh.end(), [&](const auto& other) {
        return other->program.query == query->program.query;
      });
      if (!twice) fresh.push_back(std::move(query));
    }
    const bool packs =
        std::any_of(fresh.begin(), fresh.end(), [](const auto& query) { return Packs(*query); });
    StartThreadOnce(packs ? Work::kKernelTuples : Work::kTracepoints);
    if (!started_) return;  // nobody could report
    NoteGap(fresh);
    wants_all_ = false;
  }
  Weave(std::move(fresh));
}

void QueryAgent::Contact(Answer answer) {
  const std::lock_guard lock(mutex_);
  const int64_t now = MonotonicNs();
  if (answer == Answer::kCame) {
    if (silent_since_ns_ != 0) retell_ = true;
    silent_since_ns_ = 0;
    answered_ns_ = now;
    if (speaks_) StartThreadOnce(Work::kTracepoints);  // tracepoints of a library that came later
  } else if (silent_since_ns_ == 0) {
    // Who did not answer in time was lost when it last did.
    silent_since_ns_ = answer == Answer::kTimedOut && answered_ns_ != 0 ? answered_ns_ : now;
  }
  changed_.notify_all();
}

// Three intervals are allowed; taking out takes its time too.
int64_t QueryAgent::SilenceEndsNs() const {
  if (queries_.empty() || silent_since_ns_ == 0) return INT64_MAX;
  return silent_since_ns_ + 11 * (shortest_ns_ / 4);
}

int64_t QueryAgent::UntilLostNs() const {
  const std::lock_guard lock(mutex_);
  const int64_t end = SilenceEndsNs();
  return end == INT64_MAX ? end : std::max<int64_t>(0, end - MonotonicNs());
}

void QueryAgent::Weave(std::vector<std::shared_ptr<const LiveQuery>> queries) {
  const std::lock_guard weaving(WeavingMutex());
  WeaveAll(std::move(queries));
}

// At tracepoints of a library that came later.
void QueryAgent::WeaveAgain() {
  const std::lock_guard weaving(WeavingMutex());
  std::vector<std::shared_ptr<const LiveQuery>> queries;
  {
    const std::lock_guard lock(mutex_);
    queries = queries_;
  }
  WeaveAll(std::move(queries));
}

// Swaps what stands behind each tracepoint; what stood there before is freed when no thread can be in it.
void QueryAgent::WeaveAll(std::vector<std::shared_ptr<const LiveQuery>> queries) {
  const uint64_t places = TracepointCount();
  std::vector<const WovenAdvice*> old;
  for (internal::Tracepoint* point = FirstTracepoint(); point != nullptr; point = point->next) {
    std::unique_ptr<WovenAdvice> woven;
    for (const auto& query : queries) {
      if (!Wants(*query, point->name)) continue;
      if (woven == nullptr) woven = std::make_unique<WovenAdvice>(process_);
      woven->Add(query, *point);
    }
    const void* const before = point->woven.exchange(woven.release(), std::memory_order_acq_rel);
    if (before != nullptr) old.push_back(static_cast<const WovenAdvice*>(before));
  }
  if (const WovenAdvice* before = LinkBranchesFor(queries, process_)) old.push_back(before);
  if (!old.empty()) AwaitRunningAdvice();
  for (const WovenAdvice* advice : old) delete advice;

  int64_t shortest = 0;
  for (const auto& query : queries) {
    shortest = shortest == 0 ? query->interval_ns : std::min(shortest, query->interval_ns);
  }
  shortest_ns_ = shortest;
  const std::lock_guard lock(mutex_);
  queries_ = std::move(queries);
  woven_tracepoints_ = places;
  ++weaves_;
  changed_.notify_all();
}

void QueryAgent::UnweaveIfLost() {
  {
    const std::lock_guard lock(mutex_);
    const int64_t now = MonotonicNs();
    if (stopping_ || now < SilenceEndsNs()) return;
    wants_all_ = true;
    lost_queries_.clear();
    for (const auto& query : queries_) lost_queries_.push_back(query->program.query);
    lost_ns_ = now;
  }
  Weave({});
}

// A server that was only slow finds its queries taken out for a while: whoever reads their rows is told.
void QueryAgent::NoteGap(const std::vector<std::shared_ptr<const LiveQuery>>& back) {
  const int64_t gap_ms = (MonotonicNs() - lost_ns_) / kMillisecond;
  for (const auto& query : back) {
    const uint64_t id = query->program.query;
    if (std::find(lost_queries_.begin(), lost_queries_.end(), id) == lost_queries_.end()) continue;
    gaps_.emplace_back(id, process_->name + " (" + std::to_string(process_->pid) +
                               "): taken out for " + std::to_string(gap_ms) +
                               " ms without contact to the server; events in between are missing");
  }
  lost_queries_.clear();
}

bool QueryAgent::AwaitDrained(milliseconds deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline, [&] {
    return !started_ || stopping_ || drained_ == weaves_;
  }) && (!started_ || drained_ == weaves_);
}

void QueryAgent::Collect(int64_t until_ns,
                         const std::vector<std::shared_ptr<const LiveQuery>>& running) {
  const int64_t ticks = Ticks() - calibration_ticks_, ns = MonotonicNs() - calibration_ns_;
  const double ns_per_tick = ticks > 0 ? static_cast<double>(ns) / static_cast<double>(ticks) : 1.0;
  std::vector<QueryInterval> intervals = CollectIntervals(until_ns, running);
  // Marks are of requests, not of intervals: the query's latest one tells them, perhaps the next that comes.
  for (const auto& [query, count] : TakeOverflowMarks()) {
    const auto same = std::find_if(marks_.begin(), marks_.end(),
                                   [&, id = query](const auto& mark) { return mark.first == id; });
    if (same == marks_.end()) {
      marks_.emplace_back(query, count);
    } else {
      same->second += count;
    }
  }
  std::sort(intervals.begin(), intervals.end(),
            [](const QueryInterval& a, const QueryInterval& b) { return a.start_ns > b.start_ns; });
  for (const QueryInterval& interval : intervals) {
    uint64_t overflowed = 0;
    for (auto& [query, count] : marks_) {
      if (query == interval.query->program.query) overflowed = std::exchange(count, 0);
    }
    const auto report = [this](std::string json) {
      to_report_bytes_ += json.size();
      to_report_.push_back(std::move(json));
    };
    report(IntervalJson(interval, ++results_, overflowed, ns_per_tick));
    for (const std::string& events : interval.events.pieces())
      report(EventsJson(interval, ++results_, events));
  }
  // Of queries that are not ours, or that have ended, nobody will tell.
  marks_.erase(std::remove_if(marks_.begin(), marks_.end(),
                              [&](const auto& mark) {
                                return mark.second == 0 ||
                                       std::none_of(running.begin(), running.end(),
                                                    [&](const auto& query) {
                                                      return query->program.query == mark.first;
                                                    });
                              }),
               marks_.end());
  while (to_report_bytes_ > kMostWaiting) {
    to_report_bytes_ -= to_report_.front().size();
    to_report_.pop_front();
    dropped_reports_.fetch_add(1, std::memory_order_relaxed);
  }
}

std::string QueryAgent::ReportHead() const {
  std::string json = "{\"instance\":";
  AppendJsonText(options_.instance, json);
  json.append(",\"run\":\"").append(run_).append("\"");
  json.append(",\"service\":");
  AppendJsonText(options_.service, json);
  json.append(",\"host\":");
  AppendJsonText(process_->host, json);
  return json.append(",\"pid\":").append(std::to_string(process_->pid));
}

// As members of an array.
std::string QueryAgent::TakeNotes() {
  std::vector<std::pair<uint64_t, std::string>> gaps;
  {
    const std::lock_guard lock(mutex_);
    gaps.swap(gaps_);
  }
  std::string json;
  for (const auto& [query, text] : gaps) {
    json.append(json.empty() ? "" : ",").append("{\"query\":\"").append(QueryIdText(query));
    json.append("\",\"text\":");
    AppendJsonText(text, json);
    json.append("}");
  }
  return json;
}

bool QueryAgent::Post() {
  const uint64_t places = TracepointCount();
  {
    const std::lock_guard lock(mutex_);
    if (!speaks_) return true;
    if (std::exchange(retell_, false)) told_tracepoints_ = 0;
  }
  const bool tell = places != told_tracepoints_;
  if (notes_.empty()) notes_ = TakeNotes();
  if (!tell && to_report_.empty() && notes_.empty()) return true;
  if (MonotonicNs() < pause_until_ns_) return false;
  HttpRequest request;
  request.method = "POST";
  request.path = "/api/v1/control/report";
  request.headers = {{"User-Agent", "libwherefore"}, {"Content-Type", "application/json"}};
  if (!options_.token.empty())
    request.headers.emplace_back("Authorization", "Bearer " + options_.token);
  request.body = ReportHead();
  if (tell) request.body.append(",\"tracepoints\":").append(TracepointsJson(TracepointKinds()));
  if (!notes_.empty()) request.body.append(",\"notes\":[").append(notes_).append("]");
  request.body.append(",\"results\":[");
  size_t sent = 0;
  for (; sent < to_report_.size() && request.body.size() < kMaxHttpBody / 2; ++sent)
    request.body.append(sent != 0 ? "," : "").append(to_report_[sent]);
  request.body.append("]}");
  const HttpResponse response = connection_.Send(request, Deadline(kReportWithin, &give_up_at_ns_));
  const bool for_good = response.status / 100 == 4 && response.status != 429;
  if (response.status / 100 != 2) failed_reports_.fetch_add(1, std::memory_order_relaxed);
  if (response.status / 100 != 2 && !for_good) {
    pause_until_ns_ = MonotonicNs() + kAfterAFailure;
    return false;
  }
  // What the server refuses it will refuse again.
  if (for_good) {
    dropped_reports_.fetch_add(sent, std::memory_order_relaxed);
  } else {
    reports_.fetch_add(1, std::memory_order_relaxed);
  }
  if (tell) told_tracepoints_ = places;
  notes_.clear();
  for (; sent != 0; --sent) {
    to_report_bytes_ -= to_report_.front().size();
    to_report_.pop_front();
  }
  return to_report_.empty();
}

void QueryAgent::Run() {
  uint64_t weaves = 0;
  bool looks_for_tuples = false;
  while (true) {
    bool last, missed_tracepoints;
    std::vector<std::shared_ptr<const LiveQuery>> queries;
    {
      std::unique_lock lock(mutex_);
      const int64_t shortest = shortest_ns_.load(std::memory_order_relaxed);
      int64_t wait = kIdle;
      if (shortest != 0) wait = shortest - ClockNs(CLOCK_REALTIME) % shortest + kAfterTheEnd;
      const auto untold = [this] {
        return TracepointCount() != told_tracepoints_.load(std::memory_order_relaxed) || retell_;
      };
      if (!to_report_.empty() || untold()) wait = std::min(wait, kAfterAFailure);
      if (looks_for_tuples) wait = std::min(wait, kLookForTuples);
      changed_.wait_for(lock, std::chrono::nanoseconds(wait), [&] {
        return stopping_ || weaves != weaves_ || (untold() && MonotonicNs() >= pause_until_ns_);
      });
      last = stopping_;
      missed_tracepoints = !queries_.empty() && TracepointCount() != woven_tracepoints_;
    }
    if (missed_tracepoints && !last) WeaveAgain();
    {
      const std::lock_guard lock(mutex_);
      queries = queries_;
      weaves = weaves_;
    }
    kernel_tuples_.Want(last ? std::vector<std::shared_ptr<const LiveQuery>>() : queries);
    Collect(last ? INT64_MAX : ClockNs(CLOCK_REALTIME), queries);
    while (!Post() && pause_until_ns_ <= MonotonicNs()) {
    }
    {
      const std::lock_guard lock(mutex_);
      if (to_report_.empty()) drained_ = weaves;
      stopped_ = last;
      changed_.notify_all();
      if (last) return;
    }
    looks_for_tuples = kernel_tuples_.Connect();
  }
}

void QueryAgent::Stop(milliseconds deadline) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;  // nothing is installed any more
    changed_.notify_all();
    if (!started_ || stopped_) return;
  }
  Weave({});
  std::unique_lock lock(mutex_);
  give_up_at_ns_.store(SteadyNs(SteadyClock::now() + deadline), std::memory_order_relaxed);
  changed_.notify_all();
  EndBackgroundThread(lock, changed_, stopped_, thread_, deadline);
}

void QueryAgent::Forget() {
  if (thread_.joinable()) thread_.detach();
}

QueryAgent::Stats QueryAgent::stats() const {
  Stats stats;
  stats.refused_programs = refused_programs_.load(std::memory_order_relaxed);
  stats.reports = reports_.load(std::memory_order_relaxed);
  stats.failed_reports = failed_reports_.load(std::memory_order_relaxed);
  stats.dropped_reports = dropped_reports_.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  stats.queries = queries_.size();
  return stats;
}

}  // namespace wherefore::client
