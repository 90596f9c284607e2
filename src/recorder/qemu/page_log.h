// The pages that a thread touched in its running sub-computation. Used by that thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/format/records.h"

namespace wf::recorder {

enum class Access : uint8_t { kRead, kWrite };

class PageLog {
 public:
  PageLog() : slots_(64) {}

  // [address, address + size), size > 0.
  void Touch(uint64_t address, uint64_t size, Access access) {
    const uint64_t first = address >> 12;
    const uint64_t last = (address + size - 1) >> 12;
    for (uint64_t page = first; page <= last; ++page) TouchPage(page, access);
  }

  // Turns the touched pages, in ascending order, into runs, and clears them.
  void Close();
  // Moves up to `capacity` runs out; returns how many.
  size_t Take(PageRun* out, size_t capacity);

 private:
  // Page number, plus 1 so that 0 is free, and kWritten.
  static constexpr uint64_t Entry(uint64_t page) { return page + 1; }

  void TouchPage(uint64_t page, Access access) {
    uint64_t& recent = recent_[page % recent_.size()];
    const uint64_t entry = Entry(page) | (access == Access::kWrite ? kWritten : 0);
    if (recent == entry || recent == (entry | kWritten)) return;
    recent = Insert(entry);
  }
  uint64_t Insert(uint64_t entry);
  void Grow();

  std::array<uint64_t, 128> recent_{};  // most accesses are found here without a search
  std::vector<uint64_t> slots_;         // open addressing
  size_t used_ = 0;
  std::vector<PageRun> runs_;
  size_t taken_ = 0;
};

}  // namespace wf::recorder
