// The server's state of one live query. For live_queries*.cc only.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/ids.h"
#include "live/live_queries.h"

namespace wf::live {

// A client that starts a query has to listen to it within this time.
constexpr Nanos kFirstListen = 2 * kSecond;

struct LiveQueries::Running {
  enum class State { kRunning, kEnding, kEnded };

  std::string tenant, id;
  LiveQuerySpec spec;
  std::shared_ptr<const advice::Program> program;
  std::string encoded;  // base64
  std::vector<std::string> tracepoints;
  Nanos since = 0;
  uint64_t generation = 0;  // of the control connection: the one that contains this query
  LiveQueryCost cost, kept_cost;
  Nanos cost_kept_at = 0;
  QueryIntervals intervals;
  std::optional<advice::Results> total;
  // rewritten → (a request overflowed) wanted → emit, or refused
  LivePlan plan = LivePlan::kRewritten;
  enum class EmitPlan { kNotNeeded, kWanted, kDecided } emit_plan = EmitPlan::kNotNeeded;
  // Once there are any; the evaluator looks at them with nothing locked.
  std::shared_ptr<EmittedEvents> emitted;
  Nanos evaluate_at = 0;
  // Once, at the end: events that still wait are then lost.
  enum class LastEvaluation { kNotYet, kWanted, kDone } last_evaluation = LastEvaluation::kNotYet;
  std::vector<std::string> notes;  // from its agents, each once

  State state = State::kRunning;
  std::string end_reason;
  uint64_t end_generation = 0;
  Nanos end_by = 0;
  Nanos out_everywhere_at = 0;

  std::vector<std::shared_ptr<net::HttpBodyStream>> streams;
  Nanos unheard_since;  // since when there is no stream
  bool was_heard = false;
  Nanos told_at = 0;  // when anything was last written to the streams
  struct Told {
    Nanos start;
    std::string event;
  };
  std::deque<Told> history;
  size_t history_bytes = 0;

  Running(std::string of, LiveQuerySpec wanted, std::shared_ptr<const advice::Program> compiled,
          Nanos now)
      : tenant(std::move(of)),
        id(ToHex64(compiled->query)),
        spec(std::move(wanted)),
        program(std::move(compiled)),
        encoded(Base64Encode(advice::Encode(*program))),
        tracepoints(TracepointsOf(*program)),
        since(now),
        intervals(program, spec.interval, now),
        unheard_since(now) {
    if (spec.total) total.emplace(*program, QueryIntervals::kMostRows);
  }

  // A query is removed within 3 intervals of losing its last listener: half of that time here, the rest for
  // the processes.
  Nanos patience() const {
    return was_heard ? spec.interval * 3 / 2 : std::max(2 * spec.interval, kFirstListen);
  }
  bool unheard(Nanos now) const {
    return !spec.standing && streams.empty() && now - unheard_since >= patience();
  }
};

struct LiveQueries::Part {
  uint64_t query = 0;
  IntervalPart interval;
  LiveQueryCost cost;
  bool has_events = false;              // of the emit plan
  std::shared_ptr<EmittedEvents> into;  // where the events go, if the part was accepted
};

}  // namespace wf::live
