// `explain [TRACE_ID]`: where the time of a stored request went, or of the slowest of a kind, and who was in the way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/provenance/explanation.h"
#include "analysis/provenance/trace_execution.h"
#include "answer/explain/explain_load.h"
#include "answer/explain/explain_merge.h"
#include "answer/frame/answer.h"

namespace wf::answer {

// Zeno §7.5: this much was enough for 11 of the paper's 12 incidents.
constexpr Nanos kDefaultRetention = 30 * kMinute;

// What is asked of each request.
struct ExplainQuestion {
  provenance::ExplanationView view = provenance::ExplanationView::kMerged;
  ClockMode clock = ClockMode::kAligned;
  std::vector<provenance::ExplainWhatIf> what_if;
  // Of what ended before, nothing is known: so long before the earliest of the places asked from, or this time.
  Nanos retention = kDefaultRetention;
  std::optional<Nanos> retain_from;
  provenance::TraceExecutionOptions config;  // resources and workers
};

// A place in a request; nothing told: the main root's start, or its end.
struct ExplainPlace {
  std::optional<SpanId> span;
  provenance::SpanSide side = provenance::SpanSide::kStart;
};

struct ExplainTarget {
  TraceId trace;
  ExplainPlace from{{}, provenance::SpanSide::kStart}, to{{}, provenance::SpanSide::kEnd};
};

enum class SkipReason : uint8_t {
  kGone,       // the trace is not in the store any more
  kNoSpan,     // it has no such span, or none that does work
  kExpired,    // what is asked about ended before the time retained from
  kUnrelated,  // no causal path from one place to the other
  kRefused,    // its events contradict each other
};
std::string_view SkipReasonName(SkipReason reason);

struct SkippedRequest {
  TraceId trace;
  SkipReason reason = SkipReason::kGone;
  Error error;
};

// Explanations of requests, one each, over one execution.
struct ExplainedRequests {
  provenance::Execution execution;
  std::vector<provenance::Explanation> each;
  std::vector<ExplainTarget> targets;  // of each
  std::vector<SkippedRequest> skipped;
  std::vector<std::pair<TraceId, uint64_t>> sources;  // of each event: its trace and span
  provenance::TraceAssumptions assumed;
  ExplainLoadCounts loaded;
  Nanos retained_from = 0;
  int64_t events_gone = 0;     // ended before it
  int64_t traces_refused = 0;  // of others; their events contradict each other
};

// What to do with a request that cannot be explained: it is the answer's failure, or is skipped and told.
enum class BadTargets : uint8_t { kFail, kSkip };

// `traces` holds the targets already; their neighbours are read.
Result<ExplainedRequests> ExplainRequests(ExplainTraces& traces, const ExplainQuestion& asked,
                                          const std::vector<ExplainTarget>& targets,
                                          BadTargets bad);

// What is normal for the requests explained, all together: for each of them, the median time of each key over up to
// 200 requests with the same root operation that took no longer than half of those do, between the same places.
struct ExplainBaseline {
  int64_t requests = 0;  // normal ones explained
  int64_t skipped = 0;   // normal ones without such a place, or that could not be explained
  Nanos median_ns = 0;   // latency of all requests looked at
  std::map<ExplanationKey, Nanos> normal_of;
  Nanos Of(const ExplanationKey& key) const {
    const auto at = normal_of.find(key);
    return at == normal_of.end() ? 0 : at->second;
  }
};
// `traces` holds the targets.
Result<ExplainBaseline> FindBaseline(const AnswerContext& context, const ExplainQuestion& asked,
                                     const ExplainTraces& traces,
                                     const std::vector<ExplainTarget>& targets,
                                     OneWaySamples& one_way);

Result<Answer> AnswerExplain(const AnswerContext&, const Question&);

}  // namespace wf::answer
