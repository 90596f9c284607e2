// One call per step.
#include "analysis/provenance/trace_execution.h"

#include <algorithm>
#include <numeric>

#include "analysis/provenance/trace_links.h"
#include "analysis/provenance/trace_pools.h"
#include "analysis/provenance/trace_resources.h"
#include "analysis/provenance/trace_timeline.h"
#include "analysis/provenance/watched_locks.h"

namespace wf::provenance {
namespace {

std::string_view RoleSuffix(DraftRole role) {
  switch (role) {
    case DraftRole::kSegment:
      return "";  // numbered instead
    case DraftRole::kInput:
      return "input";
    case DraftRole::kSend:
      return "send";
    case DraftRole::kReceive:
      return "receive";
    case DraftRole::kReply:
      return "reply";
    case DraftRole::kAnswer:
      return "answer";
  }
  return "";
}

class Writer {
 public:
  Writer(const std::vector<const Trace*>& traces, const std::vector<Draft>& drafts,
         const HeldResources& held)
      : traces_(traces), drafts_(drafts), held_(held) {
    for (const Trace* trace : traces) {
      trace_ids_.push_back(ToHex(trace->id));
      const uint32_t root = trace->main_root();
      origins_.emplace_back(root == kNone ? "" : trace->service(trace->blocks[root]));
    }
  }

  std::string Id(const Draft& draft) const {
    const Block& about = traces_[draft.trace]->blocks[draft.about];
    std::string id = trace_ids_[draft.trace] + ":" + ToHex64(about.id) + ":";
    if (draft.role == DraftRole::kSegment)
      id += std::to_string(draft.serial);
    else
      id += RoleSuffix(draft.role);
    return id;
  }

  ProvenanceEvent Event(const Draft& draft) const {
    const Trace& trace = *traces_[draft.trace];
    const Block& about = trace.blocks[draft.about];
    ProvenanceEvent event;
    event.id = Id(draft);
    event.type = draft.type;
    event.node = trace.service(trace.blocks[draft.block]);
    event.origin = origins_[draft.trace];
    event.start_ns = draft.start;
    event.end_ns = draft.end;
    event.ready_ns = draft.ready;
    event.tuple = Tuple(trace, about, draft);
    if (draft.role != DraftRole::kSegment && draft.role != DraftRole::kInput)
      event.peer = Peer(trace, draft);
    for (const uint32_t cause : draft.causes) event.causes.push_back(Id(drafts_[cause]));
    event.holds.emplace();
    for (const DraftHold& hold : draft.holds) {
      ProvenanceHold& said = event.holds->emplace_back();
      said.resource = held_.names[hold.resource];
      if (hold.since != draft.start) said.since_ns = hold.since;
    }
    return event;
  }

 private:
  // The operation, and the span in brackets; for merged vertices only the name is shown.
  static std::string Tuple(const Trace& trace, const Block& about, const Draft& draft) {
    std::string name(trace.str(about.name));
    std::replace(name.begin(), name.end(), '(', '[');
    std::replace(name.begin(), name.end(), ')', ']');
    if (name.empty()) name = "span";
    const bool message =
        draft.type == ProvenanceType::kSend || draft.type == ProvenanceType::kReceive;
    if (draft.role == DraftRole::kReply || draft.role == DraftRole::kAnswer) name += " reply";
    return (message ? "+" : "") + name + "(" + ToHex64(about.id) + ")";
  }

  static std::string Peer(const Trace& trace, const Draft& draft) {
    // A message is sent and received by the called block and its parent.
    const uint32_t other =
        draft.block != draft.about ? draft.about : trace.blocks[draft.about].parent;
    return other == kNone ? "" : std::string(trace.service(trace.blocks[other]));
  }

  const std::vector<const Trace*>& traces_;
  const std::vector<Draft>& drafts_;
  const HeldResources& held_;
  std::vector<std::string> trace_ids_, origins_;
};

// The requested places in this trace, and the index of each.
std::vector<TimelinePlace> PlacesIn(const TraceFrames& frames, const std::vector<SpanPlace>& asked,
                                    std::vector<uint32_t>& which) {
  std::vector<TimelinePlace> places;
  which.clear();
  for (uint32_t i = 0; i < asked.size(); ++i) {
    if (asked[i].trace != frames.trace->id) continue;
    for (const uint32_t b : frames.order) {
      if (frames.trace->blocks[b].id != asked[i].span) continue;
      places.push_back({b, asked[i].side, asked[i].use});
      which.push_back(i);
      break;
    }
  }
  return places;
}

}  // namespace

TraceExecution MakeTraceExecution(const std::vector<const Trace*>& traces,
                                  const TraceExecutionOptions& options) {
  TraceExecution out;
  std::vector<uint32_t> by_id(traces.size());
  std::iota(by_id.begin(), by_id.end(), 0);
  std::sort(by_id.begin(), by_id.end(),
            [&](uint32_t a, uint32_t b) { return traces[a]->id < traces[b]->id; });

  // Which block waited for which, and when each request arrived.
  std::vector<TraceFrames> frames(traces.size());
  OneWayTimes least = options.least_one_way;
  for (const uint32_t t : by_id) {
    frames[t] = MakeFrames(*traces[t]);
    out.assumed.spans_moved += frames[t].moved;
    CollectOneWayTimes(frames[t], least);
  }
  for (const uint32_t t : by_id) EstimateArrivals(frames[t], least, out.assumed);
  PlaceSendsOfPools(frames, least);
  JoinWatchedLocks(frames);

  // What happened, because of what.
  std::vector<Draft> drafts;
  std::vector<uint32_t> place_drafts(options.places.size(), UINT32_MAX), which;
  TraceLinks links(frames, by_id);
  for (const uint32_t t : by_id) {
    TimelineNotes& notes = links.NotesOf(t);
    const size_t of_links = notes.places.size();
    const auto places = PlacesIn(frames[t], options.places, which);
    notes.places.insert(notes.places.end(), places.begin(), places.end());
    AppendTimeline(frames[t], t, notes, drafts);
    for (size_t i = 0; i < places.size(); ++i)
      place_drafts[which[i]] = notes.places[of_links + i].draft;
  }
  links.Join(drafts);

  // What it held meanwhile.
  const HeldResources held = HoldResources(frames, options, drafts, out.assumed);
  const SettledOrder settled = SettleDrafts(drafts);
  out.assumed.causes_dropped = links.dropped() + settled.causes_dropped;
  out.assumed.holds_dropped = held.dropped + FitHolds(drafts, settled.order, held.servers);

  const Writer writer(traces, drafts, held);
  std::vector<uint32_t> position(drafts.size());
  out.events.reserve(drafts.size());
  for (const uint32_t d : settled.order) {
    position[d] = static_cast<uint32_t>(out.events.size());
    out.events.push_back(writer.Event(drafts[d]));
    out.sources.push_back({drafts[d].trace, drafts[d].block});
  }
  for (const uint32_t d : place_drafts)
    out.places.push_back(d == UINT32_MAX ? UINT32_MAX : position[d]);
  for (size_t r = 0; r < held.names.size(); ++r)
    out.servers.push_back({held.names[r], held.servers[r]});
  return out;
}

}  // namespace wf::provenance
