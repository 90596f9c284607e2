#include "analysis/provenance/trace_links.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "model/packed.h"

namespace wf::provenance {
namespace {

// The blocks of a trace that are work, by id; built on first use.
class BlocksById {
 public:
  explicit BlocksById(const std::vector<TraceFrames>& frames)
      : frames_(frames), known_(frames.size()) {}

  uint32_t Find(uint32_t trace, uint64_t id) {
    auto& blocks = known_[trace];
    if (blocks.empty()) {
      for (const uint32_t b : frames_[trace].order)
        blocks.emplace(frames_[trace].trace->blocks[b].id, b);
    }
    const auto at = blocks.find(id);
    return at == blocks.end() ? kNone : at->second;
  }

 private:
  const std::vector<TraceFrames>& frames_;
  std::vector<std::unordered_map<uint64_t, uint32_t>> known_;
};

}  // namespace

std::vector<SpanLink> FindLinks(const Trace& trace) {
  std::vector<SpanLink> found;
  for (uint32_t b = 0; b < trace.blocks.size(); ++b) {
    if (trace.blocks[b].row == kNone) continue;
    LinkReader links(trace.events->links(trace.blocks[b].row));
    for (PackedLink link; links.Next(link);) {
      if (link.trace_id != trace.id) found.push_back({b, link.trace_id, link.span_id.value});
    }
  }
  return found;
}

TraceLinks::TraceLinks(const std::vector<TraceFrames>& frames, const std::vector<uint32_t>& order)
    : notes_(frames.size()) {
  std::map<TraceId, uint32_t> by_id;
  for (uint32_t t = 0; t < frames.size(); ++t) by_id.emplace(frames[t].trace->id, t);
  BlocksById blocks(frames);
  for (const uint32_t t : order) {
    for (const SpanLink& link : FindLinks(*frames[t].trace)) {
      const Frame& effect = frames[t].frames[link.block];
      const auto named = by_id.find(link.trace);
      if (effect.kind == FrameKind::kNone || named == by_id.end()) continue;
      const uint32_t source = blocks.Find(named->second, link.span);
      if (source == kNone) continue;
      const Frame& cause = frames[named->second].frames[source];
      if (cause.start > effect.start) {  // added while the span ran
        ++dropped_;
        continue;
      }
      TimelineNotes &from = notes_[named->second], &to = notes_[t];
      links_.push_back({named->second, static_cast<uint32_t>(from.taps.size()), t,
                        static_cast<uint32_t>(to.places.size())});
      from.taps.push_back({source, std::min(effect.start, cause.end), {}});
      to.places.push_back({link.block, SpanSide::kStart, PlaceUse::kFrom});
    }
  }
}

void TraceLinks::Join(std::vector<Draft>& drafts) const {
  for (const Link& link : links_) {
    const uint32_t effect = notes_[link.to_trace].places[link.place].draft;
    if (effect == UINT32_MAX) continue;
    const auto& causes = notes_[link.from_trace].taps[link.tap].drafts;
    drafts[effect].causes.insert(drafts[effect].causes.end(), causes.begin(), causes.end());
  }
}

}  // namespace wf::provenance
