#include "analysis/lineage/lineage.h"

#include <algorithm>

#include "analysis/lineage/lineage_walk.h"

namespace wf::lineage {

using recorder::SubId;

std::vector<uint32_t> LineageFinder::FindFlows(const std::vector<ByteFlow>& flows,
                                               const std::string& name,
                                               const RangeSet& ranges) const {
  const recorder::Recording& r = flow_.recording();
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < flows.size(); ++i) {
    const bool overlaps = ranges.empty() || ranges.Overlaps(flows[i].range);
    if (overlaps && r.NameOf(r.transfers[flows[i].transfer]) == name) out.push_back(i);
  }
  return out;
}

std::vector<uint32_t> LineageFinder::FindOutputs(const std::string& name,
                                                 const RangeSet& ranges) const {
  return FindFlows(bytes_.outputs(), name, ranges);
}

std::vector<uint32_t> LineageFinder::FindInputs(const std::string& name,
                                                const RangeSet& ranges) const {
  return FindFlows(bytes_.inputs(), name, ranges);
}

Lineage LineageFinder::OfOutputs(const std::vector<uint32_t>& outputs, Steps steps) const {
  std::vector<LineageRoot> roots;
  for (const uint32_t o : outputs)
    roots.push_back({bytes_.outputs()[o].sub, bytes_.outputs()[o].order, false});
  EndsFound ends(flow_.recording());
  return WalkBack(flow_, bytes_, roots, ends, steps);
}

Lineage LineageFinder::OfPage(uint64_t page, SubId at, Steps steps) const {
  const recorder::Recording& r = flow_.recording();
  EndsFound ends(r);
  std::vector<LineageRoot> roots;
  const auto add = [&](SubId sub, bool unordered) {
    roots.push_back({sub, UINT32_MAX, unordered});
  };
  const uint32_t place = flow_.pages().SpanOf(page);
  if (place != recorder::kNone) {
    const Span& span = flow_.pages().spans()[place];
    std::vector<SubId> writers;
    if (at == recorder::kNone) {
      flow_.FinalWriters(span, writers);
    } else {
      bool own = false;
      for (uint32_t i = span.writers.begin; i < span.writers.end && !own; ++i)
        own = flow_.pages().writer(i) == at;
      if (own)
        writers = {at};
      else
        flow_.LastWriters(span, at, writers);
      std::vector<recorder::Slice> concurrent;
      flow_.ConcurrentWriters(span, at, concurrent);
      for (const recorder::Slice& slice : concurrent) {
        for (uint32_t i = slice.begin; i < slice.end; ++i) add(flow_.pages().writer(i), true);
      }
    }
    for (const SubId writer : writers) add(writer, false);
  }
  // Bytes that a mapped file gave to the page, whichever sub-computation read them.
  for (uint32_t t = 0; t < r.transfers.size(); ++t) {
    const recorder::TransferFacts& one = r.transfers[t];
    if (!one.mapped() || one.output() || one.address == 0 || one.begin >= one.end) continue;
    const uint64_t size = one.end - one.begin, begin = page * recorder::kPageBytes;
    const uint64_t from = std::max(begin, one.address);
    const uint64_t to = std::min(begin + recorder::kPageBytes, one.address + size);
    if (from >= to || (at != recorder::kNone && flow_.clocks().Before(at, one.sub))) continue;
    ends.Add(t, {{one.begin + (from - one.address), one.begin + (to - one.address)}}, false);
  }
  return WalkBack(flow_, bytes_, roots, ends, steps);
}

Lineage LineageFinder::OfSub(SubId sub, Steps steps) const {
  EndsFound ends(flow_.recording());
  return WalkBack(flow_, bytes_, {{sub, UINT32_MAX, false}}, ends, steps);
}

Lineage LineageFinder::FromInputs(const std::vector<uint32_t>& inputs, Steps steps) const {
  std::vector<LineageRoot> roots;
  for (const uint32_t i : inputs)
    roots.push_back({bytes_.inputs()[i].sub, bytes_.inputs()[i].order, false});
  return WalkForth(flow_, bytes_, roots, steps);
}

}  // namespace wf::lineage
