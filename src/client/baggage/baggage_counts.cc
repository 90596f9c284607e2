#include "client/baggage/baggage_counts.h"

#include <mutex>

namespace wherefore::client {
namespace {

struct OverflowMarks {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint64_t>> by_query;
};
OverflowMarks& Marks() {
  static auto* marks = new OverflowMarks;  // used by threads that outlive static destruction
  return *marks;
}
// More queries than a process runs at a time; beyond that marks are only counted in total.
constexpr size_t kMostMarked = 256;

}  // namespace

void NoteOverflow(uint64_t query) {
  OverflowMarks& marks = Marks();
  const std::lock_guard lock(marks.mutex);
  for (auto& [id, count] : marks.by_query) {
    if (id == query) {
      ++count;
      return;
    }
  }
  if (marks.by_query.size() < kMostMarked) marks.by_query.emplace_back(query, 1);
}

BaggageCounts& Counts() {
  static auto* counts = new BaggageCounts;
  return *counts;
}

std::vector<std::pair<uint64_t, uint64_t>> TakeOverflowMarks() {
  OverflowMarks& marks = Marks();
  const std::lock_guard lock(marks.mutex);
  return std::exchange(marks.by_query, {});
}

}  // namespace wherefore::client
