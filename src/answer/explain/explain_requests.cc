// Requests → explanations: who shared resources with them is read, everything becomes one execution, each is asked
// about.
#include <algorithm>
#include <set>

#include "answer/explain/explain_answer.h"

namespace wf::answer {
namespace {

Result<provenance::SpanPlace> PlaceIn(const Trace& trace, const ExplainPlace& place,
                                      provenance::PlaceUse use) {
  const uint32_t root = trace.main_root();
  if (root == kNone) return NotFound("trace " + ToHex(trace.id) + ": has no work to explain");
  provenance::SpanPlace found{trace.id, trace.blocks[root].id, place.side, use};
  if (!place.span) return found;
  for (const Block& block : trace.blocks) {
    if (block.id != place.span->value) continue;
    found.span = block.id;
    return found;
  }
  return NotFound("trace " + ToHex(trace.id) + ": no span " + ToHex(*place.span),
                  "wherefore trace " + ToHex(trace.id) + " --format json lists its spans");
}

Nanos TimeOf(const Trace& trace, const provenance::SpanPlace& place) {
  for (const Block& block : trace.blocks) {
    if (block.id == place.span)
      return place.side == provenance::SpanSide::kStart ? block.start_ns : block.end_ns;
  }
  return trace.start_ns;
}

class Requests {
 public:
  Requests(ExplainTraces& traces, const ExplainQuestion& asked, BadTargets bad)
      : traces_(traces), asked_(asked), bad_(bad), options_(asked.config) {}

  Result<ExplainedRequests> Explain(const std::vector<ExplainTarget>& targets) {
    for (const ExplainTarget& target : targets) WF_TRY(Place(target));
    if (targets_.empty()) return std::move(out_);
    WF_TRY(traces_.ReadNeighbours(windows_));
    options_.least_one_way = traces_.least_one_way();
    all_ = traces_.traces();
    WF_TRY(Build());
    NoteSources();
    for (size_t t = 0; t < targets_.size(); ++t) WF_TRY(ExplainOne(t));
    out_.assumed = std::move(made_.assumed);
    out_.loaded = traces_.counts();
    return std::move(out_);
  }

 private:
  Status Skip(TraceId trace, SkipReason reason, const Error& error) {
    // What the environment fails at is nobody's fault that could be left out.
    if (bad_ == BadTargets::kFail || error.code == ErrorCode::kEnvironment) return error;
    out_.skipped.push_back({trace, reason, error});
    return {};
  }

  Status Place(const ExplainTarget& target) {
    const Trace* trace = traces_.Find(target.trace);
    if (trace == nullptr) {
      return Skip(target.trace, SkipReason::kGone,
                  NotFound("trace " + ToHex(target.trace) + ": not in this store",
                           "wherefore traces lists what is there"));
    }
    const auto from = PlaceIn(*trace, target.from, provenance::PlaceUse::kFrom);
    if (!from.ok()) return Skip(target.trace, SkipReason::kNoSpan, from.error());
    const auto to = PlaceIn(*trace, target.to, provenance::PlaceUse::kTo);
    if (!to.ok()) return Skip(target.trace, SkipReason::kNoSpan, to.error());
    windows_.push_back({trace->id, TimeOf(*trace, *from), TimeOf(*trace, *to)});
    options_.places.push_back(*from);
    options_.places.push_back(*to);
    targets_.push_back(target);
    return {};
  }

  // Events → execution. A trace whose events are refused is left out, and all is made again without it.
  Status Build() {
    while (true) {
      made_ = MakeTraceExecution(all_, options_);
      out_.retained_from = RetainedFrom();
      provenance::ExecutionBuilder builder;
      builder.RetainFrom(out_.retained_from);
      for (const ResourceServers& servers : made_.servers) WF_TRY(builder.Add(servers));
      std::map<uint32_t, Error> refused;  // by trace: the first of its events
      for (size_t i = 0; i < made_.events.size(); ++i) {
        const Status added = builder.Add(made_.events[i]);
        if (!added.ok()) refused.emplace(made_.sources[i].trace, added.error());
      }
      if (!refused.empty()) {
        WF_TRY(LeaveOut(refused));
        continue;
      }
      WF_ASSIGN(out_.execution, builder.Finish());
      MarkLostPredecessors(out_.execution, out_.retained_from);
      out_.events_gone = static_cast<int64_t>(made_.events.size() - out_.execution.size());
      return {};
    }
  }

  Status LeaveOut(const std::map<uint32_t, Error>& refused) {
    for (const auto& [index, error] : refused) {
      const TraceId id = all_[index]->id;
      const bool target = std::any_of(targets_.begin(), targets_.end(),
                                      [&](const ExplainTarget& t) { return t.trace == id; });
      if (target && bad_ == BadTargets::kFail) return error;
      if (target)
        refused_.emplace(id, error);
      else
        ++out_.traces_refused;
    }
    std::vector<const Trace*> left;
    for (uint32_t i = 0; i < all_.size(); ++i) {
      if (refused.count(i) == 0) left.push_back(all_[i]);
    }
    all_ = std::move(left);
    return {};
  }

  Nanos RetainedFrom() const {
    if (asked_.retain_from) return *asked_.retain_from;
    Nanos first = INT64_MAX;
    for (size_t place = 0; place < made_.places.size(); place += 2) {
      if (made_.places[place] != UINT32_MAX)
        first = std::min(first, made_.events[made_.places[place]].start_ns);
    }
    return SaturatingSub(first, asked_.retention);
  }

  void NoteSources() {
    out_.sources.resize(out_.execution.size());
    for (size_t i = 0; i < made_.events.size(); ++i) {
      const uint32_t event = out_.execution.Find(made_.events[i].id);
      if (event == provenance::kNoEvent) continue;
      const Trace& trace = *all_[made_.sources[i].trace];
      out_.sources[event] = {trace.id, trace.blocks[made_.sources[i].block].id};
    }
  }

  // kNoEvent: told by a skip, and the request is done with.
  Result<uint32_t> EventAt(size_t place) {
    const uint32_t index = made_.places[place];
    const uint32_t event =
        index == UINT32_MAX ? provenance::kNoEvent : out_.execution.Find(made_.events[index].id);
    if (event != provenance::kNoEvent) return event;
    const provenance::SpanPlace& asked = options_.places[place];
    const std::string what = "trace " + ToHex(asked.trace) + ": span " + ToHex64(asked.span);
    if (index != UINT32_MAX) {
      WF_TRY(
          Skip(asked.trace, SkipReason::kExpired,
               NotFound(what + " is older than --retain-from-ns", "retain from an earlier time")));
    } else {
      WF_TRY(Skip(asked.trace, SkipReason::kNoSpan,
                  NotFound(what + " does no work to explain",
                           "choose a span that is neither a lock wait nor a lock hold")));
    }
    return provenance::kNoEvent;
  }

  Status ExplainOne(size_t t) {
    const TraceId id = targets_[t].trace;
    if (const auto refused = refused_.find(id); refused != refused_.end())
      return Skip(id, SkipReason::kRefused, refused->second);
    provenance::ExplainOptions explain;
    explain.view = asked_.view;
    explain.what_if = asked_.what_if;
    WF_ASSIGN(explain.from, EventAt(2 * t));
    if (explain.from == provenance::kNoEvent) return {};
    WF_ASSIGN(explain.to, EventAt(2 * t + 1));
    if (explain.to == provenance::kNoEvent) return {};
    auto explanation = wf::provenance::Explain(out_.execution, explain);
    if (!explanation.ok()) {
      const bool unrelated = explanation.error().code == ErrorCode::kNotFound;
      return Skip(id, unrelated ? SkipReason::kUnrelated : SkipReason::kRefused,
                  explanation.error());
    }
    out_.each.push_back(std::move(*explanation));
    out_.targets.push_back(targets_[t]);
    return {};
  }

  ExplainTraces& traces_;
  const ExplainQuestion& asked_;
  const BadTargets bad_;
  provenance::TraceExecutionOptions options_;
  std::vector<ExplainTarget> targets_;  // that have their places: two each, in options_
  std::vector<provenance::NeighbourWindow> windows_;
  std::vector<const Trace*> all_;
  provenance::TraceExecution made_;
  std::map<TraceId, Error> refused_;  // targets
  ExplainedRequests out_;
};

}  // namespace

std::string_view SkipReasonName(SkipReason reason) {
  static constexpr std::string_view kNames[] = {"gone", "no_span", "expired", "unrelated",
                                                "refused"};
  return kNames[static_cast<size_t>(reason)];
}

Result<ExplainedRequests> ExplainRequests(ExplainTraces& traces, const ExplainQuestion& asked,
                                          const std::vector<ExplainTarget>& targets,
                                          BadTargets bad) {
  return Requests(traces, asked, bad).Explain(targets);
}

}  // namespace wf::answer
