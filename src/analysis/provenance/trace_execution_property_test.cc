// Whatever traces contain, their events are an execution, and every request in them can be explained.
#include <rapidcheck.h>

#include <cstdlib>
#include <set>

#include "analysis/provenance/trace_cases_test.h"

namespace wf::provenance {
namespace {

const bool kCasesSet = (setenv("RC_PARAMS", "max_success=1000", 0), true);

// On a coarse grid, a little off it: ties and touching intervals are the rule.
Nanos AnyTime(int most) {
  return *rc::gen::inRange(0, most) * *rc::gen::element<Nanos>(1, 20, 1000) +
         *rc::gen::element<Nanos>(0, 0, 0, 1, 2);
}

// The spans and edges of one trace: parents anywhere before, times that fit or not.
std::vector<std::string> AnySpans(int& spans) {
  std::vector<std::string> lines;
  std::vector<Nanos> starts, ends;
  spans = *rc::gen::inRange(1, 13);
  const bool nested = *rc::gen::arbitrary<bool>();
  for (int s = 1; s <= spans; ++s) {
    Nanos start = AnyTime(60), end = start + AnyTime(40);
    const int parent = s == 1 || *rc::gen::inRange(0, 8) == 0 ? 0 : *rc::gen::inRange(1, s + 1);
    if (parent != 0 && parent < s && *rc::gen::arbitrary<bool>()) {
      const auto near = *rc::gen::inRange<size_t>(0, starts.size());
      start = *rc::gen::element(starts[near], ends[near], ends[near] - 1);
    }
    if (nested && parent != 0 && parent < s)
      start = std::max(start, starts[static_cast<size_t>(parent) - 1]);
    if (s == 1) end = start + 60'000;
    end = std::max(end, start);
    starts.push_back(start);
    ends.push_back(end);
    const char* how = parent == 0 ? "" : *rc::gen::inRange(0, 5) == 0 ? " follows=" : " parent=";
    // Its own id as parent stands for one that nobody sent.
    const std::string above = parent == 0 ? "" : parent == s ? "99" : std::to_string(parent);
    lines.push_back(fmt::format(
        "span {}{}{} {}..{} kind={}", s, how, above, start, end,
        *rc::gen::element<std::string>("internal", "client", "server", "producer", "consumer")));
  }
  for (int e = *rc::gen::inRange(0, 6); e > 0; --e) {
    const auto from = *rc::gen::inRange<size_t>(0, starts.size());
    const auto to = *rc::gen::inRange<size_t>(0, starts.size());
    const auto within = [&](size_t s) { return *rc::gen::inRange<Nanos>(starts[s], ends[s] + 1); };
    const auto type = *rc::gen::element<std::string>("join", "continuation", "response", "one_way",
                                                     "request", "return");
    lines.push_back(
        fmt::format("edge_begin e{} in={} @{} label:type={}", e, from + 1, within(from), type));
    lines.push_back(
        fmt::format("edge_end e{} in={} @{} label:type={}", e, to + 1, within(to), type));
  }
  return lines;
}

// Random traces that share a few processes, threads, locks, queues and named resources.
std::string AnyTraces() {
  std::string text;
  const int traces = *rc::gen::inRange(1, 5);
  const bool threads = *rc::gen::arbitrary<bool>();
  for (int t = 1; t <= traces; ++t) {
    text += fmt::format("== {}\n", t);
    int spans = 0;
    for (std::string line : AnySpans(spans)) {
      if (line.rfind("span", 0) == 0) {
        line += *rc::gen::element<std::string>("", " process=a", " process=b@h1", " process=b@h2");
        if (threads) line += fmt::format(" thread={}", *rc::gen::inRange(1, 4));
        if (*rc::gen::inRange(0, 3) == 0)
          line += fmt::format(" wherefore.arrival_ns={}", AnyTime(60));
        line += *rc::gen::element<std::string>("", "", "", " wherefore.resource=gpu",
                                               " messaging.destination.partition.id=0",
                                               " db.client.connection.pool.name=p");
        if (*rc::gen::inRange(0, 6) == 0)
          line += fmt::format(" link={}/{}", *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 8));
      }
      text += line + "\n";
    }
    for (int l = *rc::gen::inRange(0, 4); l > 0; --l) {
      const std::string in = std::to_string(*rc::gen::inRange(1, spans + 1));
      const std::string name = *rc::gen::element<std::string>("x", "y");
      const bool lock = *rc::gen::arbitrary<bool>();
      const char* steps[2][3] = {{"queue_put", "queue_take", "queue_done"},
                                 {"lock_request", "lock_acquire", "lock_release"}};
      Nanos at = AnyTime(60);
      for (const char* step : steps[lock]) {
        if (*rc::gen::inRange(0, 8) != 0)
          text += fmt::format("{} f{}{} in={} @{} label:{}={}\n", step, t, l, in, at,
                              lock ? "lock" : "queue", name);
        at += AnyTime(20);
      }
    }
  }
  return text;
}

// What carries delay in the explanation of a root, and how much.
std::string Figures(const Execution& x, const TraceExecution& made, size_t root) {
  ExplainOptions explain;
  explain.from = x.Find(made.events[made.places[4 * root]].id);
  explain.to = x.Find(made.events[made.places[4 * root + 1]].id);
  explain.view = ExplanationView::kPruned;
  const auto found = Explain(x, explain);
  if (!found.ok()) return found.error().message;
  std::string out = std::to_string(found->delay_ns);
  for (const ExplanationVertex& v : found->vertices) {
    if (v.delay_ns == 0) continue;
    out += fmt::format("\n{} {} {} {}..{}", x.str(x.id[v.members[0]]), v.delay_ns, v.self_ns,
                       v.start_ns, v.end_ns);
  }
  return out;
}

TEST(TraceExecutionProperty, EventsAreAnExecutionAndRequestsAreExplained) {
  RC_ASSERT(rc::check("events of any traces are accepted, and every root explained", [] {
    const std::string text = AnyTraces();
    RC_LOG() << text;
    testing::TraceCases cases(text);
    TraceExecutionOptions options;
    if (*rc::gen::arbitrary<bool>())
      options.workers = {
          {"b", 1, *rc::gen::element(ServerKind::kSynchronous, ServerKind::kAsynchronous)}};
    std::vector<std::pair<Nanos, Nanos>> bounds;
    for (const Trace* trace : cases.traces()) {
      const Block& root = trace->blocks[trace->main_root()];
      options.places.push_back({trace->id, root.id, SpanSide::kStart, PlaceUse::kFrom});
      options.places.push_back({trace->id, root.id, SpanSide::kEnd, PlaceUse::kTo});
      bounds.emplace_back(root.start_ns, std::max(root.start_ns, root.end_ns));
      const Block& other = trace->blocks[*rc::gen::inRange<size_t>(0, trace->blocks.size())];
      options.places.push_back({trace->id, other.id, SpanSide::kEnd, PlaceUse::kFrom});
      options.places.push_back({trace->id, other.id, SpanSide::kStart, PlaceUse::kTo});
    }
    const TraceExecution made = MakeTraceExecution(cases.traces(), options);
    RC_ASSERT(made.events.size() == made.sources.size());
    // Every block that does work is some event's.
    for (size_t t = 0; t < cases.traces().size(); ++t) {
      const Trace& trace = *cases.traces()[t];
      std::set<uint32_t> told;
      for (const EventSource& source : made.sources) {
        if (source.trace == t) told.insert(source.block);
      }
      for (uint32_t b = 0; b < trace.blocks.size(); ++b) {
        const BlockKind kind = trace.blocks[b].kind;
        bool work = kind != BlockKind::kWait && kind != BlockKind::kHold;
        for (uint32_t up = trace.blocks[b].parent; up != kNone; up = trace.blocks[up].parent) {
          const BlockKind above = trace.blocks[up].kind;
          work = work && above != BlockKind::kWait && above != BlockKind::kHold;
        }
        RC_ASSERT(!work || told.count(b) == 1);
      }
    }
    const auto built = testing::Build(made);
    if (!built.ok()) RC_LOG() << built.error().message;
    RC_ASSERT(built.ok());
    for (size_t t = 0; t < bounds.size(); ++t) {
      ExplainOptions explain;
      explain.from = built->Find(made.events[made.places[4 * t]].id);
      explain.to = built->Find(made.events[made.places[4 * t + 1]].id);
      const auto found = Explain(*built, explain);
      if (!found.ok()) RC_LOG() << found.error().message;
      RC_ASSERT(found.ok());
      RC_ASSERT(found->delay_ns == bounds[t].second - bounds[t].first);
      Nanos self = 0;
      for (const ExplanationVertex& v : found->vertices) self += v.self_ns;
      RC_ASSERT(self == found->delay_ns);  // each instant is somebody's
      // Whatever is gone before it, from its start on nothing changes.
      ExecutionBuilder builder;
      const Nanos retained = bounds[t].first - AnyTime(20);
      builder.RetainFrom(retained);
      for (const ResourceServers& servers : made.servers) RC_ASSERT(builder.Add(servers).ok());
      for (const ProvenanceEvent& event : made.events) RC_ASSERT(builder.Add(event).ok());
      auto cut = builder.Finish();
      RC_ASSERT(cut.ok());
      MarkLostPredecessors(*cut, retained);
      RC_ASSERT(Figures(*cut, made, t) == Figures(*built, made, t));
      const uint32_t end_from = made.places[4 * t + 2], start_to = made.places[4 * t + 3];
      if (end_from != UINT32_MAX) {
        RC_ASSERT(made.events[end_from].start_ns == made.events[end_from].end_ns);
        RC_ASSERT(made.events[start_to].start_ns == made.events[start_to].end_ns);
      }
    }
  }));
}

}  // namespace
}  // namespace wf::provenance
