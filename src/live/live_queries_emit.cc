// Live queries on the emit plan: when a query switches to it, and how emitted events become parts of
// intervals.
//
// A thread of its own joins the events. It holds the lock only to store its results, so reports are received
// and intervals are shown meanwhile. It evaluates half a grace before an interval is shown, when every
// process has reported it (they do so when it ends). What it finds later gives one more object of the
// interval, as a late report does.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "live/live_queries.h"
#include "live/running_query.h"
#include "live/tracepoint_registry.h"
#include "log/log.h"

namespace wf::live {
namespace {

// Time for one query before the next has its turn.
constexpr Nanos kEvaluateFor = 250 * kMilli;
// A client waits for the end of a query, so after this time the remaining events are counted as lost.
constexpr Nanos kEvaluateLast = 5 * kSecond;
constexpr Nanos kEvaluateAtStop = kSecond;  // all queries together

bool EmitsAt(const advice::Program& program, const std::string& tracepoint) {
  return std::any_of(program.advice.begin(), program.advice.end(), [&](const auto& advice) {
    const auto& names = advice.tracepoints;
    return std::holds_alternative<advice::Emit>(advice.steps.back()) &&
           std::find(names.begin(), names.end(), tracepoint) != names.end();
  });
}

}  // namespace

// Requests of this query carry too much: those that begin from now on emit instead, if the query's From
// events are compiled in. Requests that have begun continue as before. Woven tracepoints that pack hand their
// tuples to linked processes, which emit them. Rows of woven From events come from the weaver, which has no
// baggage.
void LiveQueries::LeaveBaggage(const Shared& query) {
  std::string woven;
  if (const auto defined = ReadTracepoints(context_.store, query->tenant); defined.ok()) {
    for (const auto& one : *defined)
      if (EmitsAt(*query->program, one.name)) woven = one.name;
  }
  const std::string limits = fmt::format("requests packed more than {} tuples or {} bytes",
                                         query->spec.max_tuples, query->spec.max_bytes);
  const bool counts = query->spec.count;  // only counts travel
  {
    const std::lock_guard lock(mutex_);
    if (query->state != Running::State::kRunning || counts) return;
    if (!woven.empty()) {
      TakeNote(query->tenant, query->program->query,
               fmt::format("{} and are counted as overflowed; the emit plan needs From tracepoints "
                           "that are compiled in, which {} is not",
                           limits, woven));
      return;
    }
    query->plan = LivePlan::kEmit;
    TakeNote(query->tenant, query->program->query,
             limits +
                 " and are counted as overflowed; those that begin from now on run on the "
                 "emit plan");
  }
  const uint64_t generation = context_.changed(query->tenant);
  context_.counters.Add("live_queries_on_emit_plan", 1);
  {
    const std::lock_guard lock(mutex_);
    query->generation = std::max(query->generation, generation);
  }
  if (!query->spec.standing) return;
  if (const Status kept = Keep(*query); !kept.ok())
    log::Error("query {}: {}", query->id, kept.error().message);
}

// Called when events of the query arrived.
void LiveQueries::EvaluateSoon(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  Running& query = *found->second;
  if (query.evaluate_at == 0)
    query.evaluate_at = std::max(Now(), query.intervals.due() - query.intervals.grace() / 2);
  evaluate_.notify_all();
}

// Emitted events that are complete become parts of their intervals, as if a process had reported them.
void LiveQueries::TakeEvaluated(Running& query, const EmittedEvents::Evaluation& evaluated) {
  for (const auto& [start, part] : evaluated.parts) {
    const auto taken = query.intervals.Add({start, part.partial, part.lost});
    query.cost.lost += part.lost;
    if (taken == QueryIntervals::Taken::kTooMany) {
      context_.counters.Add("live_query_reports_far_off", 1);
    } else if (query.total) {
      (void)query.total->Merge(part.partial);
    }
  }
  const auto count = [&](const char* name, uint64_t lost) {
    if (lost != 0) context_.counters.Add(name, static_cast<int64_t>(lost));
  };
  count("live_query_events_lost_past", evaluated.lost.past);
  count("live_query_events_lost_room", evaluated.lost.room);
  count("live_query_events_lost_work", evaluated.lost.work);
  wake_.notify_all();
}

// Called when all reports are in: whether the last evaluation is done.
bool LiveQueries::LastEvaluated(Running& query) {
  using Last = Running::LastEvaluation;
  if (query.emitted == nullptr || query.last_evaluation == Last::kDone) return true;
  if (query.last_evaluation == Last::kNotYet) {
    query.last_evaluation = Last::kWanted;
    query.evaluate_at = Now();
    evaluate_.notify_all();
  }
  return false;
}

Nanos LiveQueries::NextEvaluation() const {
  Nanos next = Now() + kMinute;
  for (const auto& [id, query] : running_)
    if (query->evaluate_at != 0) next = std::min(next, query->evaluate_at);
  return next;
}

void LiveQueries::EvaluateLoop() {
  using Last = Running::LastEvaluation;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (const Nanos next = NextEvaluation(), now = Now(); next > now) {
      evaluate_.wait_for(lock, std::chrono::nanoseconds(next - now));
      if (stopping_) return;
    }
    // The query that has waited longest.
    Shared due;
    for (const auto& [id, query] : running_) {
      if (query->evaluate_at != 0 && (due == nullptr || query->evaluate_at < due->evaluate_at))
        due = query;
    }
    if (due == nullptr || due->evaluate_at > Now()) continue;
    due->evaluate_at = 0;
    const auto events = due->emitted;
    const bool last = due->last_evaluation == Last::kWanted;
    if (events == nullptr) continue;
    lock.unlock();
    const auto evaluated =
        events->Evaluate(Now(), last ? EmittedEvents::Rest::kIsLost : EmittedEvents::Rest::kMayCome,
                         last ? kEvaluateLast : kEvaluateFor);
    lock.lock();
    TakeEvaluated(*due, evaluated);
    if (last) {
      due->last_evaluation = Last::kDone;
      wake_.notify_all();
    } else if (due->last_evaluation == Last::kWanted || evaluated.more) {
      due->evaluate_at = Now();
    } else if (events->waiting() && due->evaluate_at == 0) {
      due->evaluate_at = std::max(Now() + due->intervals.interval() / 2,
                                  due->intervals.due() - due->intervals.grace() / 2);
    }
  }
}

// Called after the evaluator thread has ended.
void LiveQueries::EvaluateAtStop() {
  std::vector<Shared> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, query] : running_)
      if (query->emitted != nullptr) all.push_back(query);
  }
  const Nanos until = MonotonicNow() + kEvaluateAtStop;
  for (const Shared& query : all) {
    const auto evaluated = query->emitted->Evaluate(Now(), EmittedEvents::Rest::kIsLost,
                                                    std::max<Nanos>(0, until - MonotonicNow()));
    const std::lock_guard lock(mutex_);
    TakeEvaluated(*query, evaluated);
  }
}

}  // namespace wf::live
