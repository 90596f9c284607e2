#include "recorder/qemu/page_log.h"

#include <algorithm>

namespace wf::recorder {
namespace {

size_t SlotOf(uint64_t key, size_t slots) {
  return static_cast<size_t>((key * 0x9E3779B97F4A7C15U) >> 32) & (slots - 1);
}

}  // namespace

uint64_t PageLog::Insert(uint64_t entry) {
  const uint64_t key = entry & ~kWritten;
  size_t at = SlotOf(key, slots_.size());
  while (slots_[at] != 0 && (slots_[at] & ~kWritten) != key) at = (at + 1) & (slots_.size() - 1);
  if (slots_[at] == 0 && ++used_ * 2 > slots_.size()) {
    Grow();
    at = SlotOf(key, slots_.size());
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
  }
  return slots_[at] |= entry;
}

void PageLog::Grow() {
  std::vector<uint64_t> old(slots_.size() * 2);
  old.swap(slots_);
  for (const uint64_t entry : old) {
    if (entry == 0) continue;
    size_t at = SlotOf(entry & ~kWritten, slots_.size());
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = entry;
  }
}

void PageLog::Close() {
  runs_.clear();
  taken_ = 0;
  recent_.fill(0);
  if (used_ == 0) return;
  std::vector<uint64_t> pages;
  pages.reserve(used_);
  for (uint64_t& slot : slots_) {
    if (slot != 0) pages.push_back(slot);
    slot = 0;
  }
  used_ = 0;
  std::sort(pages.begin(), pages.end(),
            [](uint64_t a, uint64_t b) { return (a & ~kWritten) < (b & ~kWritten); });
  for (const uint64_t entry : pages) {
    const uint64_t page = (entry & ~kWritten) - 1;
    const uint64_t written = entry & kWritten;
    if (!runs_.empty()) {
      PageRun& run = runs_.back();
      const uint64_t count = run.count_and_written & ~kWritten;
      if (run.first_page + count == page && (run.count_and_written & kWritten) == written) {
        ++run.count_and_written;
        continue;
      }
    }
    runs_.push_back({page, written | 1});
  }
}

size_t PageLog::Take(PageRun* out, size_t capacity) {
  const size_t count = std::min(capacity, runs_.size() - taken_);
  std::copy_n(runs_.begin() + static_cast<std::ptrdiff_t>(taken_), count, out);
  taken_ += count;
  return count;
}

}  // namespace wf::recorder
