// Explain: where the time between two causally related events went, including the work that made them wait
// (Zeno §4, §5). Pure function of the execution; any thread; the same answer every time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/provenance/execution.h"
#include "base/result.h"

namespace wf::provenance {

enum class ExplanationView : uint8_t {
  kRaw,     // everything that could have contributed, zero delays included
  kPruned,  // causal ancestors of `to` and of events with delay
  kMerged,  // the same, with similar off-path work as one vertex
};

// `[NODE/]NAME=Fx`: what if matching events took F times as long.
struct ExplainWhatIf {
  std::string node;  // empty: any
  std::string name;  // without + or -; "*": any
  double factor = 1;
};

Result<ExplainWhatIf> ParseExplainWhatIf(std::string_view text);

struct ExplainOptions {
  uint32_t from = kNoEvent, to = kNoEvent;  // events of the execution
  ExplanationView view = ExplanationView::kMerged;
  std::vector<ExplainWhatIf> what_if;
};

using Interval = std::pair<Nanos, Nanos>;

struct ExplanationVertex {
  std::vector<uint32_t> members;  // events, in order; the first names the vertex
  Nanos start_ns = 0, end_ns = 0;
  Nanos delay_ns = 0, self_ns = 0;
  bool functional = false;  // a causal ancestor of `to`, or itself
  // Lost a cause to retention, or, where checked, may have lost its predecessor.
  bool expired = false;
  std::vector<Interval> intervals, self_intervals;  // of a single event; touching ones joined
  // When many requests are explained together: its first event also begins a vertex of its own request's
  // path.
  bool twin = false;
};

// The order of vertices: start, then end, then the line of the first member. For single events it is the
// order of events.
bool ComesBefore(const ExplanationVertex& a, const ExplanationVertex& b);

enum class ExplanationEdgeKind : uint8_t { kCausal, kSequencing };

struct ExplanationEdge {
  uint32_t from = 0, to = 0;  // vertices: cause or predecessor, effect or waiter
  ExplanationEdgeKind kind = ExplanationEdgeKind::kCausal;
  Nanos delay_ns = 0;  // time whose walk uses this edge; unset in the raw view
};

struct ExplanationSizes {
  int64_t raw = 0, nonzero = 0, pruned = 0, aggregated = 0;
};

struct ExplainWhatIfAnswer {
  int64_t matched = 0;
  Nanos delay_ns = 0;
};

struct Explanation {
  uint32_t from = kNoEvent, root = kNoEvent;  // events
  Nanos delay_ns = 0;
  std::vector<ExplanationVertex> vertices;
  std::vector<ExplanationEdge> edges;
  ExplanationSizes sizes;
  std::optional<ExplainWhatIfAnswer> what_if;
};

// kNotFound when no causal path leads from `from` to `to`.
Result<Explanation> Explain(const Execution& execution, const ExplainOptions& options);

enum class ExtractScope : uint8_t {
  kRawGraph,
  // Also everything that held a resource with several servers, and its causes: then each holder takes the
  // same server as before, and the answer does not depend on the number of servers.
  kServersAlike,
};

// JSON lines of the events of the raw graph below `to`, in order: all that explaining `to` needs.
std::string ExtractEvents(const Execution& execution, uint32_t to,
                          ExtractScope scope = ExtractScope::kRawGraph);

}  // namespace wf::provenance
