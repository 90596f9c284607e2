// What explaining a request needs of the store: its trace, and what analysis/provenance/neighbour_search.h asks for,
// the traces that shared a resource with it while it waited. Nothing else is read, and no more than a bounded number of
// traces; what was left out is counted.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/provenance/neighbour_search.h"
#include "analysis/provenance/trace_execution.h"
#include "answer/frame/answer.h"
#include "model/trace.h"

namespace wf::answer {

struct ExplainLimits {
  size_t traces = 5'000;   // about 40 MB
  size_t spans = 400'000;  // checked before each step: one trace may exceed it
  size_t rows_a_query = 20'000;
  int rounds = 8;  // from whom one waited for to whom that one waited for
  // Of what ran somewhere in a stretch of time; a millisecond or two each.
  int64_t queries = 2'000;
};

struct ExplainLoadCounts {
  int64_t traces = 0, spans = 0;
  int64_t queries = 0;           // of what ran on a resource in a stretch of time
  int64_t left_out = 0;          // traces that would have been read but for the limits
  int64_t stretches_cut = 0;     // of which more ran there than is looked at
  int64_t waits_ignored = 0;     // shorter than a thousandth of the request
  int64_t queries_left_out = 0;  // stretches that would have been asked for but for the limit
};

// The least one-way times between services, found once for a question: the requests it is about, and those that are
// normal beside them, are of the same services. Thread safety: none.
struct OneWaySamples {
  provenance::OneWayTimes least;
  std::set<std::string> sampled;  // services whose calls of other times were looked at
};

class ExplainTraces : private provenance::NeighbourSource {
 public:
  // The samples are borrowed, and outlive this.
  ExplainTraces(const AnswerContext& context, ClockMode clock, OneWaySamples& one_way,
                const ExplainLimits& limits = {})
      : context_(context), clock_(clock), limits_(limits), one_way_(one_way) {}
  ExplainTraces(const ExplainTraces&) = delete;  // traces borrow the batches

  // Reads these traces; one that is not there is left out.
  Status Read(const std::vector<TraceId>& ids);
  const Trace* Find(TraceId id) const override;  // null if it was not there
  // Reads whoever shared a resource while these waited.
  Status ReadNeighbours(const std::vector<provenance::NeighbourWindow>& windows);

  std::vector<const Trace*> traces() const override;
  const ExplainLoadCounts& counts() const { return counts_; }
  bool full() const { return counts_.spans >= static_cast<int64_t>(limits_.spans); }
  const provenance::OneWayTimes& least_one_way() const { return one_way_.least; }

 private:
  using Stretch = provenance::Stretch;
  // What a service did in a stretch of time: traces that began in it.
  struct ServiceTraces {
    Nanos from = 0, until = 0;
    Nanos known_from = 0;  // earlier ones are beyond the limit
    std::vector<store::TraceSummary> traces;
  };

  Status FindAt(const provenance::NeighbourPlace& place, const std::vector<Stretch>& stretches,
                Nanos offset, provenance::TraceStretches& found) override;
  // As many of them as there is room for; the others are counted.
  Status ReadTraces(const std::vector<TraceId>& ids) override;
  Status Ask(const provenance::NeighbourPlace& place, Stretch stretch, Nanos offset,
             provenance::TraceStretches& found);
  // Spans that tell neither of an instance nor of a host: whatever their service did about that time. Stretches near to
  // each other are searched for at once.
  Status SearchService(const std::string& service, const std::vector<Stretch>& stretches);
  void AskByService(const provenance::NeighbourPlace& place, Stretch stretch, Nanos offset,
                    provenance::TraceStretches& found);
  Status ReadOneWayTimes(const std::vector<provenance::NeighbourWindow>& windows);

  const AnswerContext& context_;
  const ClockMode clock_;
  const ExplainLimits limits_;
  std::deque<EventBatch> batches_;
  std::deque<Trace> traces_;
  std::map<TraceId, const Trace*> by_id_;
  OneWaySamples& one_way_;
  std::map<std::string, std::vector<ServiceTraces>> services_;
  ExplainLoadCounts counts_;
};

}  // namespace wf::answer
