// `explain [TRACE_ID]`: where the time of a stored request went, or of the slowest of a kind, and who was in the way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/provenance/explanation.h"
#include "analysis/provenance/trace_execution.h"
#include "answer/answer.h"
#include "answer/explain_load.h"
#include "answer/explain_merge.h"

namespace wf {

// What is asked of each request.
struct ExplainQuestion {
  ExplanationView view = ExplanationView::kMerged;
  ClockMode clock = ClockMode::kAligned;
  std::vector<ExplainWhatIf> what_if;
  std::optional<Nanos> retain_from;
  TraceExecutionOptions config;  // resources and workers
};

// A place in a request; nothing told: the main root's start, or its end.
struct ExplainPlace {
  std::optional<SpanId> span;
  SpanSide side = SpanSide::kStart;
};

struct ExplainTarget {
  TraceId trace;
  ExplainPlace from{{}, SpanSide::kStart}, to{{}, SpanSide::kEnd};
};

// Explanations of requests, one each, over one execution.
struct ExplainedRequests {
  Execution execution;
  std::vector<Explanation> each;
  std::vector<std::pair<TraceId, uint64_t>> sources;  // of each event: its trace and span
  TraceAssumptions assumed;
  ExplainLoadCounts loaded;
};

// `traces` holds the targets already; their neighbours are read. kNotFound: no causal path.
Result<ExplainedRequests> ExplainRequests(ExplainTraces& traces, const ExplainQuestion& asked,
                                          const std::vector<ExplainTarget>& targets);

// What is normal: the median time of each key over up to 200 requests with this root operation that took no longer than
// half of them do.
struct ExplainBaseline {
  int64_t requests = 0;
  Nanos median_ns = 0;  // of all requests looked at
  std::map<ExplanationKey, Nanos> median_of;
  Nanos Of(const ExplanationKey& key) const {
    const auto at = median_of.find(key);
    return at == median_of.end() ? 0 : at->second;
  }
};
Result<ExplainBaseline> FindBaseline(const AnswerContext& context, const ExplainQuestion& asked,
                                     const std::string& service, const std::string& operation,
                                     const std::vector<ExplainTarget>& targets, Nanos about);

Result<Answer> AnswerExplain(const AnswerContext&, const Question&);

}  // namespace wf
