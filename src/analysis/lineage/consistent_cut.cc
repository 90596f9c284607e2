#include "analysis/lineage/consistent_cut.h"

#include <algorithm>

namespace wf::lineage {

using recorder::Recording;
using recorder::SubId;

bool IsConsistent(const Recording& recording, const recorder::Clocks& clocks, const Cut& cut) {
  return LargestConsistent(recording, clocks, cut) == cut;
}

// Clocks grow along a thread, so its last one in the cut dominates. Removing one can only cause further
// removals, and each is removed once.
Cut LargestConsistent(const Recording& recording, const recorder::Clocks& clocks, Cut cut) {
  cut.resize(recording.threads.size(), 0);
  for (size_t t = 0; t < cut.size(); ++t)
    cut[t] = std::clamp(cut[t], recording.threads[t].first_index, recording.threads[t].count());
  bool changed = true;
  while (changed) {
    changed = false;
    recorder::ClockTree::Known known;  // of this cut
    for (uint32_t t = 0; t < cut.size(); ++t) {
      const auto knows_too_much = [&](uint32_t count) {
        return !clocks.Within(recording.threads[t].Place(count - 1), cut, known);
      };
      uint32_t low = recording.threads[t].first_index, high = cut[t];
      if (high == low || !knows_too_much(high)) continue;
      while (low + 1 < high) {
        const uint32_t middle = low + (high - low) / 2;
        (knows_too_much(middle) ? high : low) = middle;
      }
      cut[t] = low;
      changed = true;
      known.clear();
    }
  }
  return cut;
}

Cut CutAt(const Recording& recording, int64_t time_ns) {
  Cut cut;
  for (const recorder::ThreadFacts& thread : recording.threads) {
    const auto first = recording.subs.begin() + thread.subs.begin;
    const auto last = recording.subs.begin() + thread.subs.end;
    cut.push_back(thread.first_index +
                  static_cast<uint32_t>(
                      std::partition_point(first, last,
                                           [&](const auto& sub) { return sub.end_ns <= time_ns; }) -
                      first));
  }
  return cut;
}

Cut SnapshotCut(const Recording& recording, const recorder::Clocks& clocks,
                const recorder::SnapshotFacts& snapshot) {
  Cut cut = CutAt(recording, snapshot.end_ns);
  // Records that were written to the file later may be about earlier times; they are not part of it.
  for (size_t t = 0; !snapshot.written.empty() && t < cut.size(); ++t)
    cut[t] = std::min(cut[t], t < snapshot.written.size() ? snapshot.written[t] : 0);
  cut = LargestConsistent(recording, clocks, std::move(cut));
  // Threads that were not known then have nothing in it.
  if (!snapshot.written.empty() && snapshot.written.size() < cut.size())
    cut.resize(snapshot.written.size());
  return cut;
}

Recording Restricted(const Recording& recording, const Cut& cut) {
  Recording out = recording;
  out.subs.clear();
  if (cut.size() < out.threads.size()) out.threads.resize(cut.size());
  std::vector<SubId> place(recording.subs.size(), recorder::kNone);
  for (size_t t = 0; t < out.threads.size(); ++t) {
    recorder::Slice& subs = out.threads[t].subs;
    const SubId first = subs.begin;
    const uint32_t before = out.threads[t].first_index;
    const auto count = std::min(std::max(cut[t], before) - before, subs.size());
    subs = {static_cast<uint32_t>(out.subs.size()), static_cast<uint32_t>(out.subs.size() + count)};
    for (uint32_t i = 0; i < count; ++i) {
      place[first + i] = static_cast<SubId>(out.subs.size());
      out.subs.push_back(recording.subs[first + i]);
    }
  }
  // Transfers of a sub-computation stay adjacent, so their indexes shift by what is left out before them.
  out.transfers.clear();
  for (const recorder::TransferFacts& transfer : recording.transfers) {
    if (place[transfer.sub] == recorder::kNone) continue;
    out.transfers.push_back(transfer);
    out.transfers.back().sub = place[transfer.sub];
  }
  uint32_t at = 0;
  for (SubId s = 0; s < out.subs.size(); ++s) {
    const uint32_t count = out.subs[s].transfers.size();
    out.subs[s].transfers = {at, at + count};
    at += count;
  }
  out.traces.clear();
  for (recorder::TraceMark mark : recording.traces) {
    if ((mark.sub = place[mark.sub]) != recorder::kNone) out.traces.push_back(mark);
  }
  if (out.crash && (out.crash->sub == recorder::kNone ||
                    (out.crash->sub = place[out.crash->sub]) == recorder::kNone))
    out.crash.reset();
  return out;
}

}  // namespace wf::lineage
