// Sets of bytes as half-open ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace wf::lineage {

struct ByteRange {
  uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

class RangeSet {
 public:
  RangeSet() = default;
  explicit RangeSet(ByteRange range) { Add(range); }

  void Add(ByteRange range) {
    if (range.begin >= range.end) return;
    auto it = ranges_.upper_bound(range.begin);
    if (it != ranges_.begin() && std::prev(it)->second >= range.begin) --it;
    while (it != ranges_.end() && it->first <= range.end) {
      range.begin = std::min(range.begin, it->first);
      range.end = std::max(range.end, it->second);
      it = ranges_.erase(it);
    }
    ranges_[range.begin] = range.end;
  }

  void Remove(ByteRange range) {
    if (range.begin >= range.end) return;
    auto it = ranges_.upper_bound(range.begin);
    if (it != ranges_.begin()) --it;
    while (it != ranges_.end() && it->first < range.end) {
      const ByteRange old{it->first, it->second};
      if (old.end <= range.begin) {
        ++it;
        continue;
      }
      it = ranges_.erase(it);
      if (old.begin < range.begin) ranges_[old.begin] = range.begin;
      if (old.end > range.end) ranges_[range.end] = old.end;
    }
  }

  bool Overlaps(ByteRange range) const {
    auto it = ranges_.lower_bound(range.end);
    return range.begin < range.end && it != ranges_.begin() && std::prev(it)->second > range.begin;
  }

  bool empty() const { return ranges_.empty(); }
  std::vector<ByteRange> ranges() const {
    std::vector<ByteRange> out;
    for (const auto& [begin, end] : ranges_) out.push_back({begin, end});
    return out;
  }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin → end; ranges neither overlap nor touch
};

}  // namespace wf::lineage
