// What is normal: the same question, asked of normal requests of the same root operation.
#include <algorithm>
#include <tuple>

#include "answer/explain/explain_answer.h"

namespace wf::answer {
namespace {

constexpr size_t kBaselineRequests = 200;
// Where the requests explained are of several kinds, each has its share, and no fewer than this.
constexpr size_t kLeastRequests = 20;
constexpr size_t kBaselineCandidates = 2'000;
constexpr size_t kBaselineAtOnce = 40;  // explained together: they share neighbours
constexpr Nanos kBaselineAround = kHour;

Nanos Median(std::vector<Nanos> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A place by what it is called rather than by its id, so that it can be found in another trace: the how-manieth span of
// that service and name. Nothing told: the main root.
struct NamedPlace {
  std::string service, name;
  size_t which = 0;
  provenance::SpanSide side = provenance::SpanSide::kStart;
  auto Key() const { return std::tie(service, name, which, side); }
};

// The work of a service and name, in the order of time.
std::vector<const Block*> Alike(const Trace& trace, std::string_view service,
                                std::string_view name) {
  std::vector<const Block*> alike;
  for (const Block& block : trace.blocks) {
    if (!block.stand_in() && trace.service(block) == service && trace.str(block.name) == name)
      alike.push_back(&block);
  }
  std::sort(alike.begin(), alike.end(), [](const Block* a, const Block* b) {
    return std::tie(a->start_ns, a->id) < std::tie(b->start_ns, b->id);
  });
  return alike;
}

NamedPlace NameOf(const Trace& trace, const ExplainPlace& place) {
  NamedPlace named;
  named.side = place.side;
  if (!place.span || place.span->value == trace.blocks[trace.main_root()].id) return named;
  for (const Block& block : trace.blocks) {
    if (block.id != place.span->value) continue;
    named.service = trace.service(block);
    named.name = trace.str(block.name);
    const auto alike = Alike(trace, named.service, named.name);
    const auto at = std::find_if(alike.begin(), alike.end(),
                                 [&](const Block* one) { return one->id == block.id; });
    named.which = static_cast<size_t>(at - alike.begin());
    return named;
  }
  return named;
}

// Where a trace has fewer of them, the last.
std::optional<ExplainPlace> PlaceNamed(const Trace& trace, const NamedPlace& named) {
  ExplainPlace place{{}, named.side};
  if (named.service.empty() && named.name.empty()) return place;
  const auto alike = Alike(trace, named.service, named.name);
  if (alike.empty()) return {};
  place.span = SpanId{alike[std::min(named.which, alike.size() - 1)]->id};
  return place;
}

// Requests that the same is normal for.
struct Kind {
  std::string service, operation;  // of the main root
  NamedPlace from, to;
  bool operator<(const Kind& o) const {
    return std::tuple(std::tie(service, operation), from.Key(), to.Key()) <
           std::tuple(std::tie(o.service, o.operation), o.from.Key(), o.to.Key());
  }
};
struct Members {
  int64_t count = 0;
  Nanos first = INT64_MAX, last = INT64_MIN;  // when they began
};

class BaselineFinder {
 public:
  BaselineFinder(const AnswerContext& context, const ExplainQuestion& asked,
                 const std::vector<ExplainTarget>& targets, OneWaySamples& one_way)
      : context_(context), question_(asked), targets_(targets), one_way_(one_way) {
    question_.view = provenance::ExplanationView::kMerged;
    question_.what_if.clear();
    question_.retain_from.reset();  // what is normal may be older
  }

  Result<ExplainBaseline> Find(const ExplainTraces& traces) {
    std::map<Kind, Members> kinds;
    for (const ExplainTarget& target : targets_) {
      const Trace& trace = *traces.Find(target.trace);
      const Block& root = trace.blocks[trace.main_root()];
      Members& members = kinds[{std::string(trace.service(root)), std::string(trace.str(root.name)),
                                NameOf(trace, target.from), NameOf(trace, target.to)}];
      ++members.count;
      members.first = std::min(members.first, root.raw_start_ns);
      members.last = std::max(members.last, root.raw_start_ns);
    }
    if (kinds.empty()) return std::move(out_);
    most_ = std::max(kLeastRequests, kBaselineRequests / kinds.size());
    for (const auto& [kind, members] : kinds) WF_TRY(AddKind(kind, members));
    out_.median_ns = Median(std::move(latencies_));
    return std::move(out_);
  }

 private:
  // Those of the root operation that took no longer than half of them did.
  Result<std::vector<TraceId>> NormalOnes(const Kind& kind, const Members& members) {
    store::TraceQuery query;
    query.service = kind.service;
    query.operation = kind.operation;
    query.time = {SaturatingSub(members.first, kBaselineAround),
                  SaturatingAdd(members.last, kBaselineAround)};
    query.limit = kBaselineCandidates;
    WF_ASSIGN(const store::SearchPage page, context_.store.Search(context_.tenant, query));
    std::vector<store::TraceSummary> alike;
    std::vector<Nanos> latencies;
    for (const store::TraceSummary& trace : page.traces) {
      if (trace.service != kind.service || trace.name != kind.operation) continue;
      alike.push_back(trace);
      latencies.push_back(trace.duration_ns);
    }
    latencies_.insert(latencies_.end(), latencies.begin(), latencies.end());
    const Nanos median = Median(std::move(latencies));
    std::vector<TraceId> normal;
    for (const store::TraceSummary& trace : alike) {
      const bool target =
          std::any_of(targets_.begin(), targets_.end(),
                      [&](const ExplainTarget& t) { return t.trace == trace.trace_id; });
      if (!target && trace.duration_ns <= median && normal.size() < most_)
        normal.push_back(trace.trace_id);
    }
    return normal;
  }

  Status AddKind(const Kind& kind, const Members& members) {
    WF_ASSIGN(const std::vector<TraceId> normal, NormalOnes(kind, members));
    std::map<ExplanationKey, std::vector<Nanos>> times;
    size_t explained = 0;
    for (size_t begin = 0; begin < normal.size(); begin += kBaselineAtOnce) {
      const size_t end = std::min(begin + kBaselineAtOnce, normal.size());
      WF_TRY(ExplainSome(kind,
                         {normal.begin() + static_cast<ptrdiff_t>(begin),
                          normal.begin() + static_cast<ptrdiff_t>(end)},
                         times, explained));
    }
    out_.requests += static_cast<int64_t>(explained);
    out_.skipped += static_cast<int64_t>(normal.size() - explained);
    for (auto& [key, seen] : times) {
      seen.resize(explained, 0);  // absent: 0
      out_.normal_of[key] += Median(seen) * members.count;
    }
    return {};
  }

  Status ExplainSome(const Kind& kind, const std::vector<TraceId>& ids,
                     std::map<ExplanationKey, std::vector<Nanos>>& times, size_t& explained) {
    ExplainTraces traces(context_, question_.clock, one_way_);
    WF_TRY(traces.Read(ids));
    std::vector<ExplainTarget> some;
    for (const TraceId& id : ids) {
      const Trace* trace = traces.Find(id);
      if (trace == nullptr) continue;
      const auto from = PlaceNamed(*trace, kind.from), to = PlaceNamed(*trace, kind.to);
      if (from && to) some.push_back({id, *from, *to});
    }
    WF_ASSIGN(const ExplainedRequests found,
              ExplainRequests(traces, question_, some, BadTargets::kSkip));
    explained += found.each.size();
    for (const provenance::Explanation& one : found.each) {
      const auto keys = KeysOf(found.execution, one);
      std::map<ExplanationKey, Nanos> sums;
      for (size_t v = 0; v < keys.size(); ++v) sums[keys[v]] += one.vertices[v].delay_ns;
      for (const auto& [key, delay] : sums) times[key].push_back(delay);
    }
    return {};
  }

  const AnswerContext& context_;
  ExplainQuestion question_;
  const std::vector<ExplainTarget>& targets_;
  OneWaySamples& one_way_;
  size_t most_ = kBaselineRequests;
  std::vector<Nanos> latencies_;
  ExplainBaseline out_;
};

}  // namespace

Result<ExplainBaseline> FindBaseline(const AnswerContext& context, const ExplainQuestion& asked,
                                     const ExplainTraces& traces,
                                     const std::vector<ExplainTarget>& targets,
                                     OneWaySamples& one_way) {
  return BaselineFinder(context, asked, targets, one_way).Find(traces);
}

}  // namespace wf::answer
