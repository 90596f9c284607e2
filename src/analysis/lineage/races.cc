#include "analysis/lineage/races.h"

#include <optional>

namespace wf::lineage {
namespace {

using recorder::Recording;
using recorder::SubId;

// Accesses of one thread to one span.
struct Group {
  uint32_t thread = 0;
  uint32_t begin = 0, end = 0;
};

class RaceFinder {
 public:
  RaceFinder(const Recording& recording, const recorder::Clocks& clocks, const PageIndex& pages)
      : r_(recording), clocks_(clocks), pages_(pages) {}

  // Those of the span's first page; its other pages have the same.
  std::vector<Race> Of(const Span& span) {
    std::vector<Race> out;
    if (span.writers.empty()) return out;
    groups_.clear();
    for (uint32_t i = span.accesses.begin; i < span.accesses.end; ++i) {
      const uint32_t thread = r_.subs[pages_.access(i).sub].thread;
      if (groups_.empty() || groups_.back().thread != thread) groups_.push_back({thread, i, i});
      groups_.back().end = i + 1;
    }
    if (groups_.size() < 2) return out;
    // Writers before each access, to count those of a range.
    written_.assign(1, 0);
    for (uint32_t i = span.accesses.begin; i < span.accesses.end; ++i)
      written_.push_back(written_.back() + pages_.access(i).written);
    base_ = span.accesses.begin;
    for (size_t a = 0; a < groups_.size(); ++a) {
      for (size_t b = a + 1; b < groups_.size(); ++b) {
        if (auto race = Between(groups_[a], groups_[b])) {
          race->page = span.first;
          out.push_back(*race);
        }
      }
    }
    return out;
  }

 private:
  // What of b's thread is concurrent with an access of a's is one range of it, and both its ends only move forward.
  std::optional<Race> Between(const Group& a, const Group& b) const {
    const recorder::ThreadFacts& thread_of_b = r_.threads[b.thread];
    Race race;
    uint32_t low = b.begin, high = b.begin;
    for (uint32_t i = a.begin; i < a.end; ++i) {
      const Access access = pages_.access(i);
      const SubId sub = access.sub;
      const uint32_t index = r_.subs[sub].index;
      const SubId known = thread_of_b.Place(clocks_.At(sub, b.thread));
      while (low < b.end && pages_.access(low).sub < known) ++low;
      while (high < b.end && clocks_.At(pages_.access(high).sub, a.thread) <= index) ++high;
      if (low >= high) continue;
      const uint64_t pairs =
          access.written != 0 ? high - low : written_[high - base_] - written_[low - base_];
      if (pairs == 0) continue;
      if (race.pairs == 0) {
        uint32_t partner = low;
        while (access.written == 0 && pages_.access(partner).written == 0) ++partner;
        race.a = sub;
        race.a_writes = access.written != 0;
        race.b = pages_.access(partner).sub;
        race.b_writes = pages_.access(partner).written != 0;
      }
      race.pairs += pairs;
    }
    if (race.pairs == 0) return std::nullopt;
    return race;
  }

  const Recording& r_;
  const recorder::Clocks& clocks_;
  const PageIndex& pages_;
  std::vector<Group> groups_;
  std::vector<uint32_t> written_;
  uint32_t base_ = 0;
};

}  // namespace

Races FindRaces(const Recording& recording, const recorder::Clocks& clocks, const PageIndex& pages,
                uint64_t most) {
  Races out;
  RaceFinder finder(recording, clocks, pages);
  for (const Span& span : pages.spans()) {
    const std::vector<Race> found = finder.Of(span);
    if (found.empty()) continue;
    for (uint64_t page = 0; page < span.count; ++page) {
      for (Race race : found) {
        if (out.races.size() >= most) {
          out.all = false;
          return out;
        }
        race.page = span.first + page;
        out.races.push_back(race);
      }
    }
  }
  return out;
}

}  // namespace wf::lineage
