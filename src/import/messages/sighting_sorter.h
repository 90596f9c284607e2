// SightingSorter: sightings of one file, nearly in order of time → in order of time.
//
// A line that is late by at most the window is sorted in. A later one comes out as soon as possible, and is
// counted. Equal times come out in the order of their lines.
//
// Lines are kept in ascending runs (patience sorting): a line is appended to the first run whose last line is
// not after it. Ordered lines make one run, interleaved lines of k hosts about k, so that a line costs little
// where the order is good. A line that fits none of a few runs goes into a heap, so that it never costs more
// than O(log n). Within the window a line takes 40 bytes, plus values that only some lines have (threads,
// truth, texts).
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "model/sighting.h"

namespace wf::messages {

class SightingSorter {
 public:
  enum class Texts { kKeep, kDrop };

  // `least_shift` (≤ 0) is the min that is added to a time before Push: times are out of order by that much
  // more.
  SightingSorter(Nanos window, Nanos least_shift, Texts texts)
      : window_(window), least_shift_(least_shift), texts_(texts) {}

  // All of one input. `raw_time_ns` is the time as in the file, before it was shifted.
  void Push(const SightingLine& line, Nanos raw_time_ns);
  // No more calls of Push follow.
  void Finish() { finished_ = true; }

  bool empty() const { return size_ == 0; }
  // Whether the first line may be returned: no line that may still come is before it.
  bool Ready() const { return size_ != 0 && (finished_ || First().time_ns <= safe_); }
  Nanos FirstTime() const { return First().time_ns; }
  void Pop(SightingLine& line);

  uint64_t late() const { return late_; }
  size_t size() const { return size_; }

 private:
  struct Evidence {
    uint64_t thread, conn, path;
    int64_t bytes;
  };
  struct LineText {
    std::string id, keys;
  };
  // Values that only some lines have, by number; 0 is none.
  template <typename T>
  class Slab {
   public:
    uint32_t Take() {
      if (free_.empty()) {
        items_.emplace_back();
        return static_cast<uint32_t>(items_.size());
      }
      const uint32_t n = free_.back();
      free_.pop_back();
      return n;
    }
    T& At(uint32_t n) { return items_[n - 1]; }
    void Free(uint32_t n) { free_.push_back(n); }

   private:
    std::deque<T> items_;
    std::vector<uint32_t> free_;
  };
  struct Kept {
    Nanos time_ns;
    uint64_t line : 56, kind : 4, by : 4;
    uint64_t id;
    NodeId sender, receiver;
    uint32_t evidence, texts;  // 0: none
  };
  static bool Before(const Kept& a, const Kept& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.line < b.line;
  }
  bool HeapIsFirst() const {
    return !heap_.empty() && (runs_.empty() || Before(heap_.front(), runs_[first_].front()));
  }
  const Kept& First() const { return HeapIsFirst() ? heap_.front() : runs_[first_].front(); }
  Kept TakeFirst();
  void FindFirstRun();

  Nanos window_, least_shift_;
  Texts texts_;
  bool finished_ = false;
  std::vector<std::deque<Kept>> runs_;  // none empty
  size_t first_ = 0;                    // the run whose front is first
  std::vector<Kept> heap_;              // lines that fitted no run when there were enough runs
  size_t size_ = 0;
  uint32_t input_ = 0;
  bool any_ = false;
  Nanos latest_ = 0;  // raw
  Nanos safe_ = INT64_MIN;
  uint64_t late_ = 0;
  Slab<Evidence> evidence_;
  Slab<LineText> kept_texts_;
};

}  // namespace wf::messages
